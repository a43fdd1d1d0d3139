"""exp, log, pow, sin, tanh and others of float64, which a driver's own functions compute one by one.

The methods are those of float32. Polynomials are series, long enough for all digits, and an angle of more
than 100,000 goes to the driver's function. Within 4 units in the last place, powers within 1: their logarithm
is a sum of two numbers.

Source: https://dlmf.nist.gov/4 for the series; W. Cody and W. Waite, "Software Manual for the Elementary
Functions" (1980), for the reductions; FreeBSD's e_pow.c (Sun Microsystems, 1993) for powers' logarithms
"""

from __future__ import annotations

import math

import numpy as np

from tinyjax.compile.kernel.functions.exponentials import SHIFT_DOUBLE, log_double, power_of_size
from tinyjax.compile.kernel.functions.notation import (
    Number,
    as_float,
    as_int,
    clamp,
    definition_of,
    mul_add,
    op,
    polynomial,
    select,
    sqrt,
    where_any,
    with_sign_of,
)

double = definition_of("float64")
HALF_PI = (1.5707963267341256, 6.0771005063039660e-11, 2.0222662487959506e-21)  # of 33 bits each
PI_4, PI_4_REST = 0.78539816339744831, 3.0616169978683830e-17  # and what there is left of it
LARGEST = 710.475860073944  # from there on sinh and cosh are larger than all floats
MAX_NEAR = 1e5  # the largest angle whose products with HALF_PI's parts are exact


def factorials(last: int, first: int) -> list[float]:
    """1 / last!, and so on down to 1 / first!"""
    return [1.0 / math.factorial(n) for n in range(last, first - 1, -1)]


# ---- exponentials ----


def reduced(c: Number, bias: float) -> tuple[Number, Number]:
    """As reduce_argument of float32."""
    m = mul_add(c, 1.4426950408889634, SHIFT_DOUBLE + bias)
    n = m - (SHIFT_DOUBLE + bias)
    return m, mul_add(n, -1.9082149292705877e-10, mul_add(n, -0.69314718036912382, c))


@double
def exp_float64(x: Number) -> Number:
    m, r = reduced(clamp(x, -746.0, 710.0), 1022.0)
    y = mul_add(polynomial(r, *factorials(13, 1)), r, 1.0)
    is_small = x < -700.0
    power = as_float((as_int(m) + select(is_small, np.int64(128), 0)) << 52)
    return y * power * select(is_small, np.float64(2.0**-127), 2.0)


# exp(x) / 2 for x from -700 to LARGEST
@double
def half_exp_float64(x: Number) -> Number:
    m, r = reduced(x, -1.0)
    y = mul_add(polynomial(r, *factorials(13, 1)), r, 1.0)
    return as_float(as_int(y) + (as_int(m) << 52))


@double
def expm1_float64(x: Number) -> Number:
    m, r = reduced(clamp(x, -40.0, 710.0), 1022.0)
    half_s = as_float(as_int(m) << 52)
    y = mul_add(polynomial(r, *factorials(14, 2)), r * r, r)
    half_y = mul_add(half_s, y, half_s - 0.5)
    return select(abs(x) < 1e-300, x, half_y + half_y)  # half of the smallest numbers would be 0


@double
def logistic_float64(x: Number) -> Number:
    e = exp_float64(-abs(x))
    return select(x < 0.0, e, 1.0) / (1.0 + e)


@double
def tanh_float64(x: Number) -> Number:
    size = abs(x)
    e = expm1_float64(-2.0 * select(size < 20.0, size, 20.0))
    return with_sign_of(select(x != x, x, -e / (e + 2.0)), x)


@double
def sinh_float64(x: Number) -> Number:
    size = abs(x)
    c = select(size < LARGEST, size, LARGEST)
    z = c * c
    p = polynomial(z, *(1.0 / math.factorial(n) for n in range(17, 1, -2)))
    half_e = half_exp_float64(c)
    far = half_e - 0.25 / half_e
    y = select(size < LARGEST, select(size < 1.0, mul_add(c * z, p, c), far), size + math.inf)
    return with_sign_of(y, x)


