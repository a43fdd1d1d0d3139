"""The regularized incomplete beta function of float32, computed in float64 and rounded once.

A continued fraction, of x or of 1 - x, whichever needs fewer terms: within 2 units in the last place for a
and b up to 1e4, within 100 up to 1e9.

Source: https://dlmf.nist.gov/8.17.E22, by Lentz's method (3.10.iii)
"""

from __future__ import annotations

import math

from tinyjax.compile.kernel.functions.exponentials import exp, log_double
from tinyjax.compile.kernel.functions.notation import (
    Number,
    clamp,
    definition,
    maximum,
    repeat,
    select,
)
from tinyjax.compile.kernel.functions.special import lgamma_float64

PRECISION = 1e-10  # a factor that is so near to 1 is the last
TERMS = 100_000.0


def fraction(a: Number, b: Number, x: Number) -> Number:
    """1 / (1 + d1 / (1 + d2 / (1 + ...))), as a product of c d; a round has two of its parts."""

    def part(top: Number, out: Number, c: Number, d: Number) -> list[Number]:
        c, d = 1.0 + top / c, 1.0 / (1.0 + top * d)
        return [out * (c * d), c, d]

    def step(n: Number, out: Number, c: Number, d: Number, _: Number) -> list[Number]:
        n2 = a + 2.0 * n
        before = out
        out, c, d = part(n * (b - n) * x / ((n2 - 1.0) * n2), out, c, d)
        out, c, d = part(-(a + n) * (a + b + n) * x / (n2 * (n2 + 1.0)), out, c, d)
        return [n + 1.0, out, c, d, abs(out - before) - PRECISION * abs(out)]

    one = x.writer.constant(1, x.dtype)
    d = 1.0 / (1.0 - (a + b) * x / (a + 1.0))
    goes_on = lambda n, out, c, d, change: (change > 0.0) & (n < TERMS)  # noqa: E731
    return repeat("fraction", goes_on, step, one, d, one, d, one)[1]


@definition
def regularized_incomplete_beta(a: Number, b: Number, x: Number) -> Number:
    p, q = (clamp(each.astype("float64"), 1e-60, 1e39) for each in (a, b))
    t = x.astype("float64")
    is_inside = (t > 0.0) & (t < 1.0)
    t = select(is_inside, t, 0.5)
    is_left = t * (p + q + 2.0) < p + 1.0
    p, q = select(is_left, p, q), select(is_left, q, p)
    rest = 1.0 - t
    t, rest = select(is_left, t, rest), select(is_left, rest, t)
    logarithm = p * log_double(t) + q * log_double(rest) + lgamma_float64(p + q)
    unit = exp(logarithm - lgamma_float64(p) - lgamma_float64(q))
    part = unit * fraction(p, q, t) / p
    found = select(is_left, part, maximum(1.0 - part, 0.0)).astype("float32")
    usual = select(is_inside, found, x)  # 0 at 0, 1 at 1
    # Where all of the mass is at 0, and at 1
    at_0, at_1 = (a == 0.0) | (b == math.inf), (b == 0.0) | (a == math.inf)
    all_at_0, all_at_1 = (is_all.astype("float32") for is_all in (x > 0.0, x == 1.0))
    value = select(at_0, all_at_0, select(at_1, all_at_1, usual))
    is_valid = (a >= 0.0) & (b >= 0.0) & (x >= 0.0) & (x <= 1.0) & ~(at_0 & at_1)
    return select(is_valid, value, math.nan)
