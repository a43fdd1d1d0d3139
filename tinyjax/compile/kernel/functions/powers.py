"""exp of float64, and pow of float32: computed in float64 and rounded once.

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
    definition_of,
    mul_add,
    polynomial,
    select,
)

# The fraction of a sum with 1.5 * 2**52 does not fit: the sum is rounded to an integer, its last bits.
SHIFT_DOUBLE = 6755399441055744.0


def exp_by_series(x: Number, degree: int) -> Number:
    """exp of a float64 from -700 to 700, to ten digits for a degree of 8."""
    m = mul_add(x, 1.4426950408889634, SHIFT_DOUBLE)
    n = m - SHIFT_DOUBLE
    r = mul_add(n, -1.9082149292705877e-10, mul_add(n, -0.69314718036912382, x))
    e = polynomial(r, *(1.0 / math.factorial(n) for n in range(degree, -1, -1)))
    return e * as_float((as_int(m) + 1023) << 52)


@definition_of("float64")
def exp_double(x: Number) -> Number:
    return exp_by_series(clamp(x, -700.0, 700.0), 12)


# exp(y log |x|), rounded to float32 at the end; then what the C standard says of negative x, 0, inf and nan.
@definition
def pow(x: Number, y: Number) -> Number:
    size = abs(x)
    t = clamp(y.astype("float64") * log_double(size.astype("float64")), -110.0, 90.0)
    usual = exp_by_series(t, 8).astype("float32")
    is_end = (size == 0.0) | (size == math.inf)
    at_end = select((size == 0.0) ^ (y > 0.0), math.inf, 0.0)
    power = select(is_end, at_end, usual)
    is_integer = round(y) == y
    is_odd = is_integer & (2.0 * round(0.5 * y) != y)
    sign = select(is_odd, as_int(x) & -(2**31), 0)
    is_nan = (x != x) | (y != y) | ((x < 0.0) & ~is_integer & ~is_end)
    is_one = (x == 1.0) | (y == 0.0) | ((size == 1.0) & (abs(y) == math.inf))
    return select(is_one, 1.0, select(is_nan, math.nan, as_float(as_int(power) | sign)))
