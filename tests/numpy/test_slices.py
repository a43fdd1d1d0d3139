"""Slices of a known size, whose start may be traced."""

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp


def test_dslice_is_a_slice_by_start_and_size():
    x = jnp.arange(12.0).reshape(3, 4)
    assert np.array_equal(x[jax.ds(1, 2), jax.ds(jnp.int32(0), 2)], x[1:3, :2])
    assert np.array_equal(x[jax.ds(2), jax.ds(None)], x[:2])
    assert np.array_equal(x[:, jax.ds(0, 2, 3)], x[:, ::3])
    with pytest.raises(ValueError, match="stride"):
        jax.ds(0, 2, -1)
