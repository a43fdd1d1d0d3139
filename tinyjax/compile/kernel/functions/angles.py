"""sin, cos, tan, asin, acos, atan and atan2 of float32 and float64.

An angle is reduced to an eighth of a turn, a large one by the driver; the inverse starts from the smaller one
of two ratios. Within 4 units in the last place.

Source: S. Moshier, Cephes Math Library (1989), single precision, https://www.netlib.org/cephes/, for the
method and the polynomials of sin and cos; other polynomials are fitted so that the largest relative error
is smallest. Those of float64 are series.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tinyjax.compile.kernel.functions.exponentials import shift
from tinyjax.compile.kernel.functions.notation import (
    Number,
    as_float,
    as_int,
    definition_of,
    float_definition,
    mul_add,
    of_precision,
    op,
    polynomial,
    select,
    sqrt,
    where_any,
    with_sign_of,
)

PI, HALF_PI, QUARTER_PI = math.pi, math.pi / 2, math.pi / 4
# What is left of them as float32 or float64, as a part of that
REST = (-2.78275339e-8, 3.8981718325193755e-17)
ATAN_LIMIT = 0.41421356237309505  # tan(pi/8)
# pi/2 in parts of 11 or 33 bits, whose products with integers are exact
HALF_PI_SINGLE = (1.5703125, 4.837512969970703e-4, 7.549533620476723e-8, 2.563344e-12)
HALF_PI_DOUBLE = (1.5707963267341256, 6.0771005063039660e-11, 2.0222662487959506e-21)
MAX_NEAR = (1e4, 1e6)  # the largest angles for which they are

# ---- sin, cos, tan ----


def near_angle(x: Number) -> tuple[Number, Number]:
    """An integer whose last bits are those of n, the nearest integer to x / (pi/2), and x - n pi/2."""
    m = mul_add(x, 2.0 / math.pi, shift(x))
    n = m - shift(x)
    r = x
    for part in of_precision(x, HALF_PI_SINGLE, HALF_PI_DOUBLE):
        r = mul_add(n, -part, r)
    return as_int(m), r


def of_angle(x: Number, far: Callable[..., Number], near: Callable[..., Number]) -> Number:
    """`far` of a large angle, else `near` of near_angle's results."""
    is_far = ~(abs(x) <= of_precision(x, *MAX_NEAR))
    return where_any(is_far, lambda: [far(x)], [near(*near_angle(x))])[0]


# A call in the machine's code: copied to where it is called, it takes registers from what stands there.
@definition_of("float32", "float64", is_rare=True)
def far_sin(x: Number) -> Number:
    return of_more_digits("sin", x)


@definition_of("float32", "float64", is_rare=True)
def far_cos(x: Number) -> Number:
    return of_more_digits("cos", x)


def of_more_digits(name: str, x: Number) -> Number:
    """A function of a float32, computed in float64, or of a float64, by the driver."""
    if x.dtype == np.float64:
        return op(f"{name}_of_driver", x)
    return op(name, x.astype("float64")).astype("float32")


def sine(quarter: Number, r: Number) -> Number:
    """sin(r + quarter * pi / 2): by the quarter, a polynomial for sin(r) or one for cos(r), and its sign."""
    z = r * r
    s = polynomial(z, *of_precision(r, SIN, alternating_series(19)))
    s = mul_add(s * z, r, r)
    c = polynomial(z, *of_precision(r, COS, alternating_series(20)[:-1]))
    c = mul_add(c * z, z, -0.5 * z) + 1.0  # with -z / 2 apart, little is lost
    y = select((quarter & 1) != 0, c, s)
    return as_float(as_int(y) ^ ((quarter & 2) << of_precision(r, 30, 62)))


SIN = (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
COS = (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)


def alternating_series(last: int) -> list[float]:
    """1 / last!, and every second one down to 1 / 2! or 1 / 3!, with their signs in sin and cos"""
    return [(-1) ** (n // 2) / math.factorial(n) for n in range(last, 1, -2)]


@float_definition
def sin(x: Number) -> Number:
    y = of_angle(x, far_sin, sine)
    return select(x == 0.0, x, y)


@float_definition
def cos(x: Number) -> Number:
    return of_angle(x, far_cos, lambda quarter, r: sine(quarter + 1, r))


@float_definition
def tan(x: Number) -> Number:
    return sin(x) / cos(x)


# ---- their inverses ----

ATAN = (-6.08345345e-2, 1.05960019e-1, -1.42438486e-1, 1.99984893e-1, -3.33333164e-1)


# The angle of the smaller size over the larger, and from there to that of y over x. Above tan(pi/8) it is
# pi/4 and that of their difference over their sum. The scale keeps the sum of two large sizes finite, and the
# difference of two small ones from being 0.
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
    t = above / below  # from -tan(pi/8) to tan(pi/8)
    z = t * t
    p = polynomial(z, *of_precision(x, ATAN, [(-1) ** n / (2 * n + 1) for n in range(21, 0, -1)]))
    small = mul_add(t * z, p, t)
    rest = of_precision(x, 2.18556941e-8, -3.0616169978683830e-17)
    a = select(is_middle, QUARTER_PI + (small - rest), small)
    is_left = as_int(x) < 0
    start = select(is_steep, HALF_PI, select(is_left, x.dtype.type(PI), 0.0))
    a = select(is_steep, -a, a)
    a = select(is_left, -a, a)
    a = start + mul_add(start, of_precision(x, *REST), a)
    return select((x != x) | (y != y), x + y, with_sign_of(a, y))


@float_definition
def atan(x: Number) -> Number:
    return atan2(x, 1.0)


@float_definition
def asin(x: Number) -> Number:
    return atan2(x, sqrt((1.0 - x) * (1.0 + x)))


@float_definition
def acos(x: Number) -> Number:
    return atan2(sqrt((1.0 - x) * (1.0 + x)), x)
