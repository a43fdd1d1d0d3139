"""Division of integer vectors, for which CPUs have no instruction; floats to integers; rem of float32.

A division of float64s, rounded down, is exact: a fraction x / y that is no integer is at least 1 / |y| away
from one, more than the error of a float64 of its size. x / 0 is -1 and its remainder x, as in JAX.

rem of float32 is what C's fmod gives, to the bit. A quotient of less than 2**29 has so few digits that its
product with a float32 is exact in float64, and so is the difference. Larger quotients are subtracted
29 digits at a time, the highest first.

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
    repeat,
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

DIGITS = 29
LARGEST = 277  # digits of a quotient of float32s


def without_multiples(x: Number, y: Number) -> Number:
    """x - trunc(x / y) y, of float64s that are not negative, where x < 2**29 y."""
    return x - truncate(x / y, "int32").astype("float64") * y


def of_large_quotient(x: Number, y: Number) -> Number:
    """The remainder of finite numbers that are not negative: first of multiples of y by powers of two."""
    rest, _ = repeat(
        "taken",
        lambda rest, multiple: multiple >= y,
        lambda rest, multiple: [without_multiples(rest, multiple), multiple * 2.0**-DIGITS],
        x,
        y * 2.0 ** (LARGEST // DIGITS * DIGITS),
    )
    return rest


@definition_of("float32", "int32", "uint32")
def rem(x: Number, y: Number) -> Number:
    if x.dtype.kind != "f":
        return x - div(x, y) * y
    size, divisor = (abs(part).astype("float64") for part in (x, y))
    is_number = (abs(x) < math.inf) & (abs(y) > 0.0)
    is_less = abs(x) < abs(y)
    is_usual = is_less | ~is_number | (size < divisor * 2.0**DIGITS)
    above = select(is_less | ~is_usual | ~is_number, 0.0, size)  # what has a quotient that fits
    below = select((abs(y) > 0.0) & (abs(y) < math.inf), divisor, 1.0)  # else no loop would end
    usual = without_multiples(above, below)
    (found,) = where_any(~is_usual, lambda: [of_large_quotient(size, below)], [usual])
    result = with_sign_of(found.astype("float32"), x)
    return select(is_number & (y == y), select(is_less, x, result), math.nan)
