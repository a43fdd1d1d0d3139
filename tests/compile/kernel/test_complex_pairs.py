"""Complex numbers in kernels: no host step, and what NumPy gives, for special values too."""

import itertools

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax

PARTS = [0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan]
SPECIAL = np.array([complex(a, b) for a, b in itertools.product(PARTS, PARTS)], np.complex64)
RNG = np.random.default_rng(0)
NUMBERS = (RNG.standard_normal(1003) + 1j * RNG.standard_normal(1003)).astype(np.complex64)
FUNCTIONS = {
    "add": lambda z, w: z + w,
    "sub": lambda z, w: z - w,
    "neg": lambda z, w: -z,
    "mul": lambda z, w: z * w,
    "div": lambda z, w: z / w,
    "abs": lambda z, w: jnp.abs(z),
    "exp": lambda z, w: jnp.exp(z),
    "conj": lambda z, w: jnp.conj(z),
    "eq": lambda z, w: z == w,
    "ne": lambda z, w: z != w,
    "parts": lambda z, w: z.real * w.imag,
    "complex": lambda z, w: lax.complex(z.imag, w.real),
    "where": lambda z, w: jnp.where(z.real > 0, z, w),
    "convert": lambda z, w: z.real.astype(jnp.complex64),
    "pad": lambda z, w: jnp.pad(z, (1, 2), constant_values=2j),
    "concatenate": lambda z, w: jnp.concatenate([z, w[::-1]]),
    "transpose": lambda z, w: z[:48].reshape(6, 8).T,
}


def host_steps(f, *args):
    return jax.jit(f).lower(*args).as_text("schedule").count(": host")


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("is_special", [False, True])
def test_an_operation_gives_what_numpy_gives(name, is_special):
    f, (z, w) = FUNCTIONS[name], (NUMBERS, NUMBERS[::-1].copy())
    if is_special:
        z, w = np.repeat(SPECIAL, len(SPECIAL)), np.tile(SPECIAL, len(SPECIAL))
    assert not host_steps(f, z, w)
    found, wanted = np.asarray(jax.jit(f)(z, w)), np.asarray(f(jnp.asarray(z), jnp.asarray(w)))
    assert found.dtype == wanted.dtype
    for part in (np.real, np.imag):
        np.testing.assert_allclose(part(found), part(wanted), rtol=2e-5, atol=1e-6)


def test_a_power_is_a_product():
    z = NUMBERS
    assert not host_steps(lambda z: z**-3, z)
    np.testing.assert_allclose(jax.jit(lambda z: z**-3)(z), z**-3.0, rtol=1e-4)


def test_numbers_of_64_bits_are_pairs_too():
    with jax.enable_x64(True):
        z = NUMBERS.astype(np.complex128)
        f = jax.jit(lambda z: jnp.abs(z * z) / (1 + z))
        np.testing.assert_allclose(f(z), np.abs(z * z) / (1 + z), rtol=1e-12)


def test_a_kernel_of_complex_numbers_is_in_vectors():
    text = jax.jit(lambda z: z * z).lower(NUMBERS[:64]).as_text("schedule of k0")
    assert "Vectorize('i1', 16, gather=True, overlap=True)" in text


def test_a_reduction_can_read_them():
    z = NUMBERS[:1000].reshape(10, 100)
    f = jax.jit(lambda z: jnp.abs(z).sum(1))
    np.testing.assert_allclose(f(z), np.abs(z).sum(1), rtol=1e-5)


def test_a_conversion_to_a_smaller_dtype_is_that_of_both_parts():
    with jax.enable_x64(True):
        z = NUMBERS.astype(np.complex128)
        f = jax.jit(lambda z: z.astype(jnp.complex64) * 2)
        np.testing.assert_array_equal(f(z), z.astype(np.complex64) * 2)


def test_a_loop_can_return_a_complex_number_and_read_its_imaginary_part():
    z = NUMBERS[:20]

    def step(total, z):
        product = z * total
        return total + product.imag, product

    total, products = jax.jit(lambda z: jax.lax.scan(step, jnp.float32(1), z))(z)
    expected_total, expected = np.float32(1), []
    for number in z:
        expected.append(number * expected_total)
        expected_total += expected[-1].imag
    np.testing.assert_allclose(products, expected, rtol=1e-3)
    np.testing.assert_allclose(total, expected_total, rtol=1e-3)
