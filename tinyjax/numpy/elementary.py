"""Exponentials, logarithms and trigonometry, one element at a time.

Integers promote to the default float.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core import dtypes
from tinyjax.core.array import Array
from tinyjax.lax.elementwise import real_dtype
from tinyjax.numpy.declarations import of_one, same_as
from tinyjax.numpy.logic import less
from tinyjax.numpy.promotion import promote_args_inexact
from tinyjax.numpy.selecting import where_
from tinyjax.numpy.ufuncs import maximum, minimum
from tinyjax.numpy.util import (
    broadcast_arrays,
    constant,
    constant_like,
    convert,
    ensure_arraylike,
    weak_constant_like,
)
from tinyjax.transform.custom.forward_rules import custom_jvp
from tinyjax.transform.jit.api import jitted

_of_float = functools.partial(of_one, promote=promote_args_inexact)

# ---- exponentials and logarithms ----

exp = _of_float("exp", lax.exp, "e to the power x")
exp2 = _of_float("exp2", lax.exp2, "2 to the power x")
expm1 = _of_float("expm1", lax.expm1, "exp(x) - 1, exact near zero")
log = _of_float("log", lax.log, "The natural logarithm")
log1p = _of_float("log1p", lax.log1p, "log(1 + x), exact near zero")
log2 = _of_float("log2", lax.log2, "The logarithm to base 2")


def log10(x: Any, /) -> Array:
    """The logarithm to base 10; as numpy.log10."""
    (x,) = promote_args_inexact("log10", x)
    factor = constant(0.4342944819032518, real_dtype(x.dtype))  # 1 / log(10)
    if dtypes.kind(x.dtype) == "c":
        log_x = lax.log(x)
        return lax.complex(lax.mul(lax.real(log_x), factor), lax.mul(lax.imag(log_x), factor))
    return lax.mul(lax.log(x), factor)


def logaddexp(x1: Any, x2: Any, /) -> Array:
    """log(exp(x1) + exp(x2)) without overflow; as numpy.logaddexp."""
    return lax.logaddexp(*promote_args_inexact("logaddexp", x1, x2))


def logaddexp2(x1: Any, x2: Any, /) -> Array:
    """log2(2**x1 + 2**x2) without overflow; as numpy.logaddexp2."""
    return lax.logaddexp2(*promote_args_inexact("logaddexp2", x1, x2))


sqrt = _of_float("sqrt", lax.sqrt, "The square root")
cbrt = _of_float("cbrt", lax.cbrt, "The cube root")


# ---- trigonometry ----

sin = _of_float("sin", lax.sin, "The sine of x radians")
cos = _of_float("cos", lax.cos, "The cosine of x radians")
tan = _of_float("tan", lax.tan, "The tangent of x radians")
arcsin = _of_float("arcsin", lax.asin, "The angle in [-pi/2, pi/2] with this sine")
arccos = _of_float("arccos", lax.acos, "The angle in [0, pi] with this cosine")
arctan = _of_float("arctan", lax.atan, "The angle in [-pi/2, pi/2] with this tangent")


def arctan2(x1: Any, x2: Any, /) -> Array:
    """The angle of the point (x2, x1), in [-pi, pi]; as numpy.arctan2."""
    return lax.atan2(*promote_args_inexact("arctan2", x1, x2))


sinh = _of_float("sinh", lax.sinh, "The hyperbolic sine")
cosh = _of_float("cosh", lax.cosh, "The hyperbolic cosine")
tanh = _of_float("tanh", lax.tanh, "The hyperbolic tangent")
arcsinh = _of_float("arcsinh", lax.asinh, "The inverse of sinh")


@jitted
def arccosh(x: Any, /) -> Array:
    """The inverse of cosh, for x >= 1; as numpy.arccosh."""
    result = lax.acosh(*promote_args_inexact("arccosh", x))
    if dtypes.kind(result.dtype) == "c":
        return where_(less(lax.real(result), 0), lax.neg(result), result)
    return result


arctanh = _of_float("arctanh", lax.atanh, "The inverse of tanh, for |x| < 1")


asin, acos, atan, atan2 = arcsin, arccos, arctan, arctan2
asinh, acosh, atanh = arcsinh, arccosh, arctanh


def deg2rad(x: Any, /) -> Array:
    """Degrees as radians; as numpy.deg2rad."""
    (x,) = promote_args_inexact("deg2rad", x)
    return lax.mul(x, weak_constant_like(x, np.pi / 180))


def rad2deg(x: Any, /) -> Array:
    """Radians as degrees; as numpy.rad2deg."""
    (x,) = promote_args_inexact("rad2deg", x)
    return lax.mul(x, weak_constant_like(x, 180 / np.pi))


radians = same_as("radians", deg2rad)
degrees = same_as("degrees", rad2deg)


@jitted
def hypot(x1: Any, x2: Any, /) -> Array:
    """sqrt(x1**2 + x2**2) without overflow; as numpy.hypot. Raises ValueError for complex operands."""
    x1, x2 = promote_args_inexact("hypot", x1, x2)
    if dtypes.kind(x1.dtype) == "c":
        raise ValueError(
            "jnp.hypot is not well defined for complex-valued inputs. Please convert to real values "
            "first, such as by using abs(x)"
        )
    return _hypot(*broadcast_arrays(x1, x2))[0]


@custom_jvp
def _hypot(x1: Any, x2: Any) -> tuple[Any, Any, Any]:
    """The length r of the vector (x1, x2), and x1 / r, x2 / r. Very long and very short ones are scaled by a
    power of two, so that their squares neither overflow nor vanish."""
    info = dtypes.finfo(dtypes.dtype(x1))
    size1, size2 = lax.abs(x1), lax.abs(x2)
    largest = lax.max(size1, size2)
    power, long = (info.nmant - info.minexp + 1) // 2, (info.maxexp - 1) // 2
    is_long = lax.ge(largest, constant_like(x1, 2.0**long))
    is_short = lax.le(largest, constant_like(x1, 2.0 ** (long - power)))
    down, up, one = (lax.full_like(x1, scale) for scale in (2.0**-power, 2.0**power, 1.0))

    def scaled(x: Any) -> Any:
        shrunk, grown = lax.mul(x, down), lax.mul(x, up)
        return lax.select(is_long, shrunk, lax.select(is_short, grown, x))

    y1, y2 = scaled(x1), scaled(x2)
    unscale = lax.select(is_long, up, lax.select(is_short, down, one))
    length = lax.sqrt(lax.add(lax.square(y1), lax.square(y2)))
    r = lax.mul(length, unscale)
    infinity = lax.full_like(x1, np.inf)
    infinite = lax.bitwise_or(lax.eq(size1, infinity), lax.eq(size2, infinity))
    return lax.select(infinite, infinity, r), lax.div(y1, length), lax.div(y2, length)


@_hypot.defjvp
def _hypot_jvp(primals: Any, tangents: Any) -> Any:
    """Written only in terms of the results, so that derivatives of all orders use this rule."""
    dx1, dx2 = tangents
    r, u1, u2 = _hypot(*primals)
    dr = u1 * dx1 + u2 * dx2
    return (r, u1, u2), (dr, (dx1 - u1 * dr) / r, (dx2 - u2 * dr) / r)


@jitted(static_argnames=("deg",))
def angle(z: Any, deg: bool = False) -> Array:
    """The angle of complex z, in radians (degrees if `deg`); as numpy.angle."""
    z = ensure_arraylike("angle", z)
    re = lax.real(z) if dtypes.kind(z.dtype) == "c" else z
    im = lax.imag(z) if dtypes.kind(z.dtype) == "c" else lax.full_like(z, 0)
    if not dtypes.is_inexact(re.dtype) or (dtypes.kind(z.dtype) == "f" and z.ndim == 0):
        re, im = (convert(part, dtypes.default_dtype(float)) for part in (re, im))
    result = lax.atan2(im, re)
    return degrees(result) if deg else result


# ---- other ----


@jitted
def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Array:
    """x with NaN, inf and -inf replaced (the infinities by the largest floats); as numpy.nan_to_num."""
    x = ensure_arraylike("nan_to_num", x)
    if not dtypes.is_inexact(x.dtype):
        return x
    if dtypes.kind(x.dtype) == "c":
        parts = [lax.real(x), lax.imag(x)]
        return lax.complex(*[nan_to_num(p, nan=nan, posinf=posinf, neginf=neginf) for p in parts])
    info = dtypes.finfo(x.dtype)
    posinf = float(info.max) if posinf is None else posinf
    neginf = float(info.min) if neginf is None else neginf
    out = where_(lax.ne(x, x), convert(nan, x.dtype), x)
    out = where_(lax.eq(out, constant_like(x, np.inf)), convert(posinf, x.dtype), out)
    return where_(lax.eq(out, constant_like(x, -np.inf)), convert(neginf, x.dtype), out)


@jitted
def clip(arr: Any = None, /, min: Any = None, max: Any = None) -> Array:
    """`arr` with values below `min` or above `max` moved there; as numpy.clip.

    Raises ValueError for complex operands, or without `arr`."""
    if arr is None:
        raise ValueError("No input was provided to the clip function.")
    arr = ensure_arraylike("clip", arr)
    for x in (arr, min, max):
        if x is not None and dtypes.kind(dtypes.dtype(x)) == "c":
            raise ValueError(
                "Clip received a complex value either through the input or the min/max keywords. "
                "Complex values have no ordering: clip the real or imaginary part"
            )
    if min is not None:
        arr = maximum(min, arr)
    return arr if max is None else minimum(max, arr)
