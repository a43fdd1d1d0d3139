"""sin, cos, tan, asin, acos, atan and atan2 of float32 and float64.

An angle of any size is reduced to an eighth of a turn; the inverse starts from the smaller one of two ratios.
Within 4 units in the last place.

Source: S. Moshier, Cephes Math Library (1989), single precision, https://www.netlib.org/cephes/, for the
method and the polynomials of sin and cos; other polynomials are fitted so that the largest relative error
is smallest. Those of float64 are series. Large angles: M. Payne and R. Hanek, SIGNUM Newsletter 18 (1983).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tinyjax.compile.kernel.functions.exponentials import shift
from tinyjax.compile.kernel.functions.notation import (
    Number,
    as_float,
    as_int,
    definition,
    definition_of,
    float_definition,
    mul_add,
    of_precision,
    polynomial,
    select,
    sqrt,
    truncate,
    where_any,
    with_sign_of,
)

PI, HALF_PI, QUARTER_PI = math.pi, math.pi / 2, math.pi / 4
PI_REST, HALF_PI_REST = -8.74227766e-8, -4.37113883e-8  # what is left of them as float32
REST = (-2.78275339e-8, 3.8981718325193755e-17)  # the same, as a part of the float32 or float64
ATAN_LIMIT = 0.41421356237309505  # tan(pi/8)
# pi/2 in parts of 11 or 33 bits, whose products with integers are exact
HALF_PI_SINGLE = (1.5703125, 4.837512969970703e-4, 7.549533620476723e-8, 2.563344e-12)
HALF_PI_DOUBLE = (1.5707963267341256, 6.0771005063039660e-11, 2.0222662487959506e-21)

# ---- large angles ----

# The binary digits of 2 / pi after 32 zeros, in words of 32
TWO_OVER_PI = (
    0x00000000, 0xA2F9836E, 0x4E441529, 0xFC2757D1, 0xF534DDC0, 0xDB629599, 0x3C439041, 0xFE5163AB,
)  # fmt: skip


# |x| / (pi/2) modulo 4, in units of 2**-62, with the sign of x: of the digits of 2 / pi only the 96 that can
# reach these are multiplied, which are others for each exponent of x.
@definition_of("float32", is_rare=True)
def quarters(x: Number) -> Number:
    bits = as_int(x)
    digits = ((bits & 0x007FFFFF) | 0x00800000).astype("uint64")
    first = ((bits >> 23) & 255) - 120
    word = first >> 5
    place = (first & 31).astype("uint64")
    pairs = [high << 32 | low for high, low in zip(TWO_OVER_PI, TWO_OVER_PI[1:])]
    start, rest = one_of(word, pairs[:5]), one_of(word, pairs[2:])
    upper = start << place | rest >> (64 - place)
    lower = (rest << place) >> 32
    product = (digits * upper + ((digits * lower) >> 32)).astype("int64")
    return select(bits < 0, -product, product)


def one_of(number: Number, choices: Sequence[int]) -> Number:
    """choices[number], 64 bits; the last one for numbers that are no place in it."""
    *others, last = map(np.uint64, choices)
    chosen: Number | np.uint64 = last
    for place, choice in enumerate(others):
        chosen = select(number == place, choice, chosen)
    assert isinstance(chosen, Number)
    return chosen


def far_angle(x: Number) -> tuple[Number, Number]:
    """As near_angle, for all numbers. The rest of the angle in two parts, the first of 12 digits."""
    turned = quarters(x)
    quarter = (turned + 2**61) >> 62
    rest = turned - (quarter << 62)
    high = as_float(as_int(rest.astype("float32")) & -0x1000)
    low = (rest - truncate(high, "int64")).astype("float32")
    unit = 2.0**-62
    r = mul_add(high, 1.5703125 * unit, mul_add(high, 4.83826792e-4 * unit, low * (HALF_PI * unit)))
    return quarter.astype("int32"), select(abs(x) < math.inf, r, math.nan)


# ---- sin, cos, tan ----


def near_angle(x: Number) -> tuple[Number, Number]:
    """An integer whose last bits are those of n, the nearest integer to x / (pi/2), and x - n pi/2."""
    m = mul_add(x, 2.0 / math.pi, shift(x))
    n = m - shift(x)
    r = x
    for part in of_precision(x, HALF_PI_SINGLE, HALF_PI_DOUBLE):
        r = mul_add(n, -part, r)
    return as_int(m), r


def angle(x: Number) -> list[Number]:
    is_far = ~(abs(x) <= 1e4)
    return where_any(is_far, lambda: far_angle(x), near_angle(x))


def sine(quarter: Number, r: Number) -> Number:
    """sin(r + quarter * pi / 2): by the quarter, a polynomial for sin(r) or one for cos(r), and its sign."""
    z = r * r
    s = polynomial(z, *of_precision(r, SIN, alternating_series(19)))
    s = mul_add(s * z, r, r)
    c = of_precision(r, cosine_single, cosine_double)(z)
    y = select((quarter & 1) != 0, c, s)
    return as_float(as_int(y) ^ ((quarter & 2) << of_precision(r, 30, 62)))


def cosine_single(z: Number) -> Number:
    """cos of the square root; that of float32 has the term -z / 2 apart, so that little is lost."""
    return mul_add(polynomial(z, *COS) * z, z, -0.5 * z) + 1.0


def cosine_double(z: Number) -> Number:
    return mul_add(polynomial(z, *alternating_series(20)), z, 1.0)


SIN = (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
COS = (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)


def alternating_series(last: int) -> list[float]:
    """1 / last!, and every second one down to 1 / 2! or 1 / 3!, with their signs in sin and cos"""
    return [(-1) ** (n // 2) / math.factorial(n) for n in range(last, 1, -2)]


@definition
def sin(x: Number) -> Number:
    quarter, r = angle(x)
    y = sine(quarter, r)
    return select(x == 0.0, x, y)


@definition
def cos(x: Number) -> Number:
    quarter, r = angle(x)
    return sine(quarter + 1, r)


# tan(r), or -1 / tan(r) after an odd number of quarters
@definition
def tan(x: Number) -> Number:
    quarter, r = angle(x)
    z = r * r
    p = polynomial(
        z, 9.46663413e-3, 2.97270273e-3, 2.45293435e-2, 5.33809513e-2, 1.33392036e-1, 3.33331406e-1
    )  # fmt: skip
    t = mul_add(r * z, p, r)
    y = select((quarter & 1) != 0, -1.0 / t, t)
    return select(x == 0.0, x, y)


# ---- their inverses ----


# asin(s) for s from 0 to 1/2, with z = s * s. Beyond, asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2)).
@definition
def small_asin(s: Number, z: Number) -> Number:
    p = polynomial(
        z, 3.75652164e-2, 1.44025963e-2, 3.18176150e-2, 4.45157178e-2, 7.50051066e-2, 1.66666597e-1
    )  # fmt: skip
    return mul_add(s * z, p, s)


@definition
def asin(x: Number) -> Number:
    size = abs(x)
    is_far = size > 0.5
    z = select(is_far, mul_add(-0.5, size, 0.5), size * size)
    t = small_asin(select(is_far, sqrt(z), size), z)
    y = select(is_far, HALF_PI - (t + t - HALF_PI_REST), t)
    return with_sign_of(y, x)


@definition
def acos(x: Number) -> Number:
    size = abs(x)
    is_far = size > 0.5
    z = select(is_far, mul_add(-0.5, size, 0.5), size * size)
    t = small_asin(select(is_far, sqrt(z), x), z)
    far = select(x < 0.0, PI - (t + t - PI_REST), t + t)
    return select(is_far, far, HALF_PI - (t - HALF_PI_REST))


# atan(t) for t from -tan(pi/8) to tan(pi/8). Beyond, atan(x) = pi/4 + atan((x - 1) / (x + 1)), and for
# large x, pi/2 + atan(-1 / x).
@float_definition
def small_atan(t: Number) -> Number:
    z = t * t
    p = polynomial(z, *of_precision(t, ATAN, [(-1) ** n / (2 * n + 1) for n in range(21, 0, -1)]))
    return mul_add(t * z, p, t)


ATAN = (-6.08345345e-2, 1.05960019e-1, -1.42438486e-1, 1.99984893e-1, -3.33333164e-1)


@float_definition
def atan(x: Number) -> Number:
    size = abs(x)
    is_large = size > 2.4142135623730950
    is_middle = size > ATAN_LIMIT
    above = select(is_large, -1.0, select(is_middle, size - 1.0, size))
    below = select(is_large, size, select(is_middle, size + 1.0, 1.0))
    start = select(is_large, HALF_PI, select(is_middle, x.dtype.type(QUARTER_PI), 0.0))
    y = start + mul_add(start, of_precision(x, *REST), small_atan(above / below))
    return with_sign_of(y, x)


# The angle of the smaller size over the larger, and from there to that of y over x. The scale keeps the
# sum of two large sizes finite, and the difference of two small ones from being 0.
@float_definition
def atan2(y: Number, x: Number) -> Number:
    up = abs(y)
    along = abs(x)
    is_steep = up > along
    most = select(is_steep, up, along)
    least = select(is_steep, along, up)
    is_middle = (least > ATAN_LIMIT * most) | (least == math.inf)
    scale = select(most > 1.0, 0.25, x.dtype.type(of_precision(x, 2.0**24, 2.0**53)))
    difference = select(least == most, 0.0, least * scale - most * scale)
    above = select(is_middle, difference, least)
    far_below = select(most == 0.0, 1.0, most)
    below = select(is_middle, least * scale + most * scale, far_below)
    small = small_atan(above / below)
    rest = of_precision(x, 2.18556941e-8, -3.0616169978683830e-17)
    a = select(is_middle, QUARTER_PI + (small - rest), small)
    is_left = as_int(x) < 0
    start = select(is_steep, HALF_PI, select(is_left, x.dtype.type(PI), 0.0))
    a = select(is_steep, -a, a)
    a = select(is_left, -a, a)
    a = start + mul_add(start, of_precision(x, *REST), a)
    return select((x != x) | (y != y), x + y, with_sign_of(a, y))
