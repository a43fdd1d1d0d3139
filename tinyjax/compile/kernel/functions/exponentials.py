"""exp, log, pow, cbrt and the hyperbolic functions of float32, and most of them of float64.

The argument of exp is reduced to a small range, a polynomial evaluated there, and the reduction undone. The
exponent of a float is the larger part of its logarithm, a polynomial of the mantissa the smaller one. The
hyperbolic functions follow from exp(x) - 1 and log(1 + x), which keep the digits near 0. A power is computed
in float64 and rounded once: it multiplies the error of a logarithm by up to a hundred, and float64 has digits
to spare, and vector instructions. All are within 4 units in the last place, logarithms of float32 within 2,
powers within 1.

A function of float64 has the same formula as that of float32, with a polynomial that is a series, long enough
for all digits, in place of a fitted one. Only pow has another formula.

Source: S. Moshier, Cephes Math Library (1989), single precision, https://www.netlib.org/cephes/, for the
method, and the polynomials of logarithms; the others are fitted so that the largest error is smallest. The
series in float64: https://dlmf.nist.gov/4; reductions there: W. Cody and W. Waite, "Software Manual for the
Elementary Functions" (1980); inverses: https://dlmf.nist.gov/4.37. Special cases of pow: the C standard,
F.10.4.4
"""

from __future__ import annotations

import math

import numpy as np

