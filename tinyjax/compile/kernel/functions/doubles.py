"""Functions of float64 whose formula is not that of float32, and those that leave something to a driver.

An angle of more than 100,000 goes to the driver's function. Within 4 units in the last place.

Source: https://dlmf.nist.gov/4
"""

from __future__ import annotations

from tinyjax.compile.kernel.functions.angles import atan2, near_angle, sine
from tinyjax.compile.kernel.functions.exponentials import exp, expm1
from tinyjax.compile.kernel.functions.notation import (
    Number,
    definition_of,
    op,
    select,
    sqrt,
    where_any,
    with_sign_of,
)

double = definition_of("float64")
MAX_NEAR = 1e5  # the largest angle whose products with the parts of pi/2 are exact


@double
def logistic_float64(x: Number) -> Number:
    e = exp(-abs(x))
    return select(x < 0.0, e, 1.0) / (1.0 + e)


@double
def tanh_float64(x: Number) -> Number:
    size = abs(x)
    e = expm1(-2.0 * select(size < 20.0, size, 20.0))
    return with_sign_of(select(x != x, x, -e / (e + 2.0)), x)


# Where kernels take the smallest numbers for 0, a driver's function reads the bits of their exponents.
@double
def pow_float64(x: Number, y: Number) -> Number:
    return op("pow_of_driver", select(x == 0.0, 0.0 * x, x), y)


@double
def sin_float64(x: Number) -> Number:
    quarter, r = near_angle(x)
    is_far = ~(abs(x) <= MAX_NEAR)
    (y,) = where_any(is_far, lambda: [op("sin_of_driver", x)], [sine(quarter, r)])
    return select(x == 0.0, x, y)


@double
def cos_float64(x: Number) -> Number:
    quarter, r = near_angle(x)
    is_far = ~(abs(x) <= MAX_NEAR)
    return where_any(is_far, lambda: [op("cos_of_driver", x)], [sine(quarter + 1, r)])[0]


@double
def tan_float64(x: Number) -> Number:
    return sin_float64(x) / cos_float64(x)


@double
def asin_float64(x: Number) -> Number:
    return atan2(x, sqrt((1.0 - x) * (1.0 + x)))


@double
def acos_float64(x: Number) -> Number:
    return atan2(sqrt((1.0 - x) * (1.0 + x)), x)
