"""x log y with 0 log 0 = 0, and functions of it: entropies; the logistic function and its inverse.

At x = 0, y = 0, `x * log(y)` is NaN, and so is its derivative. custom_jvp gives the right one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.core import dtypes
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
    return _rel_entr(*promote_args_real("rel_entr", p, q), False)


def kl_div(p: Any, q: Any) -> Array:
    """p log(p / q) - p + q, which is >= 0 for each element: of the Kullback-Leibler divergence.

    Raises ValueError for complex numbers."""
    return _rel_entr(*promote_args_real("kl_div", p, q), True)


class _Domain(NamedTuple):
    """Where a pair p, q lies, and its numbers with ones where they are not both positive."""

    is_nan: Any
    both_positive: Any
    p_is_zero: Any  # and q is not negative
    p: Any
    q: Any


def _domain(p: Any, q: Any) -> _Domain:
    zero = weak_constant_like(p, 0)
    is_nan = lax.bitwise_or(jnp.isnan(p), jnp.isnan(q))
    positive = lax.bitwise_and(lax.gt(p, zero), lax.gt(q, zero))
    p_is_zero = lax.bitwise_and(lax.eq(p, zero), lax.ge(q, zero))
    return _Domain(
        is_nan, positive, p_is_zero, jnp.where(positive, p, 1), jnp.where(positive, q, 1)
    )


def _log_ratio(p: Any, q: Any) -> tuple[Any, Any, Any]:
    """log(p / q) of positive numbers, where p is within a factor of two of q, and (p - q) / q there.

    There it is log1p((p - q) / q), which does not cancel; log(p) - log(q) where p / q has no digits."""
    ratio = lax.div(p, q)
    is_near = (ratio > 0.5) & (ratio < 2.0)
    has_digits = (ratio > float(dtypes.finfo(p.dtype).tiny)) & (ratio < np.inf)
    near_p, near_q = jnp.where(is_near, p, 1), jnp.where(is_near, q, 1)
    change = (near_p - near_q) / near_q
    far = jnp.where(has_digits, lax.log(jnp.where(has_digits, ratio, 1)), lax.log(p) - lax.log(q))
    return jnp.where(is_near, lax.log1p(change), far), is_near, change


@functools.partial(custom_jvp, nondiff_argnums=(2,))
def _rel_entr(p: Any, q: Any, less_difference: bool) -> Any:
    """p log(p / q); with `less_difference`, less p - q, for near numbers by the series in (p - q) / q."""
    at = _domain(p, q)
    logarithm, is_near, u = _log_ratio(at.p, at.q)
    value, at_zero = lax.mul(at.p, logarithm), weak_constant_like(p, 0)
    if less_difference:
        factor = 1 / 2 - u * (1 / 6 - u * (1 / 12 - u * (1 / 20 - u / 30)))
        by_series = (at.p - at.q) * u * factor
        value = jnp.where(is_near & (abs(u) < 0.05), by_series, value - (at.p - at.q))
        at_zero = jnp.where(at.p_is_zero, q, at_zero)
    outside = jnp.where(at.p_is_zero, at_zero, np.inf)
    return jnp.where(at.is_nan, np.nan, jnp.where(at.both_positive, value, outside))


@_rel_entr.defjvp
def _rel_entr_jvp(less_difference: bool, primals: Any, tangents: Any) -> Any:
    (p, q), (p_dot, q_dot) = primals, tangents
    at = _domain(p, q)
    by_p = _log_ratio(at.p, at.q)[0]
    if less_difference:
        is_finite = at.q < np.inf
        finite_q = jnp.where(is_finite, at.q, 1)
        by_q = -jnp.where(is_finite, (jnp.where(is_finite, at.p, 1) - finite_q) / finite_q, -1.0)
    else:
        by_p, by_q = by_p + 1.0, -(at.p / at.q)
    q_at_zero = jnp.where(at.p_is_zero, 1.0 if less_difference else 0.0, 0.0)
    by_p = jnp.where(at.is_nan, np.nan, jnp.where(at.both_positive, by_p, 0.0))
    by_q = jnp.where(at.is_nan, np.nan, jnp.where(at.both_positive, by_q, q_at_zero))
    out = _rel_entr(p, q, less_difference)
    return out, (p_dot * by_p + q_dot * by_q).astype(out.dtype)


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
