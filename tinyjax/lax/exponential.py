"""Exponentials, logarithms and related functions: powers, logistic, tanh, sinh, cosh and inverses.

The JVP rules use the result where that saves work: d tanh = (1 - tanh**2) dx. All take floats and complex
numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax.core import dtypes, type_promotion
from tinyjax.core.array import ShapedArray
from tinyjax.core.bind import Primitive, abstract_eval_rules, impl_rules
from tinyjax.core.facts import ACCURACY, FUNCTION
from tinyjax.core.primitives import add, elementwise_aval, mul, shape_of
from tinyjax.lax.arithmetic import (
    abs,
    div,
    integer_pow,
    max,
    one_minus_square,
    replace_zero,
    rsqrt,
    square,
    sub,
)
from tinyjax.lax.comparison import eq
from tinyjax.lax.complex_numbers import complex, imag, real
from tinyjax.lax.conversion import convert_element_type
from tinyjax.lax.creation import full_like
from tinyjax.lax.elementwise import INEXACT, constant, in_float32, of_one, unary
from tinyjax.lax.selection import clamp, select
from tinyjax.transform.batching import defbroadcasting
from tinyjax.transform.custom.forward_rules import stop_gradient
from tinyjax.transform.jvp import broadcast_to_result, defjvp, defjvp2


def _one(x: Any) -> Any:
    """A scalar one with the dtype and weak type of `x`."""
    return full_like(x, 1, shape=())


# ---- exponentials and logarithms ----

exp_p = unary("exp", INEXACT, np.exp, **FUNCTION, ignored_params=ACCURACY)
exp = of_one(exp_p, "e to the power x.")
defjvp2(exp_p, lambda g, out, x: mul(g, out))

log_p = unary("log", INEXACT, np.log, **FUNCTION, ignored_params=ACCURACY)
log = of_one(log_p, "The natural logarithm; -inf at 0, NaN for negative floats.")
defjvp(log_p, lambda g, x: div(g, x))

exp2_p = unary("exp2", INEXACT, np.exp2, **FUNCTION, ignored_params=ACCURACY)
exp2 = of_one(exp2_p, "2 to the power x.")
defjvp2(exp2_p, lambda g, out, x: mul(log(constant(x, 2)), mul(g, out)))


@in_float32
def _log2_impl(x: np.ndarray) -> np.ndarray:
    return np.log(x) * x.real.dtype.type(LOG2_E)


LOG2_E = 1.4426950408889634
log2_p = unary("log2", INEXACT, _log2_impl, **FUNCTION, ignored_params=ACCURACY)
log2 = of_one(log2_p, "The logarithm to base 2.")
defjvp(log2_p, lambda g, x: div(g, mul(x, log(constant(x, 2)))))


def _has_vectors(ufunc: str) -> bool:
    """Whether NumPy computes it for float32 with vector instructions of this processor."""
    found = np.lib.introspect.opt_func_info(func_name=f"^{ufunc}$", signature="float32")
    return ufunc in found and "baseline" not in found[ufunc]["ff"]["current"]


EXPM1_HAS_VECTORS = _has_vectors("expm1")


def _expm1_impl(x: np.ndarray) -> np.ndarray:
    """Where NumPy has no vector instructions for it, a float32's is made of tanh and exp, for which it has
    them: expm1(x) = tanh(x / 2) * (exp(x) + 1). It keeps the digits of small results, up to 4 units in the
    last. A complex number on the real line stays there: NumPy gives inf + nan j where exp overflows."""
    if np.iscomplexobj(x):
        return np.where(x.imag == 0, np.expm1(x.real), np.expm1(x))
    if x.dtype != np.float32 or EXPM1_HAS_VECTORS:
        return np.expm1(x)
    return np.tanh(x / np.float32(2)) * (np.exp(x) + np.float32(1))


expm1_p = unary("expm1", INEXACT, _expm1_impl, **FUNCTION, ignored_params=ACCURACY)
expm1 = of_one(expm1_p, "exp(x) - 1, accurate near 0.")
defjvp(expm1_p, lambda g, x: mul(g, exp(x)))

log1p_p = unary("log1p", INEXACT, np.log1p, **FUNCTION, ignored_params=ACCURACY)
log1p = of_one(log1p_p, "log(1 + x), accurate near 0.")
defjvp(log1p_p, lambda g, x: div(g, add(x, _one(x))))


# ---- any power ----

pow_p = Primitive("pow", axes="elementwise", **FUNCTION)


def _pow_impl(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    # With a scalar exponent 0.5 NumPy would use sqrt, which differs at -inf and -0.0.
    return np.power(x, np.full(np.broadcast_shapes(x.shape, y.shape), y, x.dtype))


def _pow_aval(x: ShapedArray, y: ShapedArray) -> ShapedArray:
    if dtypes.kind(x.dtype) in INEXACT and dtypes.kind(y.dtype) in "iu":
        y = y.update(dtype=x.dtype)
    return elementwise_aval("pow", INEXACT, x, y)


def _pow_jvp_x(g: Any, out: Any, x: Any, y: Any) -> Any:
    y_is_integer = dtypes.kind(dtypes.dtype(y)) in "iu"
    dtype = type_promotion.result_type(x, y)
    shape = shape_of(out)
    x, y = convert_element_type(x, dtype), convert_element_type(y, dtype)
    if not y_is_integer:
        return mul(g, mul(y, pow(x, sub(y, full_like(y, 1)))))
    if shape_of(x) != shape_of(y):
        x, y = broadcast_to_result(x, shape), broadcast_to_result(y, shape)
    # x**0 is 1 even at 0, so the derivative there is 0 instead of 0 * 0**-1.
    jacobian = select(
        eq(y, constant(y, 0)),
        full_like(y, 0),
        mul(replace_zero(y), pow(x, sub(y, full_like(y, 1)))),
    )
    return mul(g, jacobian)


def _pow_jvp_y(g: Any, out: Any, x: Any, y: Any) -> Any:
    return convert_element_type(mul(g, mul(log(replace_zero(x)), out)), dtypes.dtype(y))


impl_rules[pow_p] = _pow_impl
abstract_eval_rules[pow_p] = _pow_aval
defjvp2(pow_p, _pow_jvp_x, _pow_jvp_y)
defbroadcasting(pow_p)


def pow(x: Any, y: Any) -> Any:  # noqa: A001
    """Elementwise x to the power y: `x` a float or complex, `y` of its dtype or an integer."""
    return pow_p.bind(x, y)


# ---- hyperbolic functions ----

tanh_p = unary("tanh", INEXACT, np.tanh, **FUNCTION, ignored_params=ACCURACY)
tanh = of_one(tanh_p, "The hyperbolic tangent.")
defjvp2(tanh_p, lambda g, out, x: mul(g, one_minus_square(out)))


@in_float32
def _logistic_impl(x: np.ndarray) -> np.ndarray:
    return np.reciprocal(1 + np.exp(-x))


logistic_p = unary(
    "logistic", INEXACT, _logistic_impl, cost=(3, 1), makes_nan=True, ignored_params=ACCURACY
)
logistic = of_one(logistic_p, "The sigmoid 1 / (1 + exp(-x)).")
defjvp2(logistic_p, lambda g, out, x: mul(g, mul(out, sub(_one(out), out))))

sinh_p = unary("sinh", INEXACT, np.sinh, **FUNCTION)
sinh = of_one(sinh_p, "The hyperbolic sine.")
cosh_p = unary("cosh", INEXACT, np.cosh, **FUNCTION)
cosh = of_one(cosh_p, "The hyperbolic cosine.")
defjvp(sinh_p, lambda g, x: mul(g, cosh(x)))
defjvp(cosh_p, lambda g, x: mul(g, sinh(x)))


def _asinh_derivative(x: Any) -> Any:
    """1 / sqrt(1 + x**2); a large x is divided by a scale first, as its square could overflow."""
    dtype = dtypes.dtype(x)
    low, high = _scales(dtype)
    if dtypes.kind(dtype) == "c":
        return _complex_asinh_derivative(x, low, high)
    scale = stop_gradient(clamp(_one(x), mul(abs(x), constant(x, low)), constant(x, high)))
    inverse = integer_pow(scale, -1)
    return mul(inverse, rsqrt(add(square(mul(x, inverse)), square(inverse))))


def _complex_asinh_derivative(x: Any, low: float, high: float) -> Any:
    re, im = real(x), imag(x)
    largest = max(abs(re), abs(im))
    scale = stop_gradient(clamp(_one(re), mul(largest, constant(re, low)), constant(re, high)))
    inverse = integer_pow(scale, -1)
    re, im = mul(re, inverse), mul(im, inverse)
    root = rsqrt(complex(add(square(re), one_minus_square(im)), mul(constant(re, 2), mul(re, im))))
    return select(
        eq(largest, constant(re, np.inf)),
        full_like(x, 0),
        complex(mul(real(root), inverse), mul(imag(root), inverse)),
    )


def _scales(dtype: np.dtype) -> tuple[float, float]:
    """Two powers of 2: the factor from a number to its scale, and the largest scale."""
    half = dtypes.finfo(dtype).maxexp // 2
    return 2.0 ** (2 - half), 2.0 ** (half + 2)


asinh_p = unary("asinh", INEXACT, np.arcsinh, **FUNCTION)
asinh = of_one(asinh_p, "The inverse of sinh.")
defjvp(asinh_p, lambda g, x: mul(g, _asinh_derivative(x)))

acosh_p = unary("acosh", INEXACT, np.arccosh, **FUNCTION)
acosh = of_one(acosh_p, "The inverse of cosh; NaN below 1.")
defjvp(acosh_p, lambda g, x: mul(g, mul(rsqrt(sub(x, _one(x))), rsqrt(add(x, _one(x))))))

atanh_p = unary("atanh", INEXACT, np.arctanh, **FUNCTION)
atanh = of_one(atanh_p, "The inverse of tanh; NaN outside of [-1, 1].")
defjvp(atanh_p, lambda g, x: div(g, one_minus_square(x)))
