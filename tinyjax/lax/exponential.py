"""Exponentials, logarithms and what is made of them: logistic, tanh, sinh, cosh and inverses.

After this file you can derive the JVP rules, which use the result where that saves work:
d tanh = (1 - tanh**2) dx, written (g + g * ans) * (1 - ans). All take floats and complex numbers.
Builds on arithmetic.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax.interpreters.jvp import defjvp, defjvp2
from tinyjax.lax.arithmetic import div, integer_pow, rsqrt, square, sub
from tinyjax.lax.creation import full_like
from tinyjax.lax.elementwise import INEXACT, constant, in_float32, unary
from tinyjax.primitives import add, mul


def _one(x: Any) -> Any:
    """A scalar one with the dtype and weak type of `x`."""
    return full_like(x, 1, shape=())


# ---- exponentials and logarithms ----

exp_p = unary("exp", INEXACT, np.exp)
defjvp2(exp_p, lambda g, out, x: mul(g, out))

exp2_p = unary("exp2", INEXACT, np.exp2)
defjvp2(exp2_p, lambda g, out, x: mul(log(constant(x, 2)), mul(g, out)))

log_p = unary("log", INEXACT, np.log)
defjvp(log_p, lambda g, x: div(g, x))

expm1_p = unary("expm1", INEXACT, np.expm1)
defjvp2(expm1_p, lambda g, out, x: mul(g, add(out, _one(out))))

log1p_p = unary("log1p", INEXACT, np.log1p)
defjvp(log1p_p, lambda g, x: div(g, add(x, _one(x))))


# ---- hyperbolic functions ----

tanh_p = unary("tanh", INEXACT, np.tanh)
defjvp2(tanh_p, lambda g, out, x: mul(add(g, mul(g, out)), sub(_one(x), out)))


@in_float32
def _logistic_impl(x: np.ndarray) -> np.ndarray:
    if x.dtype.kind == "c":
        return np.reciprocal(1 + np.exp(-x))
    e = np.exp(-np.abs(x))  # is a number everywhere, and keeps the digits of small results
    return np.where(x < 0, e, e.dtype.type(1)) / (1 + e)


logistic_p = unary("logistic", INEXACT, _logistic_impl)
defjvp2(logistic_p, lambda g, out, x: mul(g, mul(out, sub(_one(out), out))))

sinh_p = unary("sinh", INEXACT, np.sinh)
defjvp(sinh_p, lambda g, x: mul(g, cosh(x)))

cosh_p = unary("cosh", INEXACT, np.cosh)
defjvp(cosh_p, lambda g, x: mul(g, sinh(x)))

asinh_p = unary("asinh", INEXACT, np.arcsinh)
defjvp(asinh_p, lambda g, x: mul(g, rsqrt(add(square(x), _one(x)))))

acosh_p = unary("acosh", INEXACT, np.arccosh)
defjvp(acosh_p, lambda g, x: mul(g, rsqrt(sub(square(x), _one(x)))))

atanh_p = unary("atanh", INEXACT, np.arctanh)
defjvp(
    atanh_p,
    lambda g, x: mul(integer_pow(add(_one(x), x), -1), div(g, sub(_one(x), x))),
)


# ---- functions ----


def exp(x: Any) -> Any:
    """e to the power x."""
    return exp_p.bind(x)


def exp2(x: Any) -> Any:
    """2 to the power x."""
    return exp2_p.bind(x)


def log(x: Any) -> Any:
    """The natural logarithm; -inf at 0, NaN for negative floats."""
    return log_p.bind(x)


def expm1(x: Any) -> Any:
    """exp(x) - 1, accurate near 0."""
    return expm1_p.bind(x)


def log1p(x: Any) -> Any:
    """log(1 + x), accurate near 0."""
    return log1p_p.bind(x)


def tanh(x: Any) -> Any:
    """The hyperbolic tangent."""
    return tanh_p.bind(x)


def logistic(x: Any) -> Any:
    """The sigmoid 1 / (1 + exp(-x))."""
    return logistic_p.bind(x)


def sinh(x: Any) -> Any:
    """The hyperbolic sine."""
    return sinh_p.bind(x)


def cosh(x: Any) -> Any:
    """The hyperbolic cosine."""
    return cosh_p.bind(x)


def asinh(x: Any) -> Any:
    """The inverse of sinh."""
    return asinh_p.bind(x)


def acosh(x: Any) -> Any:
    """The inverse of cosh; NaN below 1."""
    return acosh_p.bind(x)


def atanh(x: Any) -> Any:
    """The inverse of tanh; NaN outside of [-1, 1]."""
    return atanh_p.bind(x)
