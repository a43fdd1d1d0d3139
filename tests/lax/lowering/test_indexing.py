"""Elements of padded and updated arrays as kernels, where it is known whether they are in the operand."""

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax

X = jnp.arange(1.0, 6.0)[:, None]


@pytest.mark.parametrize("column", [0, 1, 2])
@pytest.mark.parametrize("padding", [(1, 0, 0), (0, 2, 1), (2, 0, 1)])
def test_a_slice_of_a_padded_array(padding, column):
    slice_of = lambda x: lax.pad(x, 7.0, ((0, 0, 0), padding))[:, column : column + 1] + x  # noqa: E731
    np.testing.assert_array_equal(jax.jit(slice_of)(X), slice_of(X))


@pytest.mark.parametrize("column", [0, 1, 2])
def test_a_slice_of_an_updated_array(column):
    def slice_of(x):
        wide = jnp.concatenate([x, x + 10, x + 20], 1)
        return lax.dynamic_update_slice(wide, -x, (0, 1))[:, column : column + 1]

    np.testing.assert_array_equal(jax.jit(slice_of)(X), slice_of(X))
