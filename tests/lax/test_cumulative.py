"""Cumulative reductions."""

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.transform.vjp import grad

nan, inf = np.nan, np.inf


def f32(values):
    return np.array(values, np.float32)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("shape", [(5, 3), (1, 3), (0, 3)])
def test_cumlogsumexp_has_the_derivatives_of_its_sums(shape, reverse):
    x = np.random.RandomState(0).randn(*shape)

    def sums(x):
        of_all = np.tril(np.ones((len(x), len(x)), bool))
        of_all = (of_all.T if reverse else of_all)[..., None]
        return jnp.log(jnp.sum(jnp.where(of_all, jnp.exp(x), 0), 1))

    with jax.enable_x64(True):
        for derivative in (jax.jacfwd, jax.jacrev, jax.hessian):
            found = derivative(lambda x: lax.cumlogsumexp(x, 0, reverse))(x)
            np.testing.assert_allclose(found, derivative(sums)(x), atol=1e-12)


def test_cumlogsumexp_of_minus_infinity_has_a_finite_gradient():
    gradient = grad(lambda x: lax.cumlogsumexp(x)[1])(f32([-inf, 1]))
    np.testing.assert_array_equal(gradient, [0, 1])
