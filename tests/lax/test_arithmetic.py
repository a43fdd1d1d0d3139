"""Sums, products, quotients and extremes, where there is more than one answer."""

import functools

import numpy as np

from tinyjax import lax
from tinyjax.transform.vjp import grad

f32 = functools.partial(np.array, dtype=np.float32)
i32 = functools.partial(np.array, dtype=np.int32)
u8 = functools.partial(np.array, dtype=np.uint8)
INT_MIN = np.iinfo(np.int32).min


def test_a_tie_of_max_shares_the_tangent():
    assert float(grad(lambda x: lax.max(x, f32(2)))(f32(2))) == 0.5


def test_derivative_of_abs_at_zero_is_one():
    assert float(grad(lax.abs)(f32(0))) == 1


def test_integer_division_by_zero():
    np.testing.assert_array_equal(lax.div(i32([5, -5, 0]), i32([0, 0, 0])), [-1, -1, -1])
    np.testing.assert_array_equal(lax.rem(i32([5, -5, 0]), i32([0, 0, 0])), [5, -5, 0])
    assert int(lax.div(u8(5), u8(0))) == 255


def test_smallest_integer_over_minus_one():
    assert int(lax.div(i32(INT_MIN), i32(-1))) == INT_MIN
    assert int(lax.rem(i32(INT_MIN), i32(-1))) == 0
    assert int(lax.abs(i32(INT_MIN))) == INT_MIN


def test_division_truncates_and_rem_has_the_sign_of_x():
    np.testing.assert_array_equal(lax.div(i32([-7, 7, -7]), i32([2, -2, -2])), [-3, -3, 3])
    np.testing.assert_array_equal(lax.rem(i32([-7, 7, -7]), i32([2, -2, -2])), [-1, 1, -1])
    np.testing.assert_array_equal(lax.rem(f32([-5.5, 5.5]), f32([2, -2])), [-1.5, 1.5])


def test_max_and_min_hand_nan_on():
    assert np.isnan(lax.max(f32([np.nan, 1]), f32([1, np.nan]))).all()
    assert np.isnan(lax.clamp(f32(0), f32([np.nan]), f32(1))).all()


def test_max_orders_complex_numbers_by_real_part_first():
    x, y = np.complex64([1 + 2j, 3]), np.complex64([1 + 3j, 2 + 9j])
    np.testing.assert_array_equal(lax.max(x, y), [1 + 3j, 3])
    np.testing.assert_array_equal(lax.min(x, y), [1 + 2j, 2 + 9j])


def test_sign_keeps_negative_zero_and_nan():
    out = np.asarray(lax.sign(f32([-0.0, np.nan, -3])))
    assert np.signbit(out[0]) and out[0] == 0 and np.isnan(out[1]) and out[2] == -1
