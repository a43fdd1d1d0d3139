"""Comparison, logic, bits, and tests of numbers: <, logical_and, &, isnan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core import dtypes
from tinyjax.core.array import Array
from tinyjax.numpy.declarations import of_one, of_two, same_as
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

equal = of_two("equal", lax.eq, "x == y, bools")
not_equal = of_two("not_equal", lax.ne, "x != y, bools")


def _complex_too(compare: Callable) -> Callable:
    """`compare` extended to complex numbers, which are ordered by their real, then their imaginary part."""

    def compared(x: Any, y: Any) -> Any:
        if x.aval.dtype.kind != "c":
            return compare(x, y)
        same_real = lax.eq(lax.real(x), lax.real(y))
        by_imag = compare(lax.imag(x), lax.imag(y))
        return lax.select(same_real, by_imag, compare(lax.real(x), lax.real(y)))

    return compared


_COMPLEX = "bools; complex numbers compare by real, then imaginary part"
greater = of_two("greater", _complex_too(lax.gt), f"x > y, {_COMPLEX}")
greater_equal = of_two("greater_equal", _complex_too(lax.ge), f"x >= y, {_COMPLEX}")
less = of_two("less", _complex_too(lax.lt), f"x < y, {_COMPLEX}")
less_equal = of_two("less_equal", _complex_too(lax.le), f"x <= y, {_COMPLEX}")


# ---- logic and bits ----


def _of_truth(operation: Callable) -> Callable:
    """`operation` applied to whether each operand is nonzero."""

    def of_bools(*operands: Any) -> Any:
        return operation(*map(_to_bool, operands))

    return of_bools


def _to_bool(x: Any) -> Any:
    return x if x.dtype == np.bool_ else lax.ne(x, weak_constant_like(x, 0))


logical_and = of_two("logical_and", _of_truth(lax.bitwise_and), "Whether both are nonzero")
logical_or = of_two("logical_or", _of_truth(lax.bitwise_or), "Whether one is nonzero")
logical_xor = of_two("logical_xor", _of_truth(lax.bitwise_xor), "Whether exactly one is nonzero")
logical_not = of_one("logical_not", _of_truth(lax.bitwise_not), "Whether x is zero")

bitwise_and = of_two("bitwise_and", lax.bitwise_and, "x & y of integers or bools")
bitwise_or = of_two("bitwise_or", lax.bitwise_or, "x | y of integers or bools")
bitwise_xor = of_two("bitwise_xor", lax.bitwise_xor, "x ^ y of integers or bools")
bitwise_not = of_one("bitwise_not", lax.bitwise_not, "~x of integers or bools")
invert = of_one("invert", lax.bitwise_not, "The same as bitwise_not")
bitwise_invert = of_one("bitwise_invert", lax.bitwise_not, "The same as bitwise_not")
left_shift = of_two("left_shift", lax.shift_left, "x << y of integers", promote_args_numeric)
bitwise_left_shift = same_as("bitwise_left_shift", left_shift)


def right_shift(x1: Any, x2: Any, /) -> Array:
    """x1 >> x2 of integers, the sign kept; as numpy.right_shift."""
    x1, x2 = promote_args_numeric("right_shift", x1, x2)
    unsigned = dtypes.kind(x1.dtype) == "u"
    return (lax.shift_right_logical if unsigned else lax.shift_right_arithmetic)(x1, x2)


bitwise_right_shift = same_as("bitwise_right_shift", right_shift)


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


nextafter = of_two(
    "nextafter", lax.nextafter, "The next float after x towards y", promote_args_inexact
)


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
