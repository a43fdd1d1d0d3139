"""Functions of one element at a time: arithmetic, comparison, logic, bits.

After this file you can read what `x + y`, `x % y` or `x < y` write into a jaxpr: operands are promoted
(util.py), then it is mostly one lax operation. Functions that JAX shows as `jit[name=...]` are marked
`@jitted`. Exponentials and trigonometry are in elementary.py. Builds on lax.

Sources: https://docs.jax.dev/en/latest/_autosummary/jax.numpy.<name>.html, one page a function.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tinyjax import dtypes, lax
from tinyjax.array import Array
from tinyjax.core import Tracer
from tinyjax.interpreters.jit import jitted
from tinyjax.numpy.selecting import where_
from tinyjax.numpy.util import (
    check_arraylike,
    constant,
    constant_like,
    convert,
    dtype_of,
    ensure_arraylike,
    promote_args,
    promote_args_inexact,
    promote_args_numeric,
    promote_dtypes_inexact,
    promote_dtypes_numeric,
    promote_shapes,
    weak_constant_like,
)

# ---- arithmetic ----


def add(x: Any, y: Any, /) -> Array:
    """x + y in their common dtype (logical or, for bools); as numpy.add."""
    x, y = promote_args("add", x, y)
    return lax.bitwise_or(x, y) if x.aval.dtype == np.bool_ else lax.add(x, y)


def subtract(x: Any, y: Any, /) -> Array:
    """x - y in their common dtype; as numpy.subtract. Raises TypeError for bools."""
    x, y = promote_args("subtract", x, y)
    return lax.sub(x, y)


def multiply(x: Any, y: Any, /) -> Array:
    """x * y in their common dtype (logical and, for bools); as numpy.multiply."""
    x, y = promote_args("multiply", x, y)
    return lax.bitwise_and(x, y) if x.aval.dtype == np.bool_ else lax.mul(x, y)


def true_divide(x1: Any, x2: Any, /) -> Array:
    """x1 / x2, integers divided as floats; as numpy.true_divide."""
    x1, x2 = promote_args_inexact("true_divide", x1, x2)
    return lax.div(x1, x2)


def divide(x1: Any, x2: Any, /) -> Array:
    """The same as true_divide; as numpy.divide."""
    return true_divide(x1, x2)


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


def mod(x1: Any, x2: Any, /) -> Array:
    """The same as remainder; as numpy.mod."""
    return remainder(x1, x2)


@jitted
def fmod(x1: Any, x2: Any, /) -> Array:
    """The remainder with the sign of x1, as C's fmod; as numpy.fmod."""
    x1, x2 = ensure_arraylike("fmod", x1, x2)
    if dtypes.kind(dtypes.result_type(x1, x2)) in "iu":
        x2 = where_(equal(x2, 0), lax.full_like(x2, 1), x2)
    return lax.rem(*promote_args_numeric("fmod", x1, x2))


def negative(x: Any, /) -> Array:
    """-x; as numpy.negative."""
    return lax.neg(*promote_args("negative", x))


def positive(x: Any, /) -> Array:
    """+x; as numpy.positive."""
    return promote_args("positive", x)[0]


def absolute(x: Any, /) -> Array:
    """|x|, real for complex x; as numpy.absolute."""
    x = ensure_arraylike("absolute", x)
    return x if dtypes.kind(x.dtype) in "bu" else lax.abs(x)


def abs(x: Any, /) -> Array:
    """The same as absolute; as numpy.abs."""
    return absolute(x)


def fabs(x: Any, /) -> Array:
    """|x| as a float; as numpy.fabs. Raises TypeError for complex x."""
    x = ensure_arraylike("fabs", x)
    if dtypes.kind(x.dtype) == "c":
        raise TypeError("ufunc 'fabs' does not support complex dtypes")
    return lax.abs(*promote_args_inexact("fabs", x))


def sign(x: Any, /) -> Array:
    """-1, 0 or 1 (x / |x| for complex x); as numpy.sign."""
    return lax.sign(*promote_args("sign", x))


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


def pow(x1: Any, x2: Any, /) -> Array:
    """The same as power; as numpy.pow."""
    return power(x1, x2)


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


def float_power(x: Any, y: Any, /) -> Array:
    """x to the power y as floats; as numpy.float_power."""
    return lax.pow(*promote_args_inexact("float_power", x, y))


# ---- extremes ----


def maximum(x: Any, y: Any, /) -> Array:
    """The larger of each pair, NaN if either is; as numpy.maximum."""
    return lax.max(*promote_args("maximum", x, y))


