"""rem of float32: what C's fmod gives, to the bit.

A quotient of less than 2**29 has so few digits that its product with a float32 is exact in float64, and so is
the difference. Larger quotients are taken off 29 digits at a time, from the highest on.

Source: the C standard, 7.12.10.1 and F.10.7.1
"""

from __future__ import annotations

import math

from tinyjax.compile.kernel.functions.notation import (
    Number,
    definition,
    repeat,
    select,
    truncate,
    where_any,
    with_sign_of,
)

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


@definition
def rem(x: Number, y: Number) -> Number:
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
