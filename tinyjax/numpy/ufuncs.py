"""Arithmetic, one element at a time: +, -, *, /, //, %, **, maximum, real.

Operands are promoted (util.py), then it is mostly one lax operation. Functions that JAX shows as
`jit[name=...]` are marked `@jitted`. Comparison and bits are in logic.py, exponentials and trigonometry in
elementary.py.
"""

from __future__ import annotations

import operator
from typing import Any

from tinyjax import lax
from tinyjax.core import dtypes, type_promotion
from tinyjax.core.array import Array
from tinyjax.core.bind import Tracer
from tinyjax.numpy.declarations import of_one, of_two, same_as
from tinyjax.numpy.logic import bitwise_or, equal, greater, isnan, less, logical_and, not_equal
from tinyjax.numpy.promotion import (
    promote_args,
    promote_args_inexact,
    promote_args_numeric,
    promote_dtypes_inexact,
    promote_dtypes_numeric,
    promote_shapes,
)
from tinyjax.numpy.selecting import where_
from tinyjax.numpy.util import check_arraylike, constant_like, ensure_arraylike, weak_constant_like
from tinyjax.transform.jit.api import jitted

# ---- arithmetic ----


def add(x: Any, y: Any, /) -> Array:
    """x + y in their common dtype (logical or, for bools); as numpy.add."""
    x, y = promote_args("add", x, y)
    return lax.bitwise_or(x, y) if x.aval.dtype.kind == "b" else lax.add(x, y)


subtract = of_two("subtract", lax.sub, "x - y in their common dtype, TypeError for bools")


def multiply(x: Any, y: Any, /) -> Array:
    """x * y in their common dtype (logical and, for bools); as numpy.multiply."""
    x, y = promote_args("multiply", x, y)
    return lax.bitwise_and(x, y) if x.aval.dtype.kind == "b" else lax.mul(x, y)


def true_divide(x1: Any, x2: Any, /) -> Array:
    """x1 / x2, integers divided as floats; as numpy.true_divide."""
    x1, x2 = promote_args_inexact("true_divide", x1, x2)
    return lax.div(x1, x2)


divide = same_as("divide", true_divide)


@jitted
def floor_divide(x1: Any, x2: Any, /) -> Array:
    """x1 / x2 rounded down, in their common dtype; as numpy.floor_divide.

    Raises TypeError for complex operands."""
    x1, x2 = promote_args_numeric("floor_divide", x1, x2)
    kind = dtypes.kind(x1.dtype)
    if kind == "u":
        return lax.div(x1, x2)
    if kind == "c":
        raise TypeError("floor_divide does not support complex-valued inputs")
    if kind == "f":
        return _float_divmod(x1, x2)[0]
    quotient = lax.div(x1, x2)
    signs_differ = not_equal(lax.sign(x1), lax.sign(x2))
    rounded_up = logical_and(signs_differ, not_equal(lax.rem(x1, x2), 0))
    return where_(rounded_up, subtract(quotient, 1), quotient)


@jitted
def divmod(x1: Any, x2: Any, /) -> tuple[Array, Array]:
    """(x1 // x2, x1 % x2); as numpy.divmod."""
    x1, x2 = promote_args_numeric("divmod", x1, x2)
    if dtypes.kind(x1.dtype) in "iu":
        return floor_divide(x1, x2), remainder(x1, x2)
    return _float_divmod(x1, x2)


def _float_divmod(x1: Any, x2: Any) -> tuple[Any, Any]:
    mod = lax.rem(x1, x2)
    dividend = where_(equal(x2, 0), x1, lax.sub(x1, mod))
    div = lax.div(dividend, x2)
    wrong_sign = lax.bitwise_and(not_equal(mod, 0), not_equal(lax.sign(x2), lax.sign(mod)))
    mod = lax.select(wrong_sign, add(mod, x2), mod)
    div = lax.select(wrong_sign, subtract(div, 1.0), div)
    return lax.round(div), mod


@jitted
def remainder(x1: Any, x2: Any, /) -> Array:
    """x1 - x2 * floor(x1 / x2): the sign is that of x2; as numpy.remainder."""
    x1, x2 = promote_args_numeric("remainder", x1, x2)
    zero = constant_like(x1, 0)
    if dtypes.kind(x2.dtype) in "iu":
        x2 = where_(equal(x2, 0), lax.full_like(x2, 1), x2)
    truncated = lax.rem(x1, x2)
    not_zero = lax.ne(truncated, zero)
    other_sign = lax.ne(lax.lt(truncated, zero), lax.lt(x2, zero))
    wrong_sign = lax.bitwise_and(other_sign, not_zero)
    return lax.select(wrong_sign, lax.add(truncated, x2), truncated)


mod = same_as("mod", remainder)


@jitted
def fmod(x1: Any, x2: Any, /) -> Array:
    """The remainder with the sign of x1, as C's fmod; as numpy.fmod."""
    x1, x2 = ensure_arraylike("fmod", x1, x2)
    if dtypes.kind(type_promotion.result_type(x1, x2)) in "iu":
        x2 = where_(equal(x2, 0), lax.full_like(x2, 1), x2)
    return lax.rem(*promote_args_numeric("fmod", x1, x2))


