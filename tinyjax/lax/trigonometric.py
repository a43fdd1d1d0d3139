"""Trigonometric functions: tan and the inverses (sin and cos are core's).

The JVP of every arc function follows from that of its inverse. All take floats and complex numbers.
"""

from __future__ import annotations

import numpy as np

from tinyjax.core.facts import ACCURACY, FUNCTION
from tinyjax.core.primitives import add, mul, neg
from tinyjax.lax.arithmetic import div, one_minus_square, rsqrt, square
from tinyjax.lax.elementwise import INEXACT, constant, nary, of_one, of_two, unary
from tinyjax.transform.jvp import defjvp, defjvp2


def _atan2_impl(y: np.ndarray, x: np.ndarray) -> np.ndarray:
    if y.dtype.kind != "c":
        return np.arctan2(y, x)
    # The angle of x + iy, continued: -i log((x + iy) / sqrt(x**2 + y**2)).
    dtype, y, x = y.dtype, y.astype(np.complex128), x.astype(np.complex128)
    return (-1j * np.log((x + 1j * y) / np.sqrt(x * x + y * y))).astype(dtype)


tan_p = unary("tan", INEXACT, np.tan, **FUNCTION, ignored_params=ACCURACY)
tan = of_one(tan_p, "The tangent.")
defjvp2(tan_p, lambda g, out, x: mul(g, add(constant(x, 1), square(out))))

asin_p = unary("asin", INEXACT, np.arcsin, **FUNCTION)
asin = of_one(asin_p, "The inverse of sin; NaN outside of [-1, 1].")
defjvp(asin_p, lambda g, x: mul(g, rsqrt(one_minus_square(x))))

acos_p = unary("acos", INEXACT, np.arccos, **FUNCTION)
acos = of_one(acos_p, "The inverse of cos; NaN outside of [-1, 1].")
defjvp(acos_p, lambda g, x: mul(g, neg(rsqrt(one_minus_square(x)))))

atan_p = unary("atan", INEXACT, np.arctan, **FUNCTION)
atan = of_one(atan_p, "The inverse of tan.")
defjvp(atan_p, lambda g, x: div(g, add(constant(x, 1), square(x))))

atan2_p = nary("atan2", INEXACT, _atan2_impl, **FUNCTION)
atan2 = of_two(
    atan2_p, "The angle of the point (y, x): atan(x / y) in the quadrant that the signs tell."
)
defjvp(
    atan2_p,
    lambda g, x, y: mul(g, div(y, add(square(x), square(y)))),
    lambda g, x, y: mul(g, div(neg(x), add(square(x), square(y)))),
)
