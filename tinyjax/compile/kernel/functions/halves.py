"""Floats of 16 bits to and from float32: how they are stored, for all is computed in float32.

The exponent of a float16 has five bits and begins at -14, that of a float32 has eight and begins at -126; so
the bits of most numbers move by 13 places, and 112 is added. A bfloat16 is the upper half of a float32.
Results are NumPy's: rounded to the nearest, and of two to the even one; a NaN stays a NaN, perhaps with other
bits. OpenCL's own vload_half and vstore_half are functions that some drivers call for each element; choices
between values that are all computed become vectors.

Source: IEEE 754-2019; F. Giesen, "float->half variants", 2016
"""

from __future__ import annotations

from tinyjax.compile.kernel.functions.notation import (
    Number,
    as_float,
    as_int,
    definition,
    definition_of,
    select,
)

SIZE = 0x7FFFFFFF  # the bits of a float32 that are not its sign
BIAS = 112 << 23  # by how much the exponents differ


@definition_of("int32")
def load_float16(bits: Number) -> Number:
    rest = bits & 0x7FFF
    small = rest.astype("float32") * 2.0**-24
    moved = rest << 13
    other = as_float(select(rest < 0x7C00, moved + BIAS, moved + 2 * BIAS))
    return as_float(as_int(select(rest < 0x400, small, other)) | (bits & 0x8000) << 16)


# The sum with 0.5 rounds a small number to a multiple of 2^-24.
@definition
def store_float16(x: Number) -> Number:
    bits = as_int(x)
    rest = bits & SIZE
    small = as_int(as_float(rest) + 0.5) - 0x3F000000
    normal = (rest - BIAS + 0xFFF + (rest >> 13 & 1)) >> 13
    large = select(rest > 0x7F800000, (rest >> 13 & 0x3FF) | 0x7E00, 0x7C00)
    found = select(rest < 113 << 23, small, select(rest < 143 << 23, normal, large))
    return found | (bits >> 16 & 0x8000)


# Between two operations, a float16 is a float32
@definition
def round_float16(x: Number) -> Number:
    return load_float16(store_float16(x))


@definition_of("int32")
def load_bfloat16(bits: Number) -> Number:
    return as_float(bits << 16)


@definition
def store_bfloat16(x: Number) -> Number:
    bits = as_int(x)
    is_odd = bits >> 16 & 1
    return select(x != x, bits >> 16 | 64, (bits + 0x7FFF + is_odd) >> 16) & 0xFFFF


@definition
def round_bfloat16(x: Number) -> Number:
    return load_bfloat16(store_bfloat16(x))
