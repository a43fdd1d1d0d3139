"""sinc: sin(pi x) / (pi x), without losing digits far from 0, nor near it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core import dtypes
from tinyjax.core.array import Array
from tinyjax.numpy.promotion import promote_dtypes_inexact
from tinyjax.numpy.selecting import where_
from tinyjax.numpy.util import ensure_arraylike, weak_constant_like
from tinyjax.transform.jit.api import jitted

TO_EVEN = lax.RoundingMethod.TO_NEAREST_EVEN


@jitted
def sinc(x: Any, /) -> Array:
    """sin(pi x) / (pi x), 1 at zero; as numpy.sinc.

    Its derivatives, of all orders, are right at zero too."""
    (x,) = promote_dtypes_inexact(ensure_arraylike("sinc", x))
    if dtypes.kind(x.dtype) == "c":
        return _complex_sinc(x)
    if dtypes.finfo(x.dtype).bits < 32:
        return lax.convert_element_type(
            _real_sinc(lax.convert_element_type(x, np.float32)), x.dtype
        )
    return _real_sinc(x)


def _real_sinc(x: Any) -> Any:
    """x is n + r, n the nearest integer: sin(pi x) is (-1)**n sin(pi r), which has a short series.

    sinc(x) is sinc(r) for n = 0, else (-1)**n r sinc(r) / x."""
    n = lax.stop_gradient(lax.round(x, TO_EVEN))
    is_infinite = lax.abs(x) == np.inf
    r = where_(is_infinite, 0, x - n)
    t = r * r
    rest = t * lax.polynomial(t, _coefficients(11 if x.dtype == np.float64 else 6))
    near_zero, scaled = 1 + rest, r + r * rest
    is_odd = 2 * lax.round(0.5 * n, TO_EVEN) != n
    is_near_zero = n == 0
    far = scaled / where_(is_odd, -x, where_(is_near_zero, 1, x))
    far = where_(r == 0, far - lax.stop_gradient(far), far)  # 0.0, never -0.0
    return where_(is_near_zero, near_zero, far)


def _coefficients(count: int) -> list[float]:
    """The coefficients of the series (sin(pi r) / (pi r) - 1) / r**2, in powers of r**2."""
    powers = range(1, count + 1)
    return [(-1) ** k * math.pi ** (2 * k) / math.factorial(2 * k + 1) for k in powers]


def _complex_sinc(x: Any) -> Any:
    """sinc of complex x, by the series of sin(u) / u where |u| < 1, with u = pi x."""
    real = lax.real(x)
    is_infinite = lax.bitwise_and(
        lax.eq(lax.abs(real), weak_constant_like(real, np.inf)), lax.is_finite(lax.imag(x))
    )
    u = where_(is_infinite, weak_constant_like(x, 1), lax.mul(weak_constant_like(x, np.pi), x))
    size = lax.abs(u)
    is_small = lax.lt(size, weak_constant_like(size, 1))
    small = where_(is_small, u, weak_constant_like(x, 0))
    large = where_(is_small, weak_constant_like(x, 1), u)
    terms = 15 if x.dtype == np.complex128 else 8
    coefficients = [(-1) ** k / math.factorial(2 * k + 1) for k in range(terms)]
    series = lax.polynomial(lax.square(small), coefficients)
    out = where_(is_small, series, lax.div(lax.sin(large), large))
    return where_(is_infinite, weak_constant_like(x, 0), out)
