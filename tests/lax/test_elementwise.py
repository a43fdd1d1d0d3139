"""Elementwise primitives: kinks and XLA's edges, accuracy, types, errors.

What holds for each primitive (derivatives, batches, compiled code) is in test_primitives.
"""

import functools

import numpy as np
import pytest

from tinyjax import lax
from tinyjax.transform.vjp import grad

f32 = functools.partial(np.array, dtype=np.float32)
i32 = functools.partial(np.array, dtype=np.int32)
u8 = functools.partial(np.array, dtype=np.uint8)


# ---- derivatives ----


def test_steps_have_zero_derivative():
    for f in (lax.floor, lax.ceil, lax.round, lax.sign):
        assert float(grad(f)(f32(1.3))) == 0


def test_stop_gradient_stops_every_level():
    f = lambda x: lax.mul(x, lax.stop_gradient(lax.mul(x, x)))  # noqa: E731
    assert float(grad(f)(3.0)) == 9
    assert float(grad(grad(f))(3.0)) == 0


def test_stop_gradient_takes_a_tree():
    a, b = lax.stop_gradient((f32(1), {"b": f32([2, 3])}))
    assert float(a) == 1 and b["b"].shape == (2,)


# ---- edges, as XLA has them ----


def test_rounding_of_halves():
    x = f32([0.5, 1.5, -2.5, 0.49999997])
    np.testing.assert_array_equal(lax.round(x), [1, 2, -3, 0])
    np.testing.assert_array_equal(lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN), [0, 2, -2, 0])


def test_reduce_precision_rounds_to_even_and_overflows():
    x = f32([1.1, 3.14159, 1e20, -1e20, np.nan, 1e-30])
    with np.errstate(over="ignore"):
        expected = x.astype(np.float16).astype(np.float32)
    np.testing.assert_array_equal(lax.reduce_precision(x, 5, 10), expected)


def test_sixteen_bit_floats_are_rounded_once():
    x = np.linspace(-3, 3, 50).astype(np.float16)
    for f, exact in ((lax.logistic, lambda x: 1 / (1 + np.exp(-x))), (lax.tanh, np.tanh)):
        out = np.asarray(f(x))
        assert out.dtype == np.float16
        np.testing.assert_array_equal(out, exact(x.astype(np.float32)).astype(np.float16))


# ---- types ----


def test_weak_types_go_through():
    assert lax.exp(1.0).weak_type
    assert lax.sub(1.0, 2.0).weak_type
    assert not lax.sub(1.0, f32(2)).weak_type
    assert lax.full((2,), 1).weak_type
    assert not lax.full((2,), 1, np.float32).weak_type
    assert not lax.bitwise_not(True).weak_type


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: lax.exp(i32(1)), TypeError, "exp does not accept dtype int32"),
        (lambda: lax.abs(u8(1)), TypeError, "abs does not accept dtype uint8"),
        (lambda: lax.sub(f32(1), i32(1)), TypeError, "same dtypes, got float32, int32"),
        (lambda: lax.sub(f32([1, 2]), f32([1, 2, 3])), TypeError, "incompatible shapes"),
        (lambda: lax.pow(i32(2), i32(3)), TypeError, "pow does not accept dtype int32"),
        (lambda: lax.integer_pow(i32(2), -1), TypeError, "negative powers"),
        (lambda: lax.select(f32(1), f32(1), f32(2)), TypeError, "must be boolean or integer"),
        (lambda: lax.select(np.array([True]), f32(1), f32(2)), TypeError, "`which` must be scalar"),
        (lambda: lax.clamp(f32([0]), f32([1, 2]), f32(1)), TypeError, "min.shape"),
        (lambda: lax.lt(np.complex64(1), np.complex64(1)), TypeError, "lt does not accept"),
        (lambda: lax.complex(np.float16(1), np.float16(1)), TypeError, "float32 or float64"),
        (lambda: lax.iota(bool, 3), TypeError, "iota does not accept dtype bool"),
        (lambda: lax.broadcasted_iota(np.int32, (2,), 1), ValueError, "iota dimension"),
        (lambda: lax.full((-1,), 0.0), TypeError, "nonnegative"),
        (lambda: lax.full((2.5,), 0.0), TypeError, "concrete values of integer type"),
        (lambda: lax.full((2,), np.ones(2)), TypeError, "scalar fill_value"),
        (lambda: lax.convert_element_type(1.0, "no such"), TypeError, "no such"),
        (lambda: lax.bitcast_convert_type(u8([1]), np.int32), ValueError, "last axis"),
        (lambda: lax.reduce_precision(f32(1), 0, 3), ValueError, "exponent_bits must be positive"),
        (lambda: lax.exp("text"), TypeError, "not a valid JAX type"),
        (lambda: grad(lambda m: lax.polygamma(m, f32(1)))(f32(1)), ValueError, "respect to m"),
    ],
)
def test_misuse_is_explained(call, error, message):
    with pytest.raises(error, match=message):
        call()
