"""x log y where 0 log 0 is 0, and what is made of it: entropies; the logistic function and its inverse.

At x = 0, y = 0, `x * log(y)` is NaN, and so is its derivative. custom_jvp says what is right there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.core.array import Array
from tinyjax.numpy.promotion import promote_args_inexact
from tinyjax.numpy.util import weak_constant_like
from tinyjax.scipy.special.operands import of_one, promote_args_real
from tinyjax.transform.custom.forward_rules import custom_jvp

# ---- x log y ----


def _product_with_logarithm(name: str, log: Callable, x: Any, y: Any) -> Array:
    x, y = promote_args_inexact(name, x, y)
    counts = (x != 0.0) | jnp.isnan(y)
    return jnp.where(counts, lax.mul(x, log(y)), jnp.zeros_like(x))


@custom_jvp
def xlogy(x: Any, y: Any) -> Array:
    """x * log(y), and 0 where x is 0, whatever y is, but for NaN."""
    return _product_with_logarithm("xlogy", lax.log, x, y)


@xlogy.defjvp
def _xlogy_jvp(primals: Any, tangents: Any) -> Any:
    (x, y), (x_dot, y_dot) = primals, tangents
    out = xlogy(x, y)
    return out, (x_dot * lax.log(y) + y_dot * x / y).astype(out.dtype)


@custom_jvp
def xlog1py(x: Any, y: Any) -> Array:
    """x * log(1 + y), accurate for small y, and 0 where x is 0."""
    return _product_with_logarithm("xlog1py", lax.log1p, x, y)


@xlog1py.defjvp
def _xlog1py_jvp(primals: Any, tangents: Any) -> Any:
    (x, y), (x_dot, y_dot) = primals, tangents
    out = xlog1py(x, y)
    return out, (x_dot * lax.log1p(y) + y_dot * x / (1 + y)).astype(out.dtype)


# ---- entropies ----


@custom_jvp
def _xlogx(x: Any) -> Array:
    return xlogy(x, x)


@_xlogx.defjvp
def _xlogx_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (x_dot,) = primals, tangents
    return _xlogx(x), x_dot * (lax.log(x) + 1)


def entr(x: Any) -> Array:
    """-x log(x), an element of the entropy: 0 at 0, -inf for x < 0. Raises ValueError for complex ones."""
    (x,) = promote_args_real("entr", x)
    negative = lax.lt(x, weak_constant_like(x, 0))
    return lax.select(negative, lax.full_like(x, -np.inf), lax.neg(_xlogx(x)))


def rel_entr(p: Any, q: Any) -> Array:
    """p log(p / q), an element of the relative entropy; 0 at p = 0 and q >= 0, else inf where one is not
    positive. Raises ValueError for complex numbers."""
    p, q = promote_args_real("rel_entr", p, q)
    zero = weak_constant_like(p, 0.0)
    both_positive = lax.bitwise_and(lax.gt(p, zero), lax.gt(q, zero))
    is_zero = lax.bitwise_and(lax.eq(p, zero), lax.ge(q, zero))
    safe_p, safe_q = jnp.where(both_positive, p, 1), jnp.where(both_positive, q, 1)
    value = lax.sub(_xlogx(safe_p), xlogy(safe_p, safe_q))
    return jnp.where(both_positive, value, jnp.where(is_zero, zero, np.inf))


def kl_div(p: Any, q: Any) -> Array:
    """p log(p / q) - p + q, which is >= 0 for each element: of the Kullback-Leibler divergence.

    Raises ValueError for complex numbers."""
    p, q = promote_args_real("kl_div", p, q)
    return rel_entr(p, q) - p + q


# ---- the logistic function ----

expit = of_one(
    "expit", lax.logistic, "The logistic function 1 / (1 + exp(-x)), also called sigmoid."
)


@custom_jvp
def logit(x: Any) -> Array:
    """log(x / (1 - x)), the inverse of expit; infinite at 0 and 1, NaN outside."""
    (x,) = promote_args_inexact("logit", x)
    return lax.log(lax.div(x, lax.sub(weak_constant_like(x, 1), x)))


logit.defjvps(lambda g, out, x: lax.div(g, lax.mul(x, lax.sub(weak_constant_like(x, 1), x))))


# ---- Box and Cox's transformation ----


def _box_cox(log_x: Any, power: Any) -> Array:
    """(exp(power * log_x) - 1) / power, whose limit at power = 0 is log_x."""
    is_zero = power == 0
    safe = jnp.where(is_zero, jnp.ones_like(power), power)
    return jnp.where(is_zero, log_x, jnp.expm1(safe * log_x) / safe)


def boxcox(x: Any, lmbda: Any) -> Array:
    """(x**lmbda - 1) / lmbda, and log(x) where lmbda is 0."""
    x, lmbda = promote_args_inexact("boxcox", x, lmbda)
    return _box_cox(jnp.log(x), lmbda)


def boxcox1p(x: Any, lmbda: Any) -> Array:
    """boxcox(1 + x, lmbda), accurate for small x."""
    x, lmbda = promote_args_inexact("boxcox1p", x, lmbda)
    return _box_cox(jnp.log1p(x), lmbda)
