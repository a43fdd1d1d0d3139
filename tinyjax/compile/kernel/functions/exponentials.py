"""exp, log, pow, cbrt and the hyperbolic functions of float32, and log of float64.

The argument of exp is reduced to a small range, a polynomial evaluated there, and the reduction undone. The
exponent of a float is the larger part of its logarithm, a polynomial of the mantissa the smaller one. The
hyperbolic functions follow from half of exp(x), where nothing overflows before the result does, and from
log(1 + x), which keeps the digits near 0. A power is computed in float64 and rounded once: it multiplies the
error of a logarithm by up to a hundred, and float64 has digits to spare, and vector instructions. All are
within 4 units in the last place, logarithms within 2, powers within 1.

Source: S. Moshier, Cephes Math Library (1989), single precision, https://www.netlib.org/cephes/, for the
method, and the polynomials of logarithms and tanh; the others are fitted so that the largest error is
smallest. The series in float64: https://dlmf.nist.gov/4.6; inverses: https://dlmf.nist.gov/4.37. Special
cases of pow: the C standard, F.10.4.4
"""

from __future__ import annotations

import math

from tinyjax.compile.kernel.functions.notation import (
    Number,
    as_float,
    as_int,
    clamp,
    definition,
    definition_of,
    mul_add,
    polynomial,
    select,
    sqrt,
    truncate,
    where_any,
    with_sign_of,
)

# ---- exponentials ----

LOG2_E = 1.44269504
# The fraction of a sum with 1.5 * 2**23 does not fit: the sum is rounded to an integer, its last bits.
SHIFT = 12582912.0


def reduce_argument(c: Number, bias: float) -> tuple[Number, Number]:
    """A number whose last bits are n + bias, where n is the nearest integer to c / log(2); and c - n log(2),
    with log(2) in two parts: the product with the first one is exact."""
    m = mul_add(c, LOG2_E, SHIFT + bias)
    n = m - (SHIFT + bias)
    return m, mul_add(n, 2.12194440e-4, mul_add(n, -0.693359375, c))


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
    m, r = reduce_argument(c, 126.0)
    y = exp_of_rest(r)
    is_small = x < -80.0
    power = as_float((as_int(m) + select(is_small, 64, 0)) << 23)
    return y * power * select(is_small, 1.0842021724855044e-19, 2.0)


# exp(x) / 2 where nothing is too large or too small: x from -80 to 88.8.
@definition
def half_exp(x: Number) -> Number:
    m, r = reduce_argument(x, -1.0)
    y = exp_of_rest(r)
    return as_float(as_int(y) + (as_int(m) << 23))


# exp(x) - 1 = 2**n (exp(r) - 1) + (2**n - 1), which keeps the digits near 0; half of it, as in exp: the last
# bits of m are the exponent's, n + 126. Below -30 the result is -1. The polynomial's parts do not wait for
# one another, as they do in Horner's scheme.
@definition
def expm1(x: Number) -> Number:
    c = clamp(x, -30.0, 89.0)
    m, r = reduce_argument(c, 126.0)
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


# ---- logarithms ----

SQRT_HALF = 0x3F3504F3  # the bits of sqrt(1/2)
FRACTION = 0x007FFFFF  # the bits that are no exponent and no sign


def log_of_product(f: Number, k: Number) -> Number:
    """log((1 + f) 2**k) for 1 + f between sqrt(1/2) and sqrt(2), with log(2) in two parts"""
    z = f * f
    p = polynomial(
        f, 7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
        -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
    )  # fmt: skip
    y = mul_add(-0.5, z, mul_add(f * z, p, k * -2.12194440e-4))
    return mul_add(k, 0.693359375, f + y)


# log(x) = e log(2) + log(1 + f), with x = 2**e (1 + f) and 1 + f between sqrt(1/2) and sqrt(2). Numbers
# that are not positive, and inf, are rare.
@definition
def log(x: Number) -> Number:
    is_small = x < 1.17549435e-38
    bits = as_int(x * select(is_small, 8388608.0, 1.0)) - SQRT_HALF
    k = (bits >> 23).astype("float32") - select(is_small, 23.0, 0.0)
    f = as_float((bits & FRACTION) + SQRT_HALF) - 1.0
    finite = log_of_product(f, k)
    is_end = ~((x > 0.0) & (x < math.inf))
    end = lambda: [select(x > 0.0, x, select(x == 0.0, -math.inf, math.nan))]  # noqa: E731
    return where_any(is_end, end, [finite])[0]


# log(1 + x) as log(u) of the rounded sum u, with what was lost in that sum taken from f.
@definition
def log1p(x: Number) -> Number:
    u = 1.0 + x
    lost = (u - 1.0) - x
    bits = as_int(u) - SQRT_HALF
    e = bits >> 23
    k = e.astype("float32")
    s = as_float(select(e < 64, 0x3F800000 - (e << 23), 0))
    f = mul_add(-lost, s, as_float((bits & FRACTION) + SQRT_HALF) - 1.0)
    finite = log_of_product(f, k)
    of_more = select((x == math.inf) | (x == 0.0), x, finite)
    return select(x > -1.0, of_more, select(x == -1.0, -math.inf, math.nan))


