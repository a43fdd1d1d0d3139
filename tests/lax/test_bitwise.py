"""Shifts past the width, and counted bits."""

import functools

import numpy as np
import pytest

import tinyjax as jax
from tinyjax import lax

i32 = functools.partial(np.array, dtype=np.int32)
i8 = functools.partial(np.array, dtype=np.int8)
INT_MIN = np.iinfo(np.int32).min


def test_shifts_past_the_width():
    shifts = i32([31, 32, 40, -1])
    np.testing.assert_array_equal(lax.shift_left(i32([1] * 4), shifts), [INT_MIN, 0, 0, 0])
    np.testing.assert_array_equal(lax.shift_right_arithmetic(i32([-8] * 4), shifts), [-1] * 4)
    np.testing.assert_array_equal(lax.shift_right_logical(i32([-8] * 4), shifts), [1, 0, 0, 0])


def test_counting_bits():
    np.testing.assert_array_equal(lax.clz(i8([0, 1, -1])), [8, 7, 0])
    np.testing.assert_array_equal(lax.population_count(i8([0, 5, -1])), [0, 2, 8])


@pytest.mark.parametrize("bits", [8, 16, 32])
@pytest.mark.parametrize("sign", ["int", "uint"])
def test_counting_bits_of_vectors(bits, sign):
    dtype = np.dtype(f"{sign}{bits}")
    x = np.array([0, 1, 2**bits - 1, 2 ** (bits - 1), 5, 2 ** (bits - 2)] * 6, np.uint64).astype(
        dtype
    )
    for count in (lax.clz, lax.population_count):
        np.testing.assert_array_equal(jax.jit(count)(x), count(x))
