"""sinh, cosh, tanh and their inverses of float32.

They follow from half of exp(x), where nothing overflows before the result does, and from log(1 + x), which
keeps the digits near 0. Within 3 units in the last place.

Source: https://dlmf.nist.gov/4.37 for the inverses; the polynomial of sinh is fitted so that the largest
relative error is smallest, that of tanh is from S. Moshier, Cephes Math Library (1989).
"""

from __future__ import annotations

import math

from tinyjax.compile.kernel.functions.exponentials import half_exp
from tinyjax.compile.kernel.functions.logarithms import log1p
from tinyjax.compile.kernel.functions.notation import (
    Number,
    definition,
    mul_add,
    polynomial,
    select,
    sqrt,
    with_sign_of,
)

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
