"""erf, erfc, the inverse of erf, lgamma and digamma.

Those of erf are of float32. The digits of small differences are kept by a second formula where the first one
would cancel, and by a square in two parts. erf and erfc are within 4 units in the last place.

lgamma and digamma are of float64, and of float32: computed in float64 and rounded once. The logarithm of the
gamma function near its zeros is the difference of large numbers, and so is its derivative. Those of float32
are within 2 units in the last place; those of float64 within 20 units of the larger of 1 and the result, as
XLA's are, and digamma within 200 near its poles left of 0.

Source: M. Shepherd and J. Laframboise, Mathematics of Computation 36 (1981), for erfc; the polynomials of
erf and erfc are fitted so that the largest error is smallest. For the gamma function,
https://dlmf.nist.gov/5.11
"""

from __future__ import annotations

import math

from tinyjax.compile.kernel.functions.angles import alternating_series
from tinyjax.compile.kernel.functions.exponentials import (
    exp,
    log_double,
    parts_of,
)
from tinyjax.compile.kernel.functions.notation import (
    Number,
    as_float,
    as_int,
    definition,
    definition_of,
    maximum,
    mul_add,
    polynomial,
    select,
    sqrt,
    with_sign_of,
)

# ---- error functions ----


# erf(x) for x from -0.925 to 0.925
@definition
def small_erf(x: Number) -> Number:
    z = x * x
    p = polynomial(
        z, -5.95374207e-4, 4.98594064e-3, -2.676172e-2, 1.12816826e-1, -3.76124799e-1, 1.28379151e-1
    )  # fmt: skip
    return mul_add(p, x, x)


# A polynomial near 0, 1 - exp(q(x)) elsewhere
@definition
def erf(x: Number) -> Number:
    size = abs(x)
    t = select(size < 4.0, size, 4.0)
    q = polynomial(
        t, -1.12312282e-5, 3.22803098e-4, -3.64245614e-3, 2.37620566e-2, -1.06236868e-1,
        -6.35151327e-1, -1.12864852,
    )  # fmt: skip
    far = 1.0 - exp(q * t)
    return with_sign_of(select(size > 0.925, far, small_erf(x)), x)


# 1 - erf(x) near 0; P(q) / (1 + 2 x) * exp(-x * x) for larger x, with q = (x - 2) / (x + 2); and
# 2 - erfc(-x) left of 0. exp would multiply the rounding of x * x by up to a hundred: the square is taken
# in two parts, h * h, which is exact, and the rest.
@definition
def erfc(x: Number) -> Number:
    size = abs(x)
    a = select(size < 10.2, size, 10.2)
    q = (a - 2.0) / (a + 2.0)
    p = polynomial(
        q, -3.99447163e-4, -1.22799934e-3, 1.31330756e-3, 8.63009412e-3, -8.0601424e-3,
        -5.42038828e-2, 1.64055422e-1, -1.66031465e-1, -9.27639827e-2, 1.27697837,
    )  # fmt: skip
    h = as_float(as_int(a) & -0x1000)
    rest = (h - a) * (h + a)
    e = mul_add(rest, 0.25, 1.0)
    e = mul_add(rest * 0.333333343, e, 1.0)
    e = mul_add(rest * 0.5, e, 1.0)
    e = mul_add(rest, e, 1.0)
    y = p / mul_add(2.0, a, 1.0) * e * exp(-h * h)
    right = select(size < 0.5, 1.0 - small_erf(x), select(x < 0.0, 2.0 - y, y))
    return select(x != x, x, right)


# The formula of erf_inv in lax/special.py, operation for operation, as XLA computes it, so that random draws
# have JAX's bits: `mul_add` stands where XLA rounds once.
@definition
def erf_inv(y: Number) -> Number:
    x = -(y * y)
    w = -log_of_1_plus(x)
    in_middle = w < 5.0
    t = select(in_middle, w - 2.5, sqrt(w) - 3.0)
    middle_and_end = (
        (2.81022636e-08, -0.000200214257), (3.43273939e-07, 0.000100950558),
        (-3.5233877e-06, 0.00134934322), (-4.39150654e-06, -0.00367342844),
        (0.00021858087, 0.00573950773), (-0.00125372503, -0.0076224613),
        (-0.00417768164, 0.00943887047), (0.246640727, 1.00167406), (1.50140941, 2.83297682),
    )  # fmt: skip
    r = polynomial(t, *(select(in_middle, *pair) for pair in middle_and_end))
    size = abs(y)
    at_end = select(size == 1.0, y * math.inf, math.nan)
    return select(size < 1.0, r * y, at_end)


def log_of_1_plus(x: Number) -> Number:
    """log(1 + x) as XLA computes it: a quotient of polynomials near 0, the series of log elsewhere."""
    x2 = x * x
    p = polynomial(
        x, 4.5270000862445199635215e-5, 4.9854102823193375972212e-1, 6.5787325942061044846969,
        2.9911919328553073277375e1, 6.0949667980987787057556e1, 5.7112963590585538103336e1,
        2.0039553499201281259648e1,
    )  # fmt: skip
    q = polynomial(
        x, 1.0, 1.5062909083469192043167e1, 8.3047565967967209469434e1, 2.2176239823732856465394e2,
        3.0909872225312059774938e2, 2.1642788614495947685003e2, 6.0118660497603843919306e1,
    )  # fmt: skip
    ratio = p / q
    near_0 = x + mul_add(-0.5, x2, x * x2 * ratio)
    f, exponent = parts_of(1.0 + x)
    e = exponent.astype("float32")
    f2 = f * f
    f3 = f2 * f
    a = polynomial(f, 7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1)
    b = polynomial(f, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1)
    c = polynomial(f, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1)
    a = mul_add(mul_add(a, f3, b), f3, c)
    a = mul_add(a, f3, e * -2.12194440e-4)
    far = mul_add(e, 0.693359375, mul_add(f2, -0.5, f) + a)
    return select(x > -0.41421356237, near_0, far)


# ---- the gamma function ----

PI = 3.14159265358979324


# sin(pi f), for f from -1/2 to 1/2
@definition_of("float64")
def sine_of_turn(f: Number) -> Number:
    r = f * PI
    z = r * r
    return mul_add(r * z, polynomial(z, *alternating_series(21)), r)


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
