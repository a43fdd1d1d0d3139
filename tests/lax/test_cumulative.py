"""Cumulative reductions."""

import numpy as np

from tinyjax import lax
from tinyjax.transform.vjp import grad

nan, inf = np.nan, np.inf


def f32(values):
    return np.array(values, np.float32)


def test_cumlogsumexp_of_minus_infinity_has_a_finite_gradient():
    gradient = grad(lambda x: lax.cumlogsumexp(x)[1])(f32([-inf, 1]))
    np.testing.assert_array_equal(gradient, [0, 1])
