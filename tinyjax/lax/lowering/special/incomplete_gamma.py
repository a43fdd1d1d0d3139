"""The incomplete gamma functions of float32, and their derivatives by `a`, computed in float64.

P is a series up to x = max(1, a), and 1 - P a continued fraction from there on. For a large `a` both would
need many terms, and P is nearly the normal distribution's. Within 2 units in the last place for results that
are not tiny; for a > 1e6 six digits are right, and four where the result is nearly 0.

Source: https://dlmf.nist.gov/8.11.E4, 8.9.E2 by Lentz's method (3.10.iii), and 8.12
"""

from __future__ import annotations

import math

import numpy as np

from tinyjax.compile.kernel.functions.exponentials import exp, log_double
from tinyjax.compile.kernel.functions.notation import (
    Number,
    clamp,
    definition,
    maximum,
    polynomial,
    repeat,
    select,
    sqrt,
)
from tinyjax.compile.kernel.functions.special import digamma_float64, erfc, lgamma_float64

PRECISION = 1e-12  # a term that changes a sum by less is the last
LARGE = 1e6


def of_series(a: Number, x: Number, is_wanted: Number) -> list[Number]:
    """P in units of x**a exp(-x) / gamma(a + 1), and the derivative by `a` of that number."""

    def step(*state: Number) -> list[Number]:
        term, d_term, total, d_total, n = state
        factor = x / (n + 1.0)
        d_term = (d_term - term / (n + 1.0)) * factor
        term = term * factor
        return [term, d_term, total + term, d_total + d_term, n + 1.0]

    zero, first = a.writer.constant(0, a.dtype), select(is_wanted, np.float64(1), 0.0)
    goes_on = lambda term, d_term, total, d_total, n: term > PRECISION * total  # noqa: E731
    return repeat("series", goes_on, step, first, zero, first, zero, a)[2:4]


def of_fraction(a: Number, x: Number, is_wanted: Number, has_slope: bool) -> list[Number]:
    """1 - P in units of x**a exp(-x) / gamma(a), and the derivative by `a` of that number: the product of
    c d, where c and d are those of Lentz."""

    def step(*state: Number) -> list[Number]:
        out, d_out, c, d_c, d, d_d, n, _ = state
        top, b = n * (a - n), x + 1.0 - a + 2.0 * n
        by_c = 1.0 / c
        d_c = (n - top * d_c * by_c) * by_c - 1.0
        c = b + top * by_c
        slope = n * d + top * d_d - 1.0
        d = 1.0 / (b + top * d)
        d_d = -d * d * slope
        factor, d_factor = c * d, d_c * d + c * d_d
        change = abs(factor - 1.0) + abs(d_factor) if has_slope else abs(factor - 1.0)
        d_out = d_out * factor + out * d_factor
        return [out * factor, d_out, c, d_c, d, d_d, n + 1.0, change]

    one, d = a.writer.constant(1, a.dtype), 1.0 / select(is_wanted, x + 1.0 - a, 1.0)
    zero, huge = (a.writer.constant(value, a.dtype) for value in (0, 1e300))
    first = d, d * d, huge, zero, d, d * d, one, select(is_wanted, one, 0.0)
    return repeat("fraction", lambda *parts: parts[-1] > PRECISION, step, *first)[:2]


def deviation(a: Number, x: Number) -> Number:
    """For a large `a`: eta, where eta**2 / 2 = x / a - 1 - log(x / a), and P is 0 or 1 far from x = a."""
    mu = clamp((x - a) / a, -0.05, 0.05)
    return mu * polynomial(mu, -73.0 / 540, 7.0 / 36, -1.0 / 3, 1.0)


def within(a: Number, x: Number) -> tuple[Number, Number, Number, Number]:
    """a and x as positive float64s, and whether the series and the fraction are for them."""
    a, x = clamp(a.astype("float64"), 1e-60, 1e39), clamp(x.astype("float64"), 1e-60, 1e40)
    is_left = x <= maximum(a, 1.0)
    return a, x, is_left & (a <= LARGE), ~is_left & (a <= LARGE)


def density(a: Number, x: Number) -> Number:
    """x**a exp(-x) / gamma(a)"""
    return exp(a * log_double(x) - x - lgamma_float64(a))


def probability(a: Number, x: Number, is_upper: bool) -> Number:
    s, t, by_series, by_fraction = within(a, x)
    unit = density(s, t)
    lower = unit * of_series(s, t, by_series)[0] / s
    upper = unit * of_fraction(s, t, by_fraction, has_slope=False)[0]
    eta = deviation(s, t)
    z = eta * sqrt(0.5 * s)
    z, sign = (z, 1.0) if is_upper else (-z, -1.0)
    moved = exp(-z * z) / sqrt(2.0 * math.pi * s) * (eta / 12.0 - 1.0 / 3)
    normal = 0.5 * erfc(z.astype("float32")).astype("float64") + sign * moved
    usual = (maximum(1.0 - lower, 0.0), upper) if is_upper else (lower, maximum(1.0 - upper, 0.0))
    found = select(by_series, usual[0], select(by_fraction, usual[1], normal)).astype("float32")
    of_positive = select(x == 0.0, float(is_upper), select(a == 0.0, float(not is_upper), found))
    both = (a == 0.0) & (x == 0.0) | (a == math.inf) & (x == math.inf)
    return select((a >= 0.0) & (x >= 0.0) & ~both, of_positive, math.nan)


@definition
def igamma(a: Number, x: Number) -> Number:
    return probability(a, x, is_upper=False)


@definition
def igammac(a: Number, x: Number) -> Number:
    return probability(a, x, is_upper=True)


def slope(a: Number, x: Number) -> Number:
    """The derivative of P by `a`, in units of the density x**a exp(-x) / gamma(a)."""
    s, t, by_series, by_fraction = within(a, x)
    total, d_total = of_series(s, t, by_series)
    out, d_out = of_fraction(s, t, by_fraction, has_slope=True)
    log_x = log_double(t)
    psi = digamma_float64(select(by_series, s + 1.0, s))
    mu = (t - s) / s
    half_eta_squared = mu - (log_x - log_double(s))
    normal = (select(mu == 0.0, 0.0, half_eta_squared / mu) - 1.0) / s - 1.0 / (6.0 * s * t)
    of_left, of_right = (total * (log_x - psi) + d_total) / s, -(out * (log_x - psi) + d_out)
    return select(by_series, of_left, select(by_fraction, of_right, normal))


def of_numbers(found: Number, a: Number, x: Number) -> Number:
    """0 at x = 0, and NaN where a or x is none that these functions have a derivative for."""
    is_valid = (a > 0.0) & (x > 0.0) & (a < math.inf) & (x < math.inf)
    of_positive = select(is_valid, found.astype("float32"), math.nan)
    return select((a > 0.0) & (x == 0.0), 0.0, of_positive)


@definition
def igamma_grad_a(a: Number, x: Number) -> Number:
    s, t, *_ = within(a, x)
    return of_numbers(slope(a, x) * density(s, t), a, x)


@definition
def random_gamma_grad(a: Number, x: Number) -> Number:
    return of_numbers(-x.astype("float64") * slope(a, x), a, x)
