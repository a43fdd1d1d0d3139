"""Powers at the edges."""

import functools

import numpy as np
import pytest

import tinyjax as jax
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


def test_expm1_keeps_the_digits_of_small_results():
    x = np.geomspace(1e-35, 88, 10_000, dtype=np.float32)
    x = np.concatenate([x, -x])
    exact = np.expm1(x.astype(np.float64))
    units = np.abs(lax.expm1(x)._value - exact) / np.spacing(np.abs(exact).astype(np.float32))
    assert units.max() < 4
    edges = f32([0, -0.0, np.inf, -np.inf, np.nan])
    assert lax.expm1(edges)._value.tobytes() == np.expm1(edges).tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_kernel_keeps_the_smallest_normal_numbers_in_log1p(dtype):
    x = np.finfo(dtype).tiny * np.array([1, 1.9, -1.5], dtype)
    with jax.enable_x64(True):
        for f in (lax.log1p, lax.asinh):
            np.testing.assert_array_equal(jax.jit(f).lower(x).compile()(x), x)


@pytest.mark.parametrize("real", [np.inf, np.nan, 100.0, 1.0])
def test_expm1_of_a_complex_number_on_the_real_line_stays_there(real):
    assert lax.expm1(np.complex64(complex(real, 0)))._value.imag == 0


def test_logistic_keeps_the_digits_of_small_results():
    x = np.linspace(-80, 80, 10_000, dtype=np.float32)
    exact = 1 / (1 + np.exp(-x.astype(np.float64)))
    units = np.abs(lax.logistic(x)._value - exact) / np.spacing(exact.astype(np.float32))
    assert units.max() < 4
    np.testing.assert_array_equal(
        lax.logistic(f32([0, -0.0, np.inf, -np.inf, np.nan])), f32([0.5, 0.5, 1, 0, np.nan])
    )
