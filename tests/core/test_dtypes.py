"""The story of promotion: what mixed dtypes become, and why Python scalars never widen anything."""

import ml_dtypes
import numpy as np
import pytest

from tinyjax.core import dtypes, type_promotion
from tinyjax.core.config import config

# ---- what Python scalars and 64-bit dtypes become ----


def test_python_scalars_are_32_bits_wide():
    assert dtypes.default_dtype(int) == np.int32
    assert dtypes.default_dtype(float) == np.float32
    assert dtypes.default_dtype(complex) == np.complex64
    assert dtypes.default_dtype(bool) == np.bool_


def test_64_bits_stay_under_enable_x64():
    assert dtypes.canonicalize_dtype("float64") == np.float32
    with config.set("jax_enable_x64", True):
        assert dtypes.canonicalize_dtype("float64") == np.float64
        assert dtypes.default_dtype(int) == np.int64


def test_dtypes_that_arrays_cannot_have_are_refused():
    for bad in (np.dtype("U3"), np.dtype("O"), np.dtype("M8[s]"), "no dtype"):
        with pytest.raises(TypeError, match="dtype"):
            dtypes.canonicalize_dtype(bad)


# ---- promotion ----

PROMOTIONS = [
    # bool < ints < floats < complex, and within a kind the wider one
    ("bool", "int8", "int8"),
    ("int8", "int32", "int32"),
    ("float32", "complex64", "complex64"),
    # an integer never widens a float
    ("int32", "float16", "float16"),
    ("uint32", "bfloat16", "bfloat16"),
    # signed and unsigned meet in the signed dtype that holds both
    ("int8", "uint8", "int16"),
    ("int16", "uint16", "int32"),
    # neither of two 16-bit floats holds the other
    ("float16", "bfloat16", "float32"),
]


@pytest.mark.parametrize("a, b, expected", PROMOTIONS)
def test_two_dtypes_promote_to_the_least_that_is_above_both(a, b, expected):
    assert type_promotion.promote_types(a, b) == dtypes.np_dtype(expected)
    assert type_promotion.promote_types(b, a) == dtypes.np_dtype(expected)


def test_int32_and_uint32_have_no_32_bit_dtype_above_them():
    assert type_promotion.result_type(np.int32(1), np.uint32(1)) == np.int32
    with config.set("jax_enable_x64", True):
        assert type_promotion.result_type(np.int32(1), np.uint32(1)) == np.int64


def test_promotion_is_associative_where_numpys_is_not():
    int8, uint8, bfloat16 = np.dtype("int8"), np.dtype("uint8"), dtypes.bfloat16
    left = type_promotion.promote_types(type_promotion.promote_types(int8, uint8), bfloat16)
    right = type_promotion.promote_types(int8, type_promotion.promote_types(uint8, bfloat16))
    assert left == right == bfloat16


# ---- weak types ----


def test_a_python_scalar_takes_the_dtype_of_its_kind():
    assert type_promotion.result_type(np.float16(1), 2.0, return_weak_type_flag=True) == (
        np.float16,
        False,
    )
    assert type_promotion.result_type(np.int8(1), 2, return_weak_type_flag=True) == (np.int8, False)


def test_a_python_scalar_of_a_higher_kind_brings_its_default_dtype():
    assert type_promotion.result_type(np.int8(1), 2.0, return_weak_type_flag=True) == (
        np.float32,
        True,
    )
    assert type_promotion.result_type(np.float32(1), 2j, return_weak_type_flag=True) == (
        np.complex64,
        False,
    )


def test_python_scalars_alone_stay_weak_but_for_bools():
    assert type_promotion.result_type(1, 2.0, return_weak_type_flag=True) == (np.float32, True)
    assert type_promotion.result_type(True, True, return_weak_type_flag=True) == (np.bool_, False)


def test_strict_promotion_refuses_all_but_weak_types():
    assert type_promotion.result_type(np.float16(1), np.float32(2)) == np.float32
    with config.set("jax_numpy_dtype_promotion", "strict"):
        assert type_promotion.result_type(np.float16(1), 2.0) == np.float16
        with pytest.raises(type_promotion.TypePromotionError, match="astype"):
            type_promotion.result_type(np.float16(1), np.float32(2))


# ---- asking ----


def test_bfloat16_is_a_floating_dtype():
    assert dtypes.issubdtype(dtypes.bfloat16, np.floating)
    assert not dtypes.issubdtype(dtypes.bfloat16, np.integer)
    assert dtypes.kind(dtypes.bfloat16) == "f"
    assert dtypes.finfo(dtypes.bfloat16).bits == ml_dtypes.finfo("bfloat16").bits == 16


def test_none_is_numpys_default_dtype():
    assert dtypes.issubdtype(None, np.floating)
    assert not dtypes.issubdtype(None, np.complexfloating)


def test_random_keys_are_no_numbers():
    assert dtypes.issubdtype(dtypes.key_dtype, dtypes.prng_key)
    assert not dtypes.issubdtype(np.dtype("float32"), dtypes.prng_key)
    with pytest.raises(TypeError, match="does not promote"):
        type_promotion.promote_types(dtypes.key_dtype, np.float32)


def test_short_names_are_those_of_printed_avals():
    names = ["float32", "int8", "uint16", "bool", "complex64", dtypes.bfloat16, dtypes.key_dtype]
    shown = [dtypes.short_name(dtypes.np_dtype(name)) for name in names]
    assert shown == ["f32", "i8", "u16", "bool", "c64", "bf16", "key<fry>"]


def test_integers_have_tangents_without_information():
    assert dtypes.tangent_dtype(np.dtype("int32")) == dtypes.float0
    assert dtypes.tangent_dtype(np.dtype("float16")) == np.float16
