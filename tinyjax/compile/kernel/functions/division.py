"""Division of integer vectors, for which CPUs have no instruction; floats to integers; rem of float32.

A division of float64s, rounded down, is exact: a fraction x / y that is no integer is at least 1 / |y| away
from one, more than the error of a float64 of its size. x / 0 is -1 and its remainder x, as in JAX.

rem of float32 is what C's fmod gives, to the bit. A quotient of less than 2**29 has so few digits that its
product with a float32 is exact in float64, and so is the difference. Others are left to the driver.

Source: the C standard, 7.12.10.1 and F.10.7.1
"""

from __future__ import annotations

import functools
import math

import numpy as np

from tinyjax.compile.kernel.functions.kernel_function import KernelFunction
from tinyjax.compile.kernel.functions.notation import (
    Definition,
    Number,
    definition_of,
    op,
    select,
    truncate,
    where_any,
    with_sign_of,
)

# ---- integers ----


# -2**31 / -1 is 2**31, which is no int32: it becomes -2**31.
@definition_of("int32", "uint32")
def div(x: Number, y: Number) -> Number:
    q = x.astype("float64") / select(y == 0, 1, y).astype("float64")
    if x.dtype.kind == "i":
        q = select(q < 2147483648.0, q, -2147483648.0)
    return select(y == 0, ~x.dtype.type(0), truncate(q, x.dtype.name))


@functools.cache
def saturated(of: np.dtype, to: np.dtype) -> KernelFunction:
    """Floats as the nearest integers that there are; NaN becomes 0."""
    info = np.iinfo(to)
    limit = of.type(2.0) ** (info.bits - (info.min < 0))
    low, high = of.type(info.min), np.nextafter(limit, of.type(0))

    def saturate(x: Number) -> Number:
        y = op("truncate", select(x > low, select(x < high, x, high), low), dtype=to)
        return select(x != x, to.type(0), select(x >= limit, to.type(info.max), y))

    return Definition(saturate, of, f"saturate_{of}_{to}").kernel_function


# ---- the remainder of floats ----


@definition_of("float32", "int32", "uint32")
def rem(x: Number, y: Number) -> Number:
    if x.dtype.kind != "f":
        return x - div(x, y) * y
    size, divisor = (abs(part).astype("float64") for part in (x, y))
    is_usual = (size < divisor * 2.0**29) & (divisor < math.inf)
    quotient = truncate(select(is_usual, size / divisor, 0.0), "int32").astype("float64")
    usual = size - quotient * divisor
    (found,) = where_any(~is_usual, lambda: [op("rem", size, divisor)], [usual])
    return with_sign_of(found.astype("float32"), x)
