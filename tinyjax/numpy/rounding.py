"""Rounding, and the parts of a float: floor, round, modf, frexp."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core import dtypes
from tinyjax.core.array import Array
from tinyjax.numpy.logic import isinf
from tinyjax.numpy.promotion import promote_dtypes_inexact
from tinyjax.numpy.selecting import where_
from tinyjax.numpy.ufuncs import multiply, subtract
from tinyjax.numpy.util import (
    constant,
    constant_like,
    convert,
    ensure_arraylike,
    weak_constant_like,
)
from tinyjax.transform.custom.forward_rules import custom_jvp
from tinyjax.transform.jit.api import jitted

# ---- rounding ----


def floor(x: Any, /) -> Array:
    """The largest whole number not above x; as numpy.floor."""
    x = ensure_arraylike("floor", x)
    return lax.floor(x) if dtypes.is_inexact(x.dtype) else x


def ceil(x: Any, /) -> Array:
    """The smallest whole number not below x; as numpy.ceil."""
    x = ensure_arraylike("ceil", x)
    return lax.ceil(x) if dtypes.is_inexact(x.dtype) else x


@jitted
def trunc(x: Any) -> Array:
    """x without its fraction; as numpy.trunc."""
    x = ensure_arraylike("trunc", x)
    if not dtypes.is_inexact(x.dtype):
        return x
    return where_(lax.lt(x, weak_constant_like(x, 0)), ceil(x), floor(x))


@jitted
def rint(x: Any, /) -> Array:
    """The nearest whole number, halves to even; as numpy.rint."""
    x = ensure_arraylike("rint", x)
    if not dtypes.is_inexact(x.dtype):
        return convert(x, dtypes.default_dtype(float))
    if dtypes.kind(x.dtype) == "c":
        return lax.complex(rint(lax.real(x)), rint(lax.imag(x)))
    return lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)


def _round(a: Any, decimals: int) -> Any:
    a = ensure_arraylike("round", a)
    kind = dtypes.kind(a.dtype)
    if kind == "b":
        raise ValueError("round does not take bools: data type bool is not inexact")
    if kind in "iu":
        if decimals < 0:
            raise NotImplementedError("integer np.round not implemented for decimals < 0")
        return a
    if kind == "c":
        return lax.complex(_round_float(lax.real(a), decimals), _round_float(lax.imag(a), decimals))
    return _round_float(a, decimals)


def _round_float(x: Any, decimals: int) -> Any:
    if decimals == 0:
        return lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)
    if decimals > np.log10(float(dtypes.finfo(x.dtype).max)):
        return x
    dtype = x.dtype
    if dtype == np.float16:
        x = convert(x, np.dtype("float32"))
    factor = weak_constant_like(x, 10**decimals)
    out = lax.div(lax.round(lax.mul(x, factor), lax.RoundingMethod.TO_NEAREST_EVEN), factor)
    return convert(out, dtype) if dtype == np.float16 else out


@jitted(static_argnames=("decimals",))
def round(a: Any, decimals: int = 0, out: None = None) -> Array:
    """Rounded to `decimals` places, halves to even; as numpy.round.

    Raises NotImplementedError for integers with negative decimals, and for `out`."""
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.round is not supported.")
    return _round(a, decimals)


@jitted(static_argnames=("decimals",))
def around(a: Any, decimals: int = 0, out: None = None) -> Array:
    """The same as round; as numpy.around."""
    return round(a, decimals, out)


@jitted
def modf(x: Any, /, out: None = None) -> tuple[Array, Array]:
    """(fraction, whole part), both with the sign of x; as numpy.modf."""
    (x,) = promote_dtypes_inexact(ensure_arraylike("modf", x))
    whole = where_(lax.ge(x, weak_constant_like(x, 0)), floor(x), ceil(x))
    return subtract(x, whole), whole


# ---- the parts of a float ----


@jitted
def frexp(x: Any, /) -> tuple[Array, Array]:
    """(mantissa in [0.5, 1), int32 exponent) with x = mantissa * 2**exponent; as numpy.frexp."""
    (x,) = promote_dtypes_inexact(ensure_arraylike("frexp", x))
    if dtypes.kind(x.dtype) == "c":
        raise TypeError("frexp does not support complex-valued inputs")
    return _frexp(x)


@custom_jvp
def _frexp(x: Any) -> tuple[Any, Any]:
    """Splits the bits of a float: the exponent, and the mantissa as a float with exponent -1."""
    info = dtypes.finfo(x.dtype)
    integer = np.dtype(f"int{x.dtype.itemsize * 8}")
    of_bits = functools.partial(constant, dtype=integer)
    exponent_bits, bias = (1 << info.nexp) - 1, 1 - info.minexp
    # Subnormal numbers are scaled up first.
    tiny = lax.lt(lax.abs(x), constant_like(x, float(info.tiny)))
    scaled = where_(tiny, lax.mul(x, constant_like(x, 2.0**info.nmant)), x)
    shift = where_(tiny, of_bits(-info.nmant), of_bits(0))
    bits = lax.bitcast_convert_type(scaled, integer)
    biased = lax.bitwise_and(
        lax.shift_right_arithmetic(bits, of_bits(info.nmant)), of_bits(exponent_bits)
    )
    exponent = lax.add(shift, lax.add(lax.sub(biased, of_bits(bias)), of_bits(1)))
    sign_and_fraction = lax.bitwise_and(bits, of_bits(~(exponent_bits << info.nmant)))
    mantissa = lax.bitcast_convert_type(
        lax.bitwise_or(sign_and_fraction, of_bits((bias - 1) << info.nmant)), x.dtype
    )
    special = lax.bitwise_or(lax.bitwise_or(isinf(x), lax.ne(x, x)), lax.eq(x, constant_like(x, 0)))
    exponent = where_(special, lax.full_like(exponent, 0), exponent)
    return where_(special, x, mantissa), convert(exponent, np.dtype("int32"))


@_frexp.defjvp
def _frexp_jvp(primals: Any, tangents: Any) -> Any:
    """The derivative of the mantissa as x * 2**-exponent with a constant exponent; operations on bits
    have none."""
    (x,), (t,) = primals, tangents
    mantissa, exponent = frexp(x)
    tangent = lax.mul(t, lax.exp2(lax.neg(convert(exponent, t.dtype))))
    return (mantissa, exponent), (tangent, np.zeros(exponent.shape, dtypes.float0))


@jitted
def ldexp(x1: Any, x2: Any, /) -> Array:
    """x1 * 2**x2 for integers x2; as numpy.ldexp. Raises ValueError for other x2, or complex x1."""
    x1, x2 = ensure_arraylike("ldexp", x1, x2)
    if dtypes.kind(x1.dtype) == "c" or dtypes.is_inexact(x2.dtype):
        raise ValueError(f"ldexp not supported for input types {(x1.dtype, x2.dtype)}")
    (x1,) = promote_dtypes_inexact(x1)
    exponent = convert(x2, np.dtype("int32"))
    half = lax.shift_right_arithmetic(exponent, constant(1, np.dtype("int32")))
    left = lax.sub(exponent, half)
    scaled = multiply(
        multiply(x1, lax.exp2(convert(half, x1.dtype))), lax.exp2(convert(left, x1.dtype))
    )
    unchanged = lax.bitwise_or(isinf(x1), lax.eq(x1, constant_like(x1, 0)))
    return where_(unchanged, x1, scaled)