@double
def cosh_float64(x: Number) -> Number:
    size = abs(x)
    half_e = half_exp_float64(select(size < LARGEST, size, LARGEST))
    return select(size < LARGEST, half_e + 0.25 / half_e, size + math.inf)


# ---- logarithms ----


@double
def log_float64(x: Number) -> Number:
    is_small = x < 2.2250738585072014e-308
    near = log_double(select(is_small, x * 2.0**54, x))
    y = select(is_small, near - 37.429947750237048, near)
    end = select(x > 0.0, x, select(x == 0.0, np.float64(-math.inf), math.nan))
    return select((x > 0.0) & (x < math.inf), y, end)


# log(u) of the rounded sum u, and what was lost in that sum
@double
def log1p_float64(x: Number) -> Number:
    u = 1.0 + x
    lost = x - (u - 1.0)
    is_usual = (x > -1.0) & (x < math.inf)
    end = select(x > 0.0, x, select(x == -1.0, np.float64(-math.inf), math.nan))
    y = select(is_usual, log_double(select(is_usual, u, 1.0)) + lost / u, end)
    return select(x == 0.0, x, y)


# ---- powers ----


def high(x: Number) -> Number:
    """The upper 21 bits of a number's fraction: products of two such numbers are exact."""
    return as_float(as_int(x) & -(2**32))


def log2_in_two(x: Number) -> tuple[Number, Number]:
    """log2(x) of a positive x as a sum: the upper bits, and the rest."""
    is_small = x < 2.2250738585072014e-308
    bits = as_int(select(is_small, x * 2.0**54, x)) - 0x3FEBB67AE8584CAA  # of sqrt(3) / 2
    n = (bits >> 52).astype("float64") - select(is_small, np.float64(54.0), 0.0)
    a = as_float((bits & 0x000FFFFFFFFFFFFF) + 0x3FEBB67AE8584CAA)
    is_upper = a > 1.2247448713915890  # nearer to 1.5 than to 1
    base = select(is_upper, np.float64(1.5), 1.0)
    u, v = a - base, 1.0 / (a + base)
    s = u * v
    s_high, t_high = high(s), high(a + base)
    t_low = a - (t_high - base)
    s_low = v * ((u - s_high * t_high) - s_high * t_low)
    z = s * s
    p = polynomial(
        z, 2.06975017800338417784e-01, 2.30660745775561754067e-01, 2.72728123808534006489e-01,
        3.33333329818377432918e-01, 4.28571428578550184252e-01, 5.99999999999994648725e-01,
    )  # fmt: skip
    r = z * z * p + s_low * (s_high + s)
    z_high = s_high * s_high
    t_high = high(3.0 + z_high + r)
    t_low = r - ((t_high - 3.0) - z_high)
    u, v = s_high * t_high, s_low * t_high + t_low * s
    p_high = high(u + v)  # 1.5 log(a / base)
    p_low = v - (p_high - u)
    q_high = 9.61796700954437255859e-01 * p_high
    q_low = -7.02846165095275826516e-09 * p_high + p_low * 9.61796693925975554329e-01
    q_low = q_low + select(is_upper, np.float64(1.35003920212974897128e-08), 0.0)
    log_base = select(is_upper, np.float64(5.84962487220764160156e-01), 0.0)
    y_high = high(((q_high + q_low) + log_base) + n)
    return y_high, q_low - (((y_high - n) - log_base) - q_high)


def exp2_of_sum(t_high: Number, t_low: Number) -> Number:
    """2**(t_high + t_low), where t_high has upper bits only."""
    t = t_high + t_low
    c = clamp(t, -1080.0, 1024.0)
    is_small = c < -1000.0
    m = c + (SHIFT_DOUBLE + 1022.0)
    rest = t_high - (m - (SHIFT_DOUBLE + 1022.0))
    h = high(t_low + rest)
    u = h * 6.93147182464599609375e-01
    v = (t_low - (h - rest)) * 6.93147180559945286227e-01 + h * -1.90465429995776804525e-09
    r = u + v
    lost = v - (r - u)
    y = mul_add(polynomial(r, *factorials(13, 2)), r * r, r) + mul_add(lost, r, lost) + 1.0
    power = as_float((as_int(m) + select(is_small, np.int64(128), 0)) << 52)
    usual = y * power * select(is_small, np.float64(2.0**-127), 2.0)
    return select(t >= 1024.0, np.float64(math.inf), select(t < -1080.0, 0.0, usual))


