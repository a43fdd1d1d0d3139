"""Transformations nest in any order: every chain of up to three, against NumPy."""

import itertools

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp

x = np.array([0.3, -1.2, 2.0], np.float32)


def tangent(fun):
    """The derivative of an elementwise function by jvp."""
    return lambda x: jax.jvp(fun, (x,), (jnp.ones_like(x),))[1]


def gradient(fun):
    """The derivative of an elementwise function by grad of the sum."""
    return jax.grad(lambda x: jnp.sum(fun(x)))


def mapped(fun):
    """vmap over the elements, where there are any."""
    return lambda x: jax.vmap(fun)(x) if jnp.ndim(x) else fun(x)


TRANSFORMS = {"jvp": tangent, "vmap": mapped, "grad": gradient, "jit": jax.jit}
CHAINS = [c for depth in (1, 2, 3) for c in itertools.product(TRANSFORMS, repeat=depth)]

# f(x) = sin(x) * x and its first three derivatives
DERIVATIVES = [
    lambda x: np.sin(x) * x,
    lambda x: np.cos(x) * x + np.sin(x),
    lambda x: 2 * np.cos(x) - x * np.sin(x),
    lambda x: -3 * np.sin(x) - x * np.cos(x),
]


@pytest.mark.parametrize("chain", CHAINS, ids="-".join)
def test_transformations_nest_in_any_order(chain):
    fun = lambda x: jnp.sin(x) * x  # noqa: E731
    for name in reversed(chain):
        fun = TRANSFORMS[name](fun)
    order = sum(name in ("jvp", "grad") for name in chain)
    np.testing.assert_allclose(fun(x), DERIVATIVES[order](x), rtol=2e-5, atol=1e-5)
