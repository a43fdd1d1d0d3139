"""Questions about values: jnp.isreal and similar functions."""

import tinyjax.numpy as jnp


def test_a_python_number_is_real():
    assert jnp.isreal(3) and not jnp.iscomplex(2.5)
    assert jnp.isreal(1j).dtype == bool and jnp.iscomplex(1j)
