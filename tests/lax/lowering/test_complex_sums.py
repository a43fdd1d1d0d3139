"""Sums and products of complex arrays in kernels."""

import numpy as np
import pytest

import tinyjax as jax
from tinyjax import numpy as jnp


def numbers(*shape):
    parts = np.random.default_rng(0).normal(size=(2, *shape)).astype(np.float32)
    return parts[0] + 1j * parts[1]


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.sum(0),
        lambda x: jnp.cumsum(x, 1),
        lambda x: x @ x.conj().T,
        lambda x: jnp.einsum("ij,ij->j", x, x),
        lambda x: jnp.tensordot(x[:2, :2], x[:8].reshape(2, 2, 2, 20), ((1, 0), (1, 2))),
        lambda x: x.at[3].set(x[0] * 1j),
        lambda x: x.at[jnp.array([1, 2, 1])].add(x[:3]),
        lambda x: jax.lax.dynamic_update_slice(x, x[:2, :2], (x.real.astype(int)[0, 0], 3)),
    ],
)
def test_sums_of_complex_numbers_are_kernels(f):
    x = numbers(9, 20)
    compiled = jax.jit(f)
    assert ": host" not in compiled.lower(x).as_text("schedule")
    assert compiled(x).dtype == np.complex64
    np.testing.assert_allclose(compiled(x), f(jnp.asarray(x)), rtol=1e-4, atol=1e-5)


def test_a_loop_of_complex_products_has_no_host_step():
    f = jax.jit(lambda x: jax.lax.fori_loop(0, 3, lambda _, y: y @ x, x))
    x = numbers(5, 5) / 5
    assert ": host" not in f.lower(x).as_text("schedule")
    np.testing.assert_allclose(f(x), x @ x @ x @ x, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("axes", [0, 1, (0, 2), (2, 1), ()])
def test_products_of_few_complex_numbers_are_kernels(axes):
    x = numbers(5, 2, 3)
    x[0, 0], x[1, 1, 1] = np.inf, np.nan
    f = jax.jit(lambda x: jnp.prod(x, axes))
    assert ": host" not in f.lower(x).as_text("schedule")
    np.testing.assert_allclose(f(x), jnp.prod(jnp.asarray(x), axes), rtol=1e-5)


def test_products_of_many_complex_numbers_are_computed_by_numpy():
    x = numbers(2, 30)
    np.testing.assert_array_equal(jax.jit(lambda x: jnp.prod(x, 1))(x), np.prod(x, 1))