def minimum(x: Any, y: Any, /) -> Array:
    """The smaller of each pair, NaN if either is; as numpy.minimum."""
    return lax.min(*promote_args("minimum", x, y))


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


# ---- comparison ----


def equal(x: Any, y: Any, /) -> Array:
    """x == y, bools; as numpy.equal."""
    return lax.eq(*promote_args("equal", x, y))


def not_equal(x: Any, y: Any, /) -> Array:
    """x != y, bools; as numpy.not_equal."""
    return lax.ne(*promote_args("not_equal", x, y))


def greater(x: Any, y: Any, /) -> Array:
    """x > y, bools; as numpy.greater. Complex numbers compare by real, then imaginary part."""
    return _compare(lax.gt, *promote_args("greater", x, y))


def greater_equal(x: Any, y: Any, /) -> Array:
    """x >= y, bools; as numpy.greater_equal."""
    return _compare(lax.ge, *promote_args("greater_equal", x, y))


def less(x: Any, y: Any, /) -> Array:
    """x < y, bools; as numpy.less."""
    return _compare(lax.lt, *promote_args("less", x, y))


def less_equal(x: Any, y: Any, /) -> Array:
    """x <= y, bools; as numpy.less_equal."""
    return _compare(lax.le, *promote_args("less_equal", x, y))


def _compare(compare: Callable, x: Any, y: Any) -> Any:
    if x.aval.dtype.kind != "c":
        return compare(x, y)
    same_real = lax.eq(lax.real(x), lax.real(y))
    by_imag = compare(lax.imag(x), lax.imag(y))
    return lax.select(same_real, by_imag, compare(lax.real(x), lax.real(y)))


# ---- logic and bits ----


def _to_bool(x: Any) -> Any:
    return x if x.dtype == np.bool_ else lax.ne(x, weak_constant_like(x, 0))


def logical_and(x: Any, y: Any, /) -> Array:
    """Whether both are nonzero; as numpy.logical_and."""
    return lax.bitwise_and(*map(_to_bool, promote_args("logical_and", x, y)))


def logical_or(x: Any, y: Any, /) -> Array:
    """Whether one is nonzero; as numpy.logical_or."""
    return lax.bitwise_or(*map(_to_bool, promote_args("logical_or", x, y)))


def logical_xor(x: Any, y: Any, /) -> Array:
    """Whether exactly one is nonzero; as numpy.logical_xor."""
    return lax.bitwise_xor(*map(_to_bool, promote_args("logical_xor", x, y)))


def logical_not(x: Any, /) -> Array:
    """Whether x is zero; as numpy.logical_not."""
    return lax.bitwise_not(*map(_to_bool, promote_args("logical_not", x)))


def bitwise_and(x: Any, y: Any, /) -> Array:
    """x & y of integers or bools; as numpy.bitwise_and."""
    return lax.bitwise_and(*promote_args("bitwise_and", x, y))


def bitwise_or(x: Any, y: Any, /) -> Array:
    """x | y of integers or bools; as numpy.bitwise_or."""
    return lax.bitwise_or(*promote_args("bitwise_or", x, y))


def bitwise_xor(x: Any, y: Any, /) -> Array:
    """x ^ y of integers or bools; as numpy.bitwise_xor."""
    return lax.bitwise_xor(*promote_args("bitwise_xor", x, y))


def bitwise_not(x: Any, /) -> Array:
    """~x of integers or bools; as numpy.bitwise_not."""
    return lax.bitwise_not(*promote_args("bitwise_not", x))


def invert(x: Any, /) -> Array:
    """The same as bitwise_not; as numpy.invert."""
    return lax.bitwise_not(*promote_args("invert", x))


def bitwise_invert(x: Any, /) -> Array:
    """The same as bitwise_not; as numpy.bitwise_invert."""
    return lax.bitwise_not(*promote_args("bitwise_invert", x))


def left_shift(x: Any, y: Any, /) -> Array:
    """x << y of integers; as numpy.left_shift."""
    return lax.shift_left(*promote_args_numeric("left_shift", x, y))


def bitwise_left_shift(x: Any, y: Any, /) -> Array:
    """The same as left_shift; as numpy.bitwise_left_shift."""
    return left_shift(x, y)


def right_shift(x1: Any, x2: Any, /) -> Array:
    """x1 >> x2 of integers, the sign kept; as numpy.right_shift."""
    x1, x2 = promote_args_numeric("right_shift", x1, x2)
    unsigned = dtypes.kind(x1.dtype) == "u"
    return (lax.shift_right_logical if unsigned else lax.shift_right_arithmetic)(x1, x2)


def bitwise_right_shift(x1: Any, x2: Any, /) -> Array:
    """The same as right_shift; as numpy.bitwise_right_shift."""
    return right_shift(x1, x2)


