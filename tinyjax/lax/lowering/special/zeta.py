"""Hurwitz's zeta function and polygamma of float32, computed in float64 and rounded once.

Four terms of the sum of (q + k)**-x, and the integral and derivatives of the others, by Euler and Maclaurin:
within 2 units in the last place.

Source: https://dlmf.nist.gov/25.11.E43 and 25.11.E12
"""

from __future__ import annotations

import math

import numpy as np

from tinyjax.compile.kernel.functions.exponentials import exp, log_double, shift
from tinyjax.compile.kernel.functions.notation import (
    Number,
    clamp,
    definition,
    definition_of,
    maximum,
    repeat,
    select,
    where_any,
)
from tinyjax.compile.kernel.functions.special import (
    digamma,
    distance_from_integer,
    lgamma_float64,
)

TERMS = 4
BERNOULLI = (1.0 / 12, -1.0 / 720, 1.0 / 30240, -1.0 / 1209600)  # B_2k / (2k)!


def is_integer(x: Number) -> Number:
    """Of float64s from 0 to 2**51."""
    return (x + shift(x)) - shift(x) == x


# Terms left of 0 are added first, each with the one that is as far right of it: for an odd x these are almost
# equal and opposite in sign. Left of 0, q**-x is a number for an integer x alone.
@definition_of("float64", is_rare=True)
def zeta_double(x: Number, q: Number) -> Number:
    s = clamp(x, 1.0, 2.0**51)
    is_pole = (q <= 0.0) & (distance_from_integer(q) == 0.0)
    sign = select(is_integer(0.5 * s), np.float64(1), -1.0)
    start = select(is_pole | (q != q), 1.0, q)
    distance = distance_from_integer(start)
    middle = select(
        distance < 0.0, distance + 0.5, distance - 0.5
    )  # of a term and its mirror image

    def pair(a: Number) -> Number:
        right, left = (exp(-s * log_double(x)) for x in (2.0 * middle - a, -a))
        return right + sign * left

    total, a = repeat(
        "left",
        lambda total, a: a < 0.0,
        lambda total, a: [total + pair(a), a + 1.0],
        select(q != q, q, 0.0),
        start,
    )
    a = select(start < 0.0, 2.0 * middle + 1.0 - start, a)
    for _ in range(TERMS):
        total = total + exp(-s * log_double(a))
        a = a + 1.0
    by_a = 1.0 / a
    rest, factor = a / (s - 1.0) + 0.5, s * by_a
    for k, number in enumerate(BERNOULLI):
        rest = rest + number * factor
        factor = factor * ((s + (2 * k + 1.0)) * by_a) * ((s + (2 * k + 2.0)) * by_a)
    found = total + maximum(rest * exp(-s * log_double(a)), 0.0)
    of_right = select(q == math.inf, 0.0, found)
    of_any = select(is_pole, math.inf, select((q < 0.0) & ~is_integer(s), math.nan, of_right))
    value = select(x < 1.0, math.nan, select(x == 1.0, math.inf, of_any))
    return select((x != x) | (q != q), math.nan, value)


@definition
def zeta(x: Number, q: Number) -> Number:
    return zeta_double(x.astype("float64"), q.astype("float64")).astype("float32")


# The m-th derivative of digamma is (-1)**(m + 1) m! zeta(m + 1, x), where m! is a float64.
@definition
def polygamma(m: Number, x: Number) -> Number:
    order = m.astype("float64") + 1.0
    size = exp(lgamma_float64(order)) * zeta_double(order, x.astype("float64"))
    is_even = is_integer(0.5 * order)
    found = select(is_even, size, -size).astype("float32")
    (found,) = where_any(m == 0.0, lambda: [digamma(x)], [found])
    return select((m >= 0.0) & (m <= 170.0) & is_integer(order), found, math.nan)