from tinyjax.compile.kernel.functions.notation import (
    Number,
    as_float,
    as_int,
    clamp,
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

# ---- exponentials ----

LOG2, LOG2_E = math.log(2.0), 1.4426950408889634
# log(2) in two parts: the products of the first one with exponents are exact.
LOG2_SINGLE = (0.693359375, -2.12194440e-4)
LOG2_DOUBLE = (0.69314718036912382, 1.9082149292705877e-10)


def digits(x: Number) -> int:
    """The binary digits of a float's fraction: 23 or 52."""
    return np.finfo(x.dtype).nmant


def shift(x: Number) -> float:
    """1.5 * 2**digits: the fraction of a sum with it does not fit, so the sum is rounded to an integer, its
    last bits."""
    return 1.5 * 2.0 ** digits(x)


def series(first: int, last: int) -> list[float]:
    """1 / last!, and so on down to 1 / first!"""
    return [1.0 / math.factorial(n) for n in range(last, first - 1, -1)]


def reduce_argument(c: Number, bias: float) -> tuple[Number, Number]:
    """A number whose last bits are n + bias, with n the nearest integer to c / log(2); and c - n log(2)"""
    m = mul_add(c, LOG2_E, shift(c) + bias)
    n = m - (shift(c) + bias)
    most, rest = of_precision(c, LOG2_SINGLE, LOG2_DOUBLE)
    return m, mul_add(n, -rest, mul_add(n, -most, c))


EXPM1 = (1.3946515e-3, 8.3666211e-3, 4.1666280e-2, 1.6666542e-1, 0.5)
EXP = (1.3814517e-3, 8.3687557e-3, 4.1668393e-2, 1.6666520e-1, 4.9999994e-1, 1.0, 1.0)


def exp_of_rest(r: Number) -> Number:
    """exp(r) for r from -log(2)/2 to log(2)/2"""
    return polynomial(r, *of_precision(r, EXP, series(0, 13)))


def times_power(y: Number, m: Number, is_small: Number) -> Number:
    """2**n y for a y near 1. The last bits of m are n - 1 + 127, which are the exponent's of 2**(n - 1); a
    factor of two follows, as 2**n may be no float where the result is one. Where the result has fewer digits
    than others, it is n + 63 and a small factor."""
    more, bits = of_precision(y, 64, 128), as_int(m)
    power = as_float((bits + select(is_small, bits.dtype.type(more), 0)) << digits(y))
    return y * power * select(is_small, y.dtype.type(2.0 ** (1 - more)), 2.0)


# exp(x) = 2**n * exp(r): n is the nearest integer to x / log(2).
@float_definition
def exp(x: Number) -> Number:
    c = clamp(x, *of_precision(x, (-104.0, 89.0), (-746.0, 710.0)))
    m, r = reduce_argument(c, of_precision(x, 126.0, 1022.0))
    return times_power(exp_of_rest(r), m, x < of_precision(x, -80.0, -700.0))


def quarter_expm1(x: Number) -> Number:
    """(exp(x) - 1) / 4. exp(x) - 1 is 2**n (exp(r) - 1) + (2**n - 1), which keeps the digits near 0. The last
    bits of m are n - 2 + 127, so that nothing is too large where twice the result is a float."""
    c = clamp(x, *of_precision(x, (-30.0, 89.5), (-40.0, 710.6)))
    m, r = reduce_argument(c, of_precision(x, 125.0, 1021.0))
    p = polynomial(r, *of_precision(x, EXPM1, series(2, 14)))
    quarter = as_float(as_int(m) << digits(x))
    return mul_add(quarter, mul_add(p, r * r, r), quarter - 0.25)


@float_definition
def expm1(x: Number) -> Number:
    q = quarter_expm1(x)
    return select(q == 0.0, x, 4.0 * q)


# 2**x as exp(x), without the reduction by log(2)
@float_definition
def exp2(x: Number) -> Number:
    c = clamp(x, *of_precision(x, (-151.0, 128.0), (-1080.0, 1024.0)))
    bias = shift(x) + of_precision(x, 126.0, 1022.0)
    m = c + bias
    r = (c - (m - bias)) * LOG2
    return times_power(exp_of_rest(r), m, x < of_precision(x, -120.0, -1000.0))


# exp_of_rest of a degree less
LOGISTIC = (8.31218623e-3, 4.18911576e-2, 1.66671216e-1, 4.99992251e-1, 1.0, 1.0)


# 1 / (1 + exp(-x)), with both parts of the fraction times 2**-64: so exp(-x) is never too large, where the
# result still has digits. The last bits of m are the exponent's, n - 64 + 127.
@float_definition
def logistic(x: Number) -> Number:
    c = clamp(x, of_precision(x, -104.0, -746.0), 40.0)
    m, r = reduce_argument(-c, of_precision(x, 63.0, 959.0))
    y = polynomial(r, *of_precision(x, LOGISTIC, series(0, 13)))
    return 2.0**-64 / mul_add(y, as_float(as_int(m) << digits(x)), 2.0**-64)


# ---- logarithms ----

SQRT_HALF = (0x3F3504F3, 0x3FE6A09E667F3BCD)  # the bits of sqrt(1/2)
LOG1 = (
    7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
    -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
)  # fmt: skip


def parts_of(x: Number) -> tuple[Number, Number]:
    """f and the integer e, with x = 2**e (1 + f) and 1 + f between sqrt(1/2) and sqrt(2); of x > 0"""
    first = of_precision(x, *SQRT_HALF)
    bits = as_int(x) - first
    return as_float((bits & (2 ** digits(x) - 1)) + first) - 1.0, bits >> digits(x)


def log_of_product(f: Number, e: Number) -> Number:
    """log((1 + f) 2**e) for 1 + f between sqrt(1/2) and sqrt(2), by log(1 + f) = 2 atanh(s) in float64. The
    bits of e become a float64 by a sum whose fraction does not fit."""
    if f.dtype == np.float64:
        k = as_float(e + 0x4338000000000000) - shift(f)
        s = f / (2.0 + f)
        z = s * s
        p = polynomial(z, *(1.0 / n for n in range(21, 1, -2)))
        return mul_add(k, LOG2, 2.0 * mul_add(s * z, p, s))
    k = e.astype("float32")
    most, rest = LOG2_SINGLE
    z = f * f
    p = polynomial(f, *LOG1)
    y = mul_add(-0.5, z, mul_add(f * z, p, k * rest))
    return mul_add(k, most, f + y)


# The logarithm of a float64 that is positive, finite, and not among the smallest
@definition_of("float64")
def log_double(x: Number) -> Number:
    return log_of_product(*parts_of(x))


def log_at_end(x: Number, zero: float) -> Number:
    """The logarithm of a number that is not positive: -inf at `zero`, where the domain ends, else NaN"""
    return select(x == zero, x.dtype.type(-math.inf), math.nan)


# Numbers that are not positive, and inf, are rare.
@float_definition
def log(x: Number) -> Number:
    is_small = x < np.finfo(x.dtype).tiny
    f, e = parts_of(x * select(is_small, x.dtype.type(2.0 ** digits(x)), 1.0))
    e = e - select(is_small, e.dtype.type(digits(x)), 0)
    finite = log_of_product(f, e)
    is_end = ~((x > 0.0) & (x < math.inf))
    return where_any(is_end, lambda: [select(x > 0.0, x, log_at_end(x, 0.0))], [finite])[0]


# log(1 + x) as log(u) of the rounded sum u, with what was lost in that sum taken from f. The smallest x are
# the results themselves: half of one may count as 0.
@float_definition
def log1p(x: Number) -> Number:
    u = 1.0 + x
    lost = (u - 1.0) - x
    f, e = parts_of(u)
    one = of_precision(x, 0x3F800000, 0x3FF0000000000000)
    s = as_float(select(e < 64, one - (e << digits(x)), 0))
    finite = log_of_product(mul_add(-lost, s, f), e)
    of_more = select((x == math.inf) | (abs(x) < 1e-30), x, finite)
    return select(x > -1.0, of_more, log_at_end(x, -1.0))


# A third of the bits is near the root: the exponent is divided by three. Halley's step triples the digits.
@float_definition
def cbrt(x: Number) -> Number:
    size = abs(x)
    bound = of_precision(x, 1e30, 1e280)
    is_small, is_large = size < 1.0 / bound, size > bound
    third_of_scale = of_precision(x, 16, 20)

    def scaled(y: Number, n: int) -> Number:
        """2**n y of small numbers, 2**-n y of large ones"""
        return y * select(is_small, 2.0**n, select(is_large, x.dtype.type(2.0**-n), 1.0))

    a = scaled(size, 3 * third_of_scale)
    bits = as_int(a)
    third = truncate(bits.astype(x.dtype.name) * (1.0 / 3.0), bits.dtype.name)
    y = as_float(third + of_precision(x, 709958130, 715094163 << 32))
    for _ in range(of_precision(x, 2, 3)):
        cube = y * y * y
        y = mul_add(-y, (cube - a) / (cube + cube + a), y)
    return select((size > 0.0) & (size < math.inf), with_sign_of(scaled(y, -third_of_scale), x), x)


# ---- powers ----


def exp_by_series(x: Number) -> Number:
    """exp of a float64 from -700 to 700, to ten digits."""
    m, r = reduce_argument(x, 0.0)
    return polynomial(r, *series(0, 8)) * as_float((as_int(m) + 1023) << 52)


def power_of_size(x: Number, y: Number, usual: Number) -> Number:
    """x**y, from |x|**y of usual numbers; what the C standard says of negative x, 0, inf and nan."""
    size = abs(x)
    is_end = (size == 0.0) | (size == math.inf)
    end = select((size == 0.0) ^ (y > 0.0), x.dtype.type(math.inf), 0.0)
    is_integer = round(y) == y
    is_odd = is_integer & (2.0 * round(0.5 * y) != y)
    sign = select(is_odd, as_int(x), 0) & -(2 ** (8 * x.dtype.itemsize - 1))
    is_nan = (x != x) | (y != y) | ((x < 0.0) & ~is_integer & ~is_end)
    is_one = (x == 1.0) | (y == 0.0) | ((size == 1.0) & (abs(y) == math.inf))
    power = as_float(as_int(select(is_end, end, usual)) | sign)
    return select(is_one, 1.0, select(is_nan, math.nan, power))


# exp(y log |x|), rounded to float32 at the end
@definition
def pow(x: Number, y: Number) -> Number:
    t = clamp(y.astype("float64") * log_double(abs(x).astype("float64")), -110.0, 90.0)
    return power_of_size(x, y, exp_by_series(t).astype("float32"))


# ---- hyperbolic functions ----


# Half of t + t / (t + 1), where t is exp(|x|) - 1. A quarter of the smallest numbers is 0.
@float_definition
def sinh(x: Number) -> Number:
    q = quarter_expm1(abs(x))
    return select(q == 0.0, x, with_sign_of(q + q + q / (q + q + 0.5), x))


# Half of (t + 1) + 1 / (t + 1)
@float_definition
def cosh(x: Number) -> Number:
    half_e = 2.0 * quarter_expm1(abs(x)) + 0.5
    return half_e + 0.25 / half_e


@float_definition
def tanh(x: Number) -> Number:
    e = expm1(-2.0 * abs(x))
    return with_sign_of(-e / (e + 2.0), x)


# log(1 + u) with u = x - 1 + sqrt(x * x + 1), or log(2 x) where x * x might be no float
@float_definition
def asinh(x: Number) -> Number:
    size = abs(x)
    z = size * size
    is_large = size > of_precision(x, 1e8, 1e18)
    y = log1p(select(is_large, size, size + z / (1.0 + sqrt(1.0 + z))))
    return with_sign_of(select(is_large, y + LOG2, y), x)


# log(1 + u) with u = x - 1 + sqrt((x - 1) (x + 1))
@float_definition
def acosh(x: Number) -> Number:
    t = x - 1.0
    is_large = x > of_precision(x, 1e8, 1e18)
    y = log1p(select(is_large, x, t + sqrt(t * (t + 2.0))))
    return select(x < 1.0, math.nan, select(is_large, y + LOG2, y))


# log((1 + x) / (1 - x)) / 2
@float_definition
def atanh(x: Number) -> Number:
    size = abs(x)
    y = 0.5 * log1p((size + size) / (1.0 - size))
    return with_sign_of(y, x)
