"""Comparison, logic, bits, and what a number is: <, logical_and, &, isnan.

After this file you can say what `x < y` writes into a jaxpr, and why complex numbers compare. Builds
on util.

Sources: https://docs.jax.dev/en/latest/_autosummary/jax.numpy.<name>.html, one page a function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core import dtypes
from tinyjax.core.array import Array
from tinyjax.numpy.promotion import promote_args, promote_args_inexact, promote_args_numeric
from tinyjax.numpy.selecting import where_
from tinyjax.numpy.util import (
    constant,
    constant_like,
    convert,
    dtype_of,
    ensure_arraylike,
    weak_constant_like,
)
from tinyjax.transform.jit.api import jitted

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
    magnitude = lax.abs(x) if dtypes.kind(x.dtype) == "i" else x
    return convert(lax.population_count(magnitude), np.dtype("uint8"))


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
        return lax.sub(lax.nextafter(x, infinity), x)
    gap = lax.sub(lax.nextafter(x, copysign(infinity, x)), x)
    tiniest = constant(dtypes.finfo(x.dtype).smallest_subnormal, dtype_of(x))
    return where_(equal(gap, 0), copysign(tiniest, x), gap)
