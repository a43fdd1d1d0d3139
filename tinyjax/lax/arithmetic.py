"""Arithmetic: sub, div, rem, max, min, sign, abs, powers and roots (add, mul and neg are core's).

The edges are XLA's: x / 0 is -1 and x % 0 is x for integers, max and min propagate NaN, and a tie of max
gives each operand half of the tangent.
"""

from __future__ import annotations

import builtins
import functools
from typing import Any

import numpy as np

from tinyjax.core import dtypes
from tinyjax.core.array import ShapedArray
from tinyjax.core.avals import get_aval
from tinyjax.core.bind import Primitive, abstract_eval_rules, impl_rules
from tinyjax.core.facts import ACCURACY, FUNCTION
from tinyjax.core.primitives import broadcast_shapes, elementwise_aval, mul, neg, neg_p
from tinyjax.lax.comparison import eq, ge, gt
from tinyjax.lax.complex_numbers import complex, conj, imag, real
from tinyjax.lax.conversion import convert_element_type
from tinyjax.lax.creation import full_like
from tinyjax.lax.elementwise import (
    ANY,
    FLOAT,
    INEXACT,
    NUMBER,
    constant,
    in_float32,
    nary,
    of_one,
    of_two,
    real_dtype,
    unary,
    wrapping,
)
from tinyjax.lax.rounding import floor
from tinyjax.lax.selection import select
from tinyjax.transform.batching import defvectorized
from tinyjax.transform.jvp import (
    broadcast_to_result,
    defjvp,
    defjvp2,
    jvp_rules,
    sum_jvp,
    zero_tangent,
)
from tinyjax.transform.transposition import (
    is_undefined_primal,
    require_known,
    transpose_rules,
    unbroadcast,
)


def _is_complex(x: Any) -> bool:
    return dtypes.kind(dtypes.dtype(x)) == "c"


def _is_integer(x: np.ndarray) -> bool:
    return dtypes.kind(x.dtype) in "iu"


# ---- sub, div, rem ----


