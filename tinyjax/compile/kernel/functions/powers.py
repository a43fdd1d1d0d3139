"""Powers of float64, within 1 unit in the last place: their logarithm is a sum of two numbers.

Source: https://dlmf.nist.gov/4; the logarithm: FreeBSD's e_pow.c (Sun Microsystems, 1993)
"""

from __future__ import annotations

import math

import numpy as np

from tinyjax.compile.kernel.functions.exponentials import (
    power_of_size,
    series,
    shift,
    times_power,
)
from tinyjax.compile.kernel.functions.notation import (
    Number,
    as_float,
    as_int,
    clamp,
    definition_of,
    mul_add,
    polynomial,
    select,
)


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
    m = c + (shift(c) + 1022.0)
    rest = t_high - (m - (shift(c) + 1022.0))
    h = high(t_low + rest)
    u = h * 6.93147182464599609375e-01
    v = (t_low - (h - rest)) * 6.93147180559945286227e-01 + h * -1.90465429995776804525e-09
    r = u + v
    lost = v - (r - u)
    y = mul_add(polynomial(r, *series(2, 13)), r * r, r) + mul_add(lost, r, lost) + 1.0
    usual = times_power(y, m, c < -1000.0)
    return select(t >= 1024.0, np.float64(math.inf), select(t < -1080.0, 0.0, usual))


@definition_of("float64")
def pow_float64(x: Number, y: Number) -> Number:
    log_high, log_low = log2_in_two(abs(x))
    c = clamp(y, -(2.0**70), 2.0**70)
    c_high = high(c)
    usual = exp2_of_sum(c_high * log_high, (c - c_high) * log_high + c * log_low)
    return power_of_size(x, y, usual)
