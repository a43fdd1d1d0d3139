"""exp, exp2, expm1 and logistic of float32.

The argument is reduced to a small range, a polynomial evaluated there, and the reduction undone. Within 4
units in the last place.

Source: S. Moshier, Cephes Math Library (1989), single precision, https://www.netlib.org/cephes/, for the
method; the polynomials are fitted so that the largest error is smallest.
"""

from __future__ import annotations

from tinyjax.compile.kernel.functions.notation import (
    Number,
    as_float,
    as_int,
    clamp,
    definition,
    mul_add,
    polynomial,
    select,
)

LOG2_E = 1.44269504
# The fraction of a sum with 1.5 * 2**23 does not fit: the sum is rounded to an integer, its last bits.
SHIFT = 12582912.0


def reduce_argument(x: Number, n: Number) -> Number:
    """x - n log(2), with log(2) in two parts: the product with the first one is exact."""
    return mul_add(n, 2.12194440e-4, mul_add(n, -0.693359375, x))


def exp_of_rest(r: Number) -> Number:
    """exp(r) for r from -log(2)/2 to log(2)/2"""
    return polynomial(
        r, 1.3814517e-3, 8.3687557e-3, 4.1668393e-2, 1.6666520e-1, 4.9999994e-1, 1.0, 1.0
    )


# exp(x) = 2**n * exp(r): n is the nearest integer to x / log(2). The last bits of m are n - 1 + 127, which
# are the exponent's of 2**(n - 1); a factor of two follows, as 2**n may be no float where the result is
# one. Where the result has fewer digits than others, it is n + 63 and a small factor.
@definition
def exp(x: Number) -> Number:
    c = clamp(x, -104.0, 89.0)
    m = mul_add(c, LOG2_E, SHIFT + 126.0)
    n = m - (SHIFT + 126.0)
    r = reduce_argument(c, n)
    y = exp_of_rest(r)
    is_small = x < -80.0
    power = as_float((as_int(m) + select(is_small, 64, 0)) << 23)
    return y * power * select(is_small, 1.0842021724855044e-19, 2.0)


# exp(x) / 2 where nothing is too large or too small: x from -80 to 88.8.
@definition
def half_exp(x: Number) -> Number:
    m = mul_add(x, LOG2_E, SHIFT - 1.0)
    n = m - (SHIFT - 1.0)
    r = reduce_argument(x, n)
    y = exp_of_rest(r)
    return as_float(as_int(y) + (as_int(m) << 23))


# exp(x) - 1 = 2**n (exp(r) - 1) + (2**n - 1), which keeps the digits near 0; half of it, as in exp: the last
# bits of m are the exponent's, n + 126. Below -30 the result is -1. The polynomial's parts do not wait for
# one another, as they do in Horner's scheme.
@definition
def expm1(x: Number) -> Number:
    c = clamp(x, -30.0, 89.0)
    m = mul_add(c, LOG2_E, SHIFT + 126.0)
    n = m - (SHIFT + 126.0)
    r = reduce_argument(c, n)
    z = r * r
    q = mul_add(1.3946515e-3, z, mul_add(8.3666211e-3, r, 4.1666280e-2))
    p = mul_add(q, z, mul_add(1.6666542e-1, r, 0.5))
    half_s = as_float(as_int(m) << 23)
    half_y = mul_add(half_s, mul_add(p, z, r), half_s - 0.5)
    return select(x == 0.0, x, half_y + half_y)


# 2**x as exp(x), without log(2)
@definition
def exp2(x: Number) -> Number:
    c = clamp(x, -151.0, 128.0)
    m = c + (SHIFT + 126.0)
    r = c - (m - (SHIFT + 126.0))
    y = polynomial(
        r, 1.53149485e-5, 1.54671099e-4, 1.3333431e-3, 9.61803645e-3, 5.55041097e-2,
        2.40226507e-1, 6.93147182e-1, 1.0,
    )  # fmt: skip
    is_small = x < -120.0
    power = as_float((as_int(m) + select(is_small, 64, 0)) << 23)
    return y * power * select(is_small, 1.0842021724855044e-19, 2.0)


# 1 / (1 + exp(-x)), with both parts of the fraction times 2**-64: so exp(-x) is never too large, where the
# result still has digits. The last bits of m are the exponent's, n - 64 + 127. The polynomial is of a
# degree less than that of exp: it is fitted to exp(-r) so that the largest error is smallest.
@definition
def logistic(x: Number) -> Number:
    c = clamp(x, -104.0, 40.0)
    m = mul_add(c, -LOG2_E, SHIFT + 63.0)
    n = m - (SHIFT + 63.0)
    r = mul_add(n, -2.12194440e-4, mul_add(n, 0.693359375, c))
    y = polynomial(r, -8.31218623e-3, 4.18911576e-2, -1.66671216e-1, 4.99992251e-1, -1.0, 1.0)
    power = as_float(as_int(m) << 23)
    return 5.421010862427522e-20 / mul_add(y, power, 5.421010862427522e-20)