# log(x) = e log(2) + 2 atanh(s), with s = f / (2 + f) and x = 2**e (1 + f), for x > 0. The bits of e
# become a number by a sum whose fraction does not fit.
@definition_of("float64")
def log_double(x: Number) -> Number:
    bits = as_int(x) - 0x3FE6A09E667F3BCD
    e = as_float((bits >> 52) + 0x4338000000000000) - 6755399441055744.0
    f = as_float((bits & 0x000FFFFFFFFFFFFF) + 0x3FE6A09E667F3BCD) - 1.0
    s = f / (2.0 + f)
    z = s * s
    p = polynomial(z, *(1.0 / n for n in range(21, 1, -2)))
    return mul_add(e, 0.69314718055994531, 2.0 * mul_add(s * z, p, s))


# A third of the bits is near the root: the exponent is divided by three. Halley's step triples the digits.
@definition
def cbrt(x: Number) -> Number:
    size = abs(x)
    is_small = size < 1e-30
    is_large = size > 1e30
    a = size * select(is_small, 281474976710656.0, select(is_large, 3.5527137e-15, 1.0))
    third = truncate(as_int(a).astype("float32") * 0.33333334, "int32")
    y = as_float(third + 709958130)
    for _ in range(2):
        cube = y * y * y
        y = mul_add(-y, (cube - a) / (cube + cube + a), y)
    y = y * select(is_small, 1.52587891e-5, select(is_large, 65536.0, 1.0))
    return select((size > 0.0) & (size < math.inf), with_sign_of(y, x), x)


# ---- powers ----

# The fraction of a sum with 1.5 * 2**52 does not fit: the sum is rounded to an integer, its last bits.
SHIFT_DOUBLE = 6755399441055744.0


def exp_by_series(x: Number) -> Number:
    """exp of a float64 from -700 to 700, to ten digits."""
    m = mul_add(x, 1.4426950408889634, SHIFT_DOUBLE)
    n = m - SHIFT_DOUBLE
    r = mul_add(n, -1.9082149292705877e-10, mul_add(n, -0.69314718036912382, x))
    e = polynomial(r, *(1.0 / math.factorial(n) for n in range(8, -1, -1)))
    return e * as_float((as_int(m) + 1023) << 52)


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

LARGEST = 89.41598  # beyond 89.41599 sinh and cosh are larger than all floats


@definition
def sinh(x: Number) -> Number:
    size = abs(x)
    c = select(size < LARGEST, size, LARGEST)
    z = c * c
    p = polynomial(z, 2.81743951e-6, 1.98360663e-4, 8.33335053e-3, 1.66666672e-1)
    half_e = half_exp(c)
    near = mul_add(c * z, p, c)
    far = half_e - 0.25 / half_e
    y = select(size <= LARGEST, select(size < 1.0, near, far), size + math.inf)
    return with_sign_of(y, x)


@definition
def cosh(x: Number) -> Number:
    size = abs(x)
    half_e = half_exp(select(size < LARGEST, size, LARGEST))
    return select(size <= LARGEST, half_e + 0.25 / half_e, size + math.inf)


# A polynomial near 0, 1 - 1 / (exp(2 |x|) / 2 + 1/2) elsewhere, which gets the sign of x.
@definition
def tanh(x: Number) -> Number:
    z = x * x
    p = polynomial(
        z, -5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1
    )  # fmt: skip
    near = mul_add(x * z, p, x)
    size = abs(x)
    far = 1.0 - 1.0 / (half_exp(select(size < 10.0, 2.0 * size, 20.0)) + 0.5)
    y = select(size < 0.625, near, select(x != x, x, far))
    return with_sign_of(y, x)


# log(1 + u) with u = x - 1 + sqrt(x * x + 1), or log(2 x) where x * x might be no float
@definition
def asinh(x: Number) -> Number:
    size = abs(x)
    z = size * size
    is_large = size > 1e8
    y = log1p(select(is_large, size, size + z / (1.0 + sqrt(1.0 + z))))
    return with_sign_of(select(is_large, y + 0.693147182, y), x)


# log(1 + u) with u = x - 1 + sqrt((x - 1) (x + 1))
@definition
def acosh(x: Number) -> Number:
    t = x - 1.0
    is_large = x > 1e8
    y = log1p(select(is_large, x, t + sqrt(t * (t + 2.0))))
    return select(x < 1.0, math.nan, select(is_large, y + 0.693147182, y))


# log((1 + x) / (1 - x)) / 2
@definition
def atanh(x: Number) -> Number:
    size = abs(x)
    y = 0.5 * log1p((size + size) / (1.0 - size))
    return with_sign_of(y, x)
