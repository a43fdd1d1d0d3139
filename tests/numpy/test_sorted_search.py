"""jnp.searchsorted."""

import tinyjax.numpy as jnp


def test_searchsorted_in_one_value():
    """Its windows are the whole operand: there is nothing to index."""
    assert jnp.searchsorted(jnp.array([3.0]), jnp.array([3.0])).tolist() == [0]
    assert jnp.searchsorted(jnp.array([3.0]), jnp.array([2.0, 4.0])).tolist() == [0, 1]
