"""Powers at the edges."""

import functools

import numpy as np

from tinyjax import lax
from tinyjax.transform.vjp import grad

f32 = functools.partial(np.array, dtype=np.float32)


def test_pow_of_zero_to_an_integer_zero_has_derivative_zero():
    assert float(grad(lambda x: lax.pow(x, np.int32(0)))(f32(0))) == 0


def test_powers_at_the_edges():
    x, y = f32([0, 0, -2, -2, 1, np.nan]), f32([0, -1, 3, 0.5, np.nan, 0])
    np.testing.assert_array_equal(lax.pow(x, y), f32([1, np.inf, -8, np.nan, 1, 1]))
    np.testing.assert_array_equal(
        lax.integer_pow(f32([2, 0, -0.0]), -3), f32([0.125, np.inf, -np.inf])
    )
