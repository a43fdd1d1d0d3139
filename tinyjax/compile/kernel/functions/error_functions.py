"""erf, erfc and the inverse of erf, of float32.

The digits of small differences are kept by a second formula where the first one would cancel, and by a square
in two parts. erf and erfc are within 4 units in the last place.

Source: M. Shepherd and J. Laframboise, Mathematics of Computation 36 (1981), for erfc; the polynomials of
erf and erfc are fitted so that the largest error is smallest.
"""

from __future__ import annotations

import math

from tinyjax.compile.kernel.functions.exponentials import exp, half_exp
from tinyjax.compile.kernel.functions.logarithms import FRACTION, SQRT_HALF
from tinyjax.compile.kernel.functions.notation import (
    Number,
    as_float,
    as_int,
    definition,
    mul_add,
    polynomial,
    select,
    sqrt,
    with_sign_of,
)


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
    far = mul_add(-2.0, half_exp(q * t), 1.0)
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
    bits = as_int(1.0 + x) - SQRT_HALF
    e = (bits >> 23).astype("float32")
    f = as_float((bits & FRACTION) + SQRT_HALF) - 1.0
    f2 = f * f
    f3 = f2 * f
    a = polynomial(f, 7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1)
    b = polynomial(f, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1)
    c = polynomial(f, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1)
    a = mul_add(mul_add(a, f3, b), f3, c)
    a = mul_add(a, f3, e * -2.12194440e-4)
    far = mul_add(e, 0.693359375, mul_add(f2, -0.5, f) + a)
    return select(x > -0.41421356237, near_0, far)
