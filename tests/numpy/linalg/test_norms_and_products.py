"""jnp.linalg's norms."""

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp

V = np.array([0.5, -1.5, 2.0, 3.25], np.float32)


@pytest.mark.parametrize("ord", [None, 0, 1, 2, 3, np.inf, -np.inf])
def test_vector_norm_equals_numpy(ord):
    np.testing.assert_allclose(jnp.linalg.norm(V, ord), np.linalg.norm(V, ord), rtol=1e-5)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_determinants_of_a_stack_are_differentiated(size):
    stack = np.random.default_rng(0).normal(size=(2, 3, size, size))
    got = jax.grad(lambda a: jnp.sum(jnp.linalg.det(a) ** 2))(np.float32(stack))
    determinants = np.linalg.det(stack)[..., None, None]
    wanted = 2 * determinants**2 * np.linalg.inv(stack).swapaxes(-1, -2)
    np.testing.assert_allclose(got, wanted, rtol=1e-3, atol=1e-4)
