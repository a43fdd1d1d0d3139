"""lgamma and digamma of float32, computed in float64 and rounded once.

The logarithm of the gamma function near its zeros is the difference of large numbers, and so is its
derivative. Within 2 units in the last place.

Source: for the gamma function, https://dlmf.nist.gov/5.11
"""

from __future__ import annotations

import math

from tinyjax.compile.kernel.functions.logarithms import log_double
from tinyjax.compile.kernel.functions.notation import (
    Number,
    definition,
    definition_of,
    mul_add,
    polynomial,
    select,
)
from tinyjax.compile.kernel.functions.powers import SHIFT_DOUBLE

PI = 3.14159265358979324


# sin(pi f), for f from -1/2 to 1/2
@definition_of("float64")
def sine_of_turn(f: Number) -> Number:
    r = f * PI
    z = r * r
    signs_and_degrees = [((-1) ** (n // 2), n) for n in range(21, 1, -2)]
    p = polynomial(z, *(sign / math.factorial(n) for sign, n in signs_and_degrees))
    return mul_add(r * z, p, r)


# Stirling's series at u >= 8, reached by gamma(t + 8) = t (t + 1) ... (t + 7) gamma(t); left of 0,
# gamma(x) gamma(1 - x) = pi / sin(pi x). Only one logarithm is taken of all that is multiplied.
@definition
def lgamma(x: Number) -> Number:
    d = x.astype("float64")
    is_left = d < 0.0
    t = select(is_left, 1.0 - d, d)
    is_low = t < 8.0
    a = t * (t + 7.0)
    product = a * (a + 6.0) * (a + 10.0) * (a + 12.0)
    u = select(is_low, t + 8.0, t)
    v = 1.0 / u
    z = v * v
    p = polynomial(
        z, -691.0 / 360360, 1.0 / 1188, -1.0 / 1680, 1.0 / 1260, -1.0 / 360, 1.0 / 12
    )  # fmt: skip
    series = mul_add(u - 0.5, log_double(u), -u) + mul_add(p, v, 0.91893853320467274)
    over = select(is_low, product, 1.0)
    f = d - ((d + SHIFT_DOUBLE) - SHIFT_DOUBLE)
    sine = sine_of_turn(f)
    y = log_double(select(is_left, over / abs(sine), over))
    finite = select(is_left, (1.1447298858494002 - series) + y, series - y).astype("float32")
    is_infinite = (abs(x) == math.inf) | ((x <= 0.0) & (round(x) == x))
    is_zero = (x == 1.0) | (x == 2.0)
    of_number = select(is_infinite, math.inf, select(is_zero, 0.0, finite))
    return select(x != x, x, of_number)


# The derivative of the above: the sum of 1 / (t + k) is q / product, the derivative of the product over it.
@definition
def digamma(x: Number) -> Number:
    d = x.astype("float64")
    is_left = d < 0.0
    t = select(is_left, 1.0 - d, d)
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
    f = d - ((d + SHIFT_DOUBLE) - SHIFT_DOUBLE)
    sine = sine_of_turn(f)
    cosine = sine_of_turn(0.5 - abs(f))
    y = select(is_left, right - PI * cosine / sine, right)
    is_nan = (x != x) | ((x < 0.0) & (round(x) == x))
    found = select(x == math.inf, x, y.astype("float32"))
    return select(is_nan, math.nan, select(x == 0.0, -math.inf, found))
