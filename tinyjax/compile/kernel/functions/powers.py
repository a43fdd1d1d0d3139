"""pow of float32, computed in float64 and rounded once.

A power multiplies the error of a logarithm by up to a hundred, and float64 has digits to spare, and vector
instructions. Within 1 unit in the last place.

Source: the series for exp(x), https://dlmf.nist.gov/4.6; the C standard, F.10.4.4, for the special cases
"""

from __future__ import annotations

import math

from tinyjax.compile.kernel.functions.logarithms import log_double
from tinyjax.compile.kernel.functions.notation import (
    Number,
    as_float,
    as_int,
    clamp,
    definition,
    mul_add,
    polynomial,
    select,
)

# The fraction of a sum with 1.5 * 2**52 does not fit: the sum is rounded to an integer, its last bits.
SHIFT_DOUBLE = 6755399441055744.0


# exp(y log |x|), rounded to float32 at the end; then what the C standard says of negative x, 0, inf and nan.
@definition
def pow(x: Number, y: Number) -> Number:
    size = abs(x)
    t = clamp(y.astype("float64") * log_double(size.astype("float64")), -110.0, 90.0)
    m = mul_add(t, 1.4426950408889634, SHIFT_DOUBLE)
    r = mul_add(m - SHIFT_DOUBLE, -0.69314718055994531, t)
    e = polynomial(r, *(1.0 / math.factorial(n) for n in range(8, -1, -1)))
    usual = (e * as_float((as_int(m) + 1023) << 52)).astype("float32")
    is_end = (size == 0.0) | (size == math.inf)
    at_end = select((size == 0.0) ^ (y > 0.0), math.inf, 0.0)
    power = select(is_end, at_end, usual)
    is_integer = round(y) == y
    is_odd = is_integer & (2.0 * round(0.5 * y) != y)
    sign = select(is_odd, as_int(x) & -(2**31), 0)
    is_nan = (x != x) | (y != y) | ((x < 0.0) & ~is_integer & ~is_end)
    is_one = (x == 1.0) | (y == 0.0) | ((size == 1.0) & (abs(y) == math.inf))
    return select(is_one, 1.0, select(is_nan, math.nan, as_float(as_int(power) | sign)))
