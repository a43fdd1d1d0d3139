"""lgamma and digamma of float64, and of float32: computed in float64 and rounded once.

The logarithm of the gamma function near its zeros is the difference of large numbers, and so is its
derivative. Of float32 within 2 units in the last place. Of float64 within 20 of the larger of 1 and the
result, as XLA's; digamma within 200 near its poles left of 0.

Source: for the gamma function, https://dlmf.nist.gov/5.11
"""

from __future__ import annotations

import math

from tinyjax.compile.kernel.functions.logarithms import log_double
from tinyjax.compile.kernel.functions.notation import (
    Number,
    definition,
    definition_of,
    maximum,
    mul_add,
    polynomial,
    select,
)

PI = 3.14159265358979324


# sin(pi f), for f from -1/2 to 1/2
@definition_of("float64")
def sine_of_turn(f: Number) -> Number:
    r = f * PI
    z = r * r
    signs_and_degrees = [((-1) ** (n // 2), n) for n in range(21, 1, -2)]
    p = polynomial(z, *(sign / math.factorial(n) for sign, n in signs_and_degrees))
    return mul_add(r * z, p, r)


def distance_from_integer(x: Number) -> Number:
    """x minus the nearest integer, for x <= 0: the fraction of a sum below -2**52 does not fit."""
    low = maximum(x, -(2.0**52))
    return low - ((low - 2.0**52) + 2.0**52)


# Stirling's series at u >= 8, reached by gamma(t + 8) = t (t + 1) ... (t + 7) gamma(t), where log(u**8) is
# taken from both sides; left of 0, gamma(x) gamma(1 - x) = pi / sin(pi x). Only one logarithm is taken of all
# that is multiplied.
@definition_of("float64")
def lgamma_float64(x: Number) -> Number:
    is_left = x < 0.0
    t = select(is_left, 1.0 - x, x)
    is_low = t < 8.0
    u = select(is_low, t + 8.0, t)
    v = 1.0 / u
    z = v * v
    a = t * (t + 7.0)
    ratio = (a * z) * ((a + 6.0) * z) * ((a + 10.0) * z) * ((a + 12.0) * z)
    p = polynomial(
        z, 1.0 / 156, -691.0 / 360360, 1.0 / 1188, -1.0 / 1680, 1.0 / 1260, -1.0 / 360, 1.0 / 12
    )  # fmt: skip
    power = u - 0.5
    series = mul_add(select(is_low, power - 8.0, power), log_double(u), -u)
    over = select(is_low, ratio, 1.0)
    f = distance_from_integer(x)
    size = select(is_left, over / abs(sine_of_turn(f)), over)
    is_tiny = abs(x) < 1e-290  # gamma(x) is 1 / x, which may be too large
    y = log_double(select(is_tiny, abs(x) * 2.0**100, size))
    rest = mul_add(p, v, 0.91893853320467274)
    usual = select(is_left, (y - series) + (1.1447298858494002 - rest), (series - y) + rest)
    finite = select(is_tiny, 69.314718055994531 - y, usual)
    is_infinite = (abs(x) == math.inf) | ((x <= 0.0) & (f == 0.0))
    is_zero = (x == 1.0) | (x == 2.0)
    of_number = select(is_infinite, math.inf, select(is_zero, 0.0, finite))
    return select(x != x, x, of_number)


@definition
def lgamma(x: Number) -> Number:
    return lgamma_float64(x.astype("float64")).astype("float32")


# The derivative of the above: the sum of 1 / (t + k) is q / product, the derivative of the product over it.
@definition_of("float64")
def digamma_float64(x: Number) -> Number:
    is_left = x < 0.0
    t = select(is_left, 1.0 - x, x)
    is_low = t < 8.0
    a = t * (t + 7.0)
    a6 = a + 6.0
    a10 = a + 10.0
    a12 = a + 12.0
    first = a * a6
    last = a10 * a12
    slope = mul_add(a + a6, last, first * (a10 + a12))
    fractions = (t + t + 7.0) * slope / (first * last)
    u = select(is_low, t + 8.0, t)
    v = 1.0 / u
    z = v * v
    p = polynomial(
        z, 1.0 / 12, -691.0 / 32760, 1.0 / 132, -1.0 / 240, 1.0 / 252, -1.0 / 120, 1.0 / 12
    )  # fmt: skip
    far = mul_add(-p, z, mul_add(-0.5, v, log_double(u)))
    right = select(is_low, far - fractions, far)
    f = distance_from_integer(x)
    sine = sine_of_turn(f)
    cosine = sine_of_turn(0.5 - abs(f))
    y = select(is_left, right - PI * cosine / sine, right)
    is_nan = (x != x) | ((x < 0.0) & (f == 0.0))
    found = select(x == math.inf, x, y)
    return select(is_nan, math.nan, select(x == 0.0, -math.inf, found))


@definition
def digamma(x: Number) -> Number:
    return digamma_float64(x.astype("float64")).astype("float32")