@jitted
def bitwise_count(x: Any, /) -> Array:
    """How many bits of |x| are set, uint8; as numpy.bitwise_count."""
    (x,) = promote_args_numeric("bitwise_count", x)
    return convert(lax.population_count(absolute(x)), np.dtype("uint8"))


# ---- what a number is ----


def isnan(x: Any, /) -> Array:
    """Whether x is NaN; as numpy.isnan."""
    x = ensure_arraylike("isnan", x)
    return lax.ne(x, x)


def isfinite(x: Any, /) -> Array:
    """Whether x is neither infinite nor NaN; as numpy.isfinite."""
    x = ensure_arraylike("isfinite", x)
    kind = dtypes.kind(x.dtype)
    if kind == "f":
        return lax.is_finite(x)
    if kind == "c":
        return lax.bitwise_and(lax.is_finite(lax.real(x)), lax.is_finite(lax.imag(x)))
    return lax.full_like(x, True, dtype=np.dtype(bool))


@jitted
def isinf(x: Any, /) -> Array:
    """Whether x is infinite; as numpy.isinf."""
    x = ensure_arraylike("isinf", x)
    kind = dtypes.kind(x.dtype)
    if kind == "f":
        return lax.eq(lax.abs(x), constant_like(x, np.inf))
    if kind == "c":
        parts = [lax.abs(lax.real(x)), lax.abs(lax.imag(x))]
        return lax.bitwise_or(*[lax.eq(p, constant_like(p, np.inf)) for p in parts])
    return lax.full_like(x, False, dtype=np.dtype(bool))


def isposinf(x: Any, /, out: None = None) -> Array:
    """Whether x is +inf; as numpy.isposinf. Raises ValueError for complex x."""
    return _is_infinity(ensure_arraylike("isposinf", x), np.inf)


def isneginf(x: Any, /, out: None = None) -> Array:
    """Whether x is -inf; as numpy.isneginf. Raises ValueError for complex x."""
    return _is_infinity(ensure_arraylike("isneginf", x), -np.inf)


def _is_infinity(x: Any, infinity: float) -> Any:
    kind = dtypes.kind(x.dtype)
    if kind == "c":
        raise ValueError("isposinf/isneginf are not well defined for complex types")
    if kind == "f":
        return lax.eq(x, constant_like(x, infinity))
    return lax.full_like(x, False, dtype=np.dtype(bool))


@jitted
def signbit(x: Any, /) -> Array:
    """Whether the sign bit is set (-0.0 has it); as numpy.signbit."""
    (x,) = promote_args("signbit", x)
    kind = dtypes.kind(x.dtype)
    if kind in "iu":
        return lax.lt(x, constant_like(x, 0))
    if kind == "b":
        return lax.full_like(x, False, dtype=np.dtype(bool))
    if kind == "c":
        raise ValueError(f"jax.numpy.signbit is not well defined for {x.dtype}")
    bits = x.dtype.itemsize * 8
    as_integer = lax.bitcast_convert_type(x, np.dtype(f"int{bits}"))
    return convert(right_shift(as_integer, bits - 1), np.dtype(bool))


@jitted
def copysign(x1: Any, x2: Any, /) -> Array:
    """|x1| with the sign of x2; as numpy.copysign. Raises TypeError for complex operands."""
    x1, x2 = promote_args_inexact("copysign", x1, x2)
    if dtypes.kind(x1.dtype) == "c":
        raise TypeError("copysign does not support complex-valued inputs")
    return where_(signbit(x2), lax.neg(lax.abs(x1)), lax.abs(x1))


def nextafter(x: Any, y: Any, /) -> Array:
    """The next float after x towards y; as numpy.nextafter."""
    return lax.nextafter(*promote_args_inexact("nextafter", x, y))


def spacing(x: Any, /) -> Array:
    """The distance to the next float away from zero; as numpy.spacing."""
    (x,) = promote_args_inexact("spacing", x)
    if dtypes.kind(x.dtype) == "c":
        raise ValueError("jnp.spacing is not defined for complex inputs.")
    infinity = weak_constant_like(x, np.inf)
    if x.dtype == np.float16:
        return subtract(lax.nextafter(x, infinity), x)
    gap = subtract(lax.nextafter(x, copysign(infinity, x)), x)
    tiniest = constant(dtypes.finfo(x.dtype).smallest_subnormal, dtype_of(x))
    return where_(equal(gap, 0), copysign(tiniest, x), gap)


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


def conj(x: Any, /) -> Array:
    """The same as conjugate; as numpy.conj."""
    return conjugate(x)