def _div_impl(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if not _is_integer(x):
        return np.divide(x, y)
    quotient = np.floor_divide(x, y)
    floored = (np.fmod(x, y) != 0) & ((x < 0) != (y < 0))
    return np.where(y == 0, np.invert(np.zeros_like(x)), quotient + floored.astype(x.dtype))


def _rem_impl(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.where(y == 0, x, np.fmod(x, y)) if _is_integer(x) else np.fmod(x, y)


def _rem_jvp_x(g: Any, x: Any, y: Any) -> Any:
    return broadcast_to_result(g, broadcast_shapes("rem", get_aval(x), get_aval(y)))


def _rem_jvp_y(g: Any, x: Any, y: Any) -> Any:
    return mul(neg(g), mul(sign(div(x, y)), floor(abs(div(x, y)))))


def _sub_transpose(ct: Any, x: Any, y: Any) -> list[Any]:
    return [
        unbroadcast(x.aval, ct) if is_undefined_primal(x) else None,
        unbroadcast(y.aval, neg(ct)) if is_undefined_primal(y) else None,
    ]


sub_p = nary("sub", NUMBER, np.subtract, cost=1, makes_nan=True, linear="all")
sub = of_two(sub_p, "Elementwise x - y.")
jvp_rules[sub_p] = sum_jvp(sub_p, neg)
transpose_rules[sub_p] = _sub_transpose

div_p = nary("div", NUMBER, _div_impl, cost=1, makes_nan=True)
div = of_two(
    div_p, "Elementwise x / y. Integers lose their fraction; by 0 they give -1 (all bits set)."
)
defjvp(div_p, lambda g, x, y: div(g, y), lambda g, x, y: mul(mul(neg(g), x), integer_pow(y, -2)))


def _div_transpose(ct: Any, x: Any, y: Any) -> list[Any]:
    require_known(div_p, y)
    return [unbroadcast(x.aval, div(ct, y)), None]


transpose_rules[div_p] = _div_transpose

rem_p = nary("rem", "iuf", _rem_impl, cost=1, makes_nan=True)
rem = of_two(rem_p, "The remainder of x / y, with the sign of x; for integers and y of 0, x.")
defjvp(rem_p, _rem_jvp_x, _rem_jvp_y)


# ---- max, min ----


def _extremum(ufunc: np.ufunc, sign_: int) -> Any:
    """The impl rule of max (sign_ 1) or min (-1): complex numbers are ordered by real part first."""

    def impl(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        if dtypes.kind(x.dtype) != "c":
            return ufunc(x, y)
        above = np.where(x.real == y.real, sign_ * (x.imag - y.imag), sign_ * (x.real - y.real))
        return np.where(above > 0, x, y)

    return impl


def _share(x: Any, other: Any) -> Any:
    """The share of `x` in the maximum: 1 if it is above `other`, 1/2 if equal, else 0."""
    is_above, is_equal = gt(x, other), eq(x, other)
    one, zero, half = (full_like(is_above, part, dtypes.dtype(x)) for part in (1, 0, 0.5))
    return select(is_above, one, select(is_equal, half, zero))


max_p = nary("max", ANY, _extremum(np.maximum, 1), cost=1, makes_nan=True)
max = of_two(
    max_p, "The larger of each pair, NaN if either is. Complex numbers compare by real part first."
)
min_p = nary("min", ANY, _extremum(np.minimum, -1), cost=1, makes_nan=True)
min = of_two(
    min_p, "The smaller of each pair, NaN if either is. Complex numbers compare by real part first."
)
defjvp(max_p, lambda g, x, y: mul(g, _share(x, y)), lambda g, x, y: mul(g, _share(y, x)))
defjvp(min_p, lambda g, x, y: mul(g, _share(y, x)), lambda g, x, y: mul(g, _share(x, y)))


# ---- sign, abs ----


def _sign_impl(x: np.ndarray) -> np.ndarray:
    return np.where(x == 0, x, np.sign(x))  # keeps -0.0


def _abs_jvp(g: Any, out: Any, x: Any) -> Any:
    if not _is_complex(x):
        return select(ge(x, full_like(x, 0, shape=())), g, neg(g))
    return real(mul(g, div(conj(x), replace_zero(convert_element_type(out, dtypes.dtype(x))))))


def replace_zero(x: Any) -> Any:
    """`x` with ones instead of zeros, where the results of zeros are not used."""
    return select(eq(x, constant(x, 0)), full_like(x, 1), x)


def _sign_jvp(g: Any, out: Any, x: Any) -> Any:
    """Zero for real numbers; a complex number's sign changes with its angle."""
    if not _is_complex(x):
        return zero_tangent(out)
    angle = div(imag(mul(conj(out), g)), replace_zero(abs(x)))
    return mul(out, complex(full_like(angle, 0), angle))


sign_p = unary("sign", NUMBER, _sign_impl, cost=1, makes_nan=False)
sign = of_one(
    sign_p, "-1, 0 or 1 by each element's sign (-0.0 and NaN stay); x / |x| of complex numbers."
)
defjvp2(sign_p, _sign_jvp)

abs_p = unary("abs", "ifc", wrapping(np.abs), real_dtype, cost=1, makes_nan=False)
abs = of_one(
    abs_p, "The absolute value of signed numbers; the modulus of complex ones, in a real dtype."
)
impl_rules[neg_p] = wrapping(np.negative)
defjvp2(abs_p, _abs_jvp)


# ---- powers ----


def _operations(eqn: Any) -> int:
    """The multiplications of a power by squaring, and a division if it is negative."""
    power = eqn.params["y"]
    bits = f"{np.abs(power):b}"
    return eqn.outvars[0].aval.size * (
        builtins.max(len(bits) + bits.count("1") - 2, 0) + (power < 0)
    )


integer_pow_p = Primitive("integer_pow", axes="elementwise", cost=_operations, makes_nan=True)


def _integer_pow_impl(x: np.ndarray, *, y: int) -> np.ndarray:
    """By squaring: x**13 = x**8 * x**4 * x."""
    factors, power, exponent = [], x, np.abs(y)
    while exponent:
        if exponent & 1:
            factors.append(power)
        exponent >>= 1
        if exponent:
            power = np.multiply(power, power)
    out = functools.reduce(np.multiply, factors, np.ones_like(x))
    return np.divide(np.ones_like(x), out) if y < 0 else out


def _integer_pow_aval(x: ShapedArray, *, y: int) -> ShapedArray:
    if not isinstance(y, (int, np.integer)):
        raise TypeError(f"integer_pow takes an int as exponent, got {y!r}: use lax.pow for others")
    if y < 0 and dtypes.kind(x.dtype) in "iu":
        raise TypeError(
            "Integers cannot be raised to negative powers, got "
            f"integer_pow({x.str_short(short_dtypes=True)}, {y}): convert the base to a float"
        )
    return elementwise_aval("integer_pow", NUMBER, x)


def _integer_pow_jvp(g: Any, x: Any, *, y: int) -> Any:
    if y == 0:
        return full_like(g, 0)
    if y == 1:
        return g
    return mul(g, mul(constant(x, y), x if y == 2 else integer_pow(x, y - 1)))


impl_rules[integer_pow_p] = _integer_pow_impl
abstract_eval_rules[integer_pow_p] = _integer_pow_aval
defjvp(integer_pow_p, _integer_pow_jvp)
defvectorized(integer_pow_p)


def integer_pow(x: Any, y: int) -> Any:
    """Elementwise x to the power of one Python int. Raises TypeError if y < 0 and `x` an integer."""
    return integer_pow_p.bind(x, y=y)


def reciprocal(x: Any) -> Any:
    """Elementwise 1 / x of floats and complex numbers."""
    return integer_pow(x, -1)


square_p = unary("square", NUMBER, lambda x: np.multiply(x, x), cost=1, makes_nan=True)
square = of_one(square_p, "Elementwise x * x.")
defjvp2(square_p, lambda g, out, x: mul(g, mul(constant(x, 2), x)))

one_minus_square_p = unary(
    "one_minus_square", "iufc", in_float32(lambda x: (1 + x) * (1 - x)), cost=3, makes_nan=True
)
one_minus_square = of_one(
    one_minus_square_p,
    "1 - x * x, computed as (1 + x) * (1 - x): it keeps its digits where x is near 1.",
)
defjvp(one_minus_square_p, lambda g, x: mul(g, mul(constant(x, -2), x)))


# ---- roots ----

sqrt_p = unary("sqrt", INEXACT, np.sqrt, **FUNCTION, ignored_params=ACCURACY)
sqrt = of_one(sqrt_p, "The square root; NaN for negative floats.")
defjvp2(sqrt_p, lambda g, out, x: mul(g, div(constant(x, 0.5), out)))

rsqrt_p = unary(
    "rsqrt",
    INEXACT,
    in_float32(lambda x: np.reciprocal(np.sqrt(x))),
    **FUNCTION,
    ignored_params=ACCURACY,
)
rsqrt = of_one(rsqrt_p, "Elementwise 1 / sqrt(x).")
defjvp2(rsqrt_p, lambda g, out, x: mul(g, mul(constant(x, -0.5), div(out, x))))

cbrt_p = unary("cbrt", FLOAT, np.cbrt, **FUNCTION, ignored_params=ACCURACY)
cbrt = of_one(cbrt_p, "The real cube root of floats.")
defjvp2(cbrt_p, lambda g, out, x: mul(g, mul(constant(x, 1 / 3), integer_pow(out, -2))))