@double
def pow_float64(x: Number, y: Number) -> Number:
    log_high, log_low = log2_in_two(abs(x))
    c = clamp(y, -(2.0**70), 2.0**70)
    c_high = high(c)
    usual = exp2_of_sum(c_high * log_high, (c - c_high) * log_high + c * log_low)
    return power_of_size(x, y, usual)


# ---- angles ----


def near_angle(x: Number) -> tuple[Number, Number]:
    """As near_angle of float32, with pi/2 in three parts."""
    m = mul_add(x, 2.0 / math.pi, SHIFT_DOUBLE)
    n = m - SHIFT_DOUBLE
    r = x
    for part in HALF_PI:
        r = mul_add(n, -part, r)
    return as_int(m), r


def sine(quarter: Number, r: Number) -> Number:
    """As sine of float32: sin(r + quarter * pi / 2)."""
    z = r * r
    s, c = (
        polynomial(z, *((-1) ** (n // 2) / math.factorial(n) for n in range(last, 1, -2)))
        for last in (19, 20)
    )
    odd, even = mul_add(s * z, r, r), mul_add(c, z, 1.0)
    y = select((quarter & 1) != 0, even, odd)
    return as_float(as_int(y) ^ ((quarter & 2) << 62))


@double
def sin_float64(x: Number) -> Number:
    quarter, r = near_angle(x)
    is_far = ~(abs(x) <= MAX_NEAR)
    (y,) = where_any(is_far, lambda: [op("sin_of_driver", x)], [sine(quarter, r)])
    return select(x == 0.0, x, y)


@double
def cos_float64(x: Number) -> Number:
    quarter, r = near_angle(x)
    is_far = ~(abs(x) <= MAX_NEAR)
    return where_any(is_far, lambda: [op("cos_of_driver", x)], [sine(quarter + 1, r)])[0]


@double
def tan_float64(x: Number) -> Number:
    return sin_float64(x) / cos_float64(x)


def small_atan(t: Number) -> Number:
    """atan(t) for t from -tan(pi/8) to tan(pi/8)"""
    z = t * t
    p = polynomial(z, *((-1) ** n / (2 * n + 1) for n in range(21, 0, -1)))
    return mul_add(t * z, p, t)


@double
def atan_float64(x: Number) -> Number:
    size = abs(x)
    is_large = size > 2.4142135623730950
    is_middle = size > 0.41421356237309505
    above = select(is_large, -1.0, select(is_middle, size - 1.0, size))
    below = select(is_large, size, select(is_middle, size + 1.0, 1.0))
    eighths = select(is_large, 2.0, select(is_middle, np.float64(1.0), 0.0))
    y = mul_add(eighths, PI_4, mul_add(eighths, PI_4_REST, small_atan(above / below)))
    return with_sign_of(y, x)


# The angle of the smaller size over the larger, and from there to that of y over x
@double
def atan2_float64(y: Number, x: Number) -> Number:
    up, along = abs(y), abs(x)
    is_steep = up > along
    most, least = select(is_steep, up, along), select(is_steep, along, up)
    a = atan_float64(select(least == most, select(most == 0.0, most, 1.0), least / most))
    a = select(is_steep, 2.0 * PI_4 - (a - 2.0 * PI_4_REST), a)
    a = select(as_int(x) < 0, 4.0 * PI_4 - (a - 4.0 * PI_4_REST), a)
    return select((x != x) | (y != y), x + y, with_sign_of(a, y))


@double
def asin_float64(x: Number) -> Number:
    return atan2_float64(x, sqrt((1.0 - x) * (1.0 + x)))


@double
def acos_float64(x: Number) -> Number:
    return atan2_float64(sqrt((1.0 - x) * (1.0 + x)), x)
