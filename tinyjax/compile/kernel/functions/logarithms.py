"""log and log1p of float32, cbrt, and log of float64 for those that need its digits.

The exponent of a float is the larger part of its logarithm, a polynomial of the mantissa the smaller one.
Within 2 units in the last place.

Source: S. Moshier, Cephes Math Library (1989), single precision, https://www.netlib.org/cephes/; for the
series in float64, https://dlmf.nist.gov/4.6.
"""

from __future__ import annotations

import math

from tinyjax.compile.kernel.functions.notation import (
    Number,
    as_float,
    as_int,
    definition,
    definition_of,
    mul_add,
    polynomial,
    select,
    truncate,
    where_any,
    with_sign_of,
)

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