negative = of_one("negative", lax.neg, "-x")


def positive(x: Any, /) -> Array:
    """+x; as numpy.positive."""
    return promote_args("positive", x)[0]


def absolute(x: Any, /) -> Array:
    """|x|, real for complex x; as numpy.absolute."""
    x = ensure_arraylike("absolute", x)
    return x if dtypes.kind(x.dtype) in "bu" else lax.abs(x)


abs = same_as("abs", absolute)


def fabs(x: Any, /) -> Array:
    """|x| as a float; as numpy.fabs. Raises TypeError for complex x."""
    x = ensure_arraylike("fabs", x)
    if dtypes.kind(x.dtype) == "c":
        raise TypeError("ufunc 'fabs' does not support complex dtypes")
    return lax.abs(*promote_args_inexact("fabs", x))


sign = of_one("sign", lax.sign, "-1, 0 or 1 (x / |x| for complex x)")


def square(x: Any, /) -> Array:
    """x * x; as numpy.square."""
    return lax.square(*promote_dtypes_numeric(ensure_arraylike("square", x)))


def reciprocal(x: Any, /) -> Array:
    """1 / x as a float; as numpy.reciprocal."""
    (x,) = promote_dtypes_inexact(ensure_arraylike("reciprocal", x))
    return lax.integer_pow(x, -1)


# ---- powers ----


def power(x1: Any, x2: Any, /) -> Array:
    """x1 to the power x2; as numpy.power.

    A known integer x2 (a Python int) is one integer_pow equation."""
    check_arraylike("power", x1, x2)
    if not isinstance(x2, Tracer):
        try:
            exponent = operator.index(x2)
        except TypeError:
            pass
        else:
            (x1,) = promote_dtypes_numeric(x1)
            return lax.integer_pow(x1, exponent)
    return _power(x1, x2)


pow = same_as("pow", power)


def _power(x1: Any, x2: Any) -> Any:
    x1, x2 = promote_shapes("power", x1, x2)
    base, exponent = promote_args_numeric("power", x1, x2)
    if dtypes.kind(base.dtype) in "iu":
        return _pow_int_int(base, exponent)
    if dtypes.is_inexact(x1.dtype) and dtypes.kind(x2.dtype) in "iu":
        return lax.pow(x1, x2)
    return lax.pow(base, exponent)


def _pow_int_int(x1: Any, x2: Any) -> Any:
    """Repeated squaring over the six bits that an exponent without overflow can have."""
    zero, one = constant_like(x2, 0), constant_like(x2, 1)
    power_of_zero = lax.bitwise_and(lax.eq(x1, zero), lax.ne(x2, zero))
    result = where_(power_of_zero, zero, one)
    for _ in range(6):
        result = where_(lax.bitwise_and(x2, one), lax.mul(result, x1), result)
        x1 = lax.mul(x1, x1)
        x2 = lax.shift_right_logical(x2, one)
    return result


float_power = of_two("float_power", lax.pow, "x to the power y as floats", promote_args_inexact)


# ---- extremes ----


maximum = of_two("maximum", lax.max, "The larger of each pair, NaN if either is")
minimum = of_two("minimum", lax.min, "The smaller of each pair, NaN if either is")


@jitted
def fmin(x1: Any, x2: Any) -> Array:
    """The smaller of each pair, the other where one is NaN; as numpy.fmin."""
    return where_(bitwise_or(less(x1, x2), isnan(x2)), x1, x2)


@jitted
def fmax(x1: Any, x2: Any) -> Array:
    """The larger of each pair, the other where one is NaN; as numpy.fmax."""
    return where_(bitwise_or(greater(x1, x2), isnan(x2)), x1, x2)


@jitted
def heaviside(x1: Any, x2: Any, /) -> Array:
    """0 below zero, x2 at zero, 1 above; as numpy.heaviside."""
    x1, x2 = promote_dtypes_inexact(*ensure_arraylike("heaviside", x1, x2))
    zero = weak_constant_like(x1, 0)
    below, above, is_nan = lax.lt(x1, zero), lax.gt(x1, zero), lax.ne(x1, x1)
    not_below = where_(above, weak_constant_like(x1, 1), where_(is_nan, x1, x2))
    return where_(below, zero, not_below)


# ---- parts of complex numbers ----


def real(val: Any, /) -> Array:
    """The real part; as numpy.real."""
    val = ensure_arraylike("real", val)
    return lax.real(val) if dtypes.kind(val.dtype) == "c" else val


def imag(val: Any, /) -> Array:
    """The imaginary part, zeros for real arrays; as numpy.imag."""
    val = ensure_arraylike("imag", val)
    return lax.imag(val) if dtypes.kind(val.dtype) == "c" else lax.full_like(val, 0)


def conjugate(x: Any, /) -> Array:
    """The complex conjugate; as numpy.conjugate."""
    x = ensure_arraylike("conjugate", x)
    return lax.conj(x) if dtypes.kind(x.dtype) == "c" else x


conj = same_as("conj", conjugate)
