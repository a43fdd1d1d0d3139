"""cbrt, asinh, acosh and atanh of float64, within 4 units in the last place.

The methods are those of float32, in compile/kernel/functions/exponentials.py; the root takes one step more.

Source: https://dlmf.nist.gov/4.37
"""

from __future__ import annotations

import math

from tinyjax.compile.kernel.functions.doubles import log1p_float64
from tinyjax.compile.kernel.functions.notation import (
    Number,
    as_float,
    as_int,
    definition_of,
    mul_add,
    select,
    sqrt,
    truncate,
    with_sign_of,
)

double = definition_of("float64")
LOG_2 = 0.69314718055994531


@double
def cbrt_float64(x: Number) -> Number:
    size = abs(x)
    is_small, is_large = size < 1e-280, size > 1e280
    a = size * select(is_small, 2.0**60, select(is_large, x.dtype.type(2.0**-60), 1.0))
    third = truncate(as_int(a).astype("float64") * (1 / 3), "int64")
    y = as_float(third + (715094163 << 32))
    for _ in range(3):
        cube = y * y * y
        y = mul_add(-y, (cube - a) / (cube + cube + a), y)
    y = y * select(is_small, 2.0**-20, select(is_large, x.dtype.type(2.0**20), 1.0))
    return select((size > 0.0) & (size < math.inf), with_sign_of(y, x), x)


@double
def asinh_float64(x: Number) -> Number:
    size = abs(x)
    z = size * size
    is_large = size > 1e17
    y = log1p_float64(select(is_large, size, size + z / (1.0 + sqrt(1.0 + z))))
    return with_sign_of(select(is_large, y + LOG_2, y), x)


@double
def acosh_float64(x: Number) -> Number:
    t = x - 1.0
    is_large = x > 1e17
    y = log1p_float64(select(is_large, x, t + sqrt(t * (t + 2.0))))
    return select(x < 1.0, math.nan, select(is_large, y + LOG_2, y))


@double
def atanh_float64(x: Number) -> Number:
    size = abs(x)
    return with_sign_of(0.5 * log1p_float64((size + size) / (1.0 - size)), x)
