"""The normal distribution's probabilities, their logarithms and their inverse; erf, erfc and erfinv.

log(ndtr(x)) stays finite where ndtr(x) rounds to 0, by an asymptotic series.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.core import dtypes
from tinyjax.core.array import Array
from tinyjax.lax.host_functions import host_primitive
from tinyjax.numpy.promotion import promote_args_inexact
from tinyjax.numpy.util import constant_like
from tinyjax.scipy.special.operands import check_float, of_one, promote_strong
from tinyjax.transform.custom.forward_rules import custom_jvp
from tinyjax.transform.jvp import defjvp2

# ---- the error function ----

erf = of_one(
    "erf", lax.erf, "The error function, 2 / sqrt(pi) times the integral of exp(-t**2) from 0 to x."
)
erfc = of_one("erfc", lax.erfc, "1 - erf(x), accurate where that is small.")
erfinv = of_one("erfinv", lax.erf_inv, "The inverse of erf, from -1 to 1; infinite at the ends.")


def erfcinv(y: Any) -> Array:
    """The inverse of erfc, for y from 0 to 2; infinite at the ends, NaN outside."""
    (y,) = promote_args_inexact("erfcinv", y)
    if dtypes.kind(y.dtype) == "c":
        raise ValueError("erfcinv does not support complex-valued inputs.")
    small = dtypes.finfo(y.dtype).bits < 32
    out = (0.0 - ndtri(y.astype(np.float32 if small else y.dtype) / 2)) * math.sqrt(0.5)
    return out.astype(y.dtype)


# ---- the normal distribution ----


def ndtr(x: Any) -> Array:
    """The probability that a normal variate is below x. Raises TypeError unless x is float32 or float64."""
    x = jnp.asarray(x)
    check_float(x)
    return _ndtr(x)


def _ndtr(x: Any) -> Array:
    """By erf in the middle, and by erfc on the sides, each where it is accurate."""
    typ = x.dtype.type
    half_sqrt_2 = typ(0.5) * np.sqrt(2.0, dtype=x.dtype)
    w = x * half_sqrt_2
    z = lax.abs(w)
    in_middle, middle = lax.lt(z, half_sqrt_2), typ(1.0) + lax.erf(w)
    side = lax.select(lax.gt(w, typ(0.0)), typ(2.0) - lax.erfc(z), lax.erfc(z))
    return typ(0.5) * lax.select(in_middle, middle, side)


ndtri_p = host_primitive("ndtri", 1, lambda special, p: special.ndtri(p))
defjvp2(ndtri_p, lambda g, out, p: g * (math.sqrt(2 * math.pi) * lax.exp(0.5 * out * out)))


def ndtri(p: Any) -> Array:
    """The inverse of ndtr, for p from 0 to 1; infinite at the ends, NaN outside.

    Raises TypeError unless p is float32 or float64."""
    p = jnp.asarray(p)
    check_float(p)
    return ndtri_p.bind(*promote_strong("ndtri", p))


# Below this the series is used.
_LOWER_BOUND = {np.dtype("float32"): -10, np.dtype("float64"): -20}


@partial(custom_jvp, nondiff_argnums=(1,))
def log_ndtr(x: Any, series_order: int = 3) -> Array:
    """log(ndtr(x)), finite for all finite x; far below 0 by `series_order` terms (0 to 30) of a series.

    Raises TypeError unless x is float32 or float64 and series_order an int, ValueError out of range."""
    if not isinstance(series_order, int):
        raise TypeError(f"series_order must be a Python integer, got {series_order!r}.")
    if not 0 <= series_order <= 30:
        bound = "non-negative" if series_order < 0 else "<= 30"
        raise ValueError(f"series_order must be {bound}, got {series_order}.")
    x = jnp.asarray(x)
    check_float(x)
    low = np.array(_LOWER_BOUND[x.dtype], x.dtype)
    in_middle = lax.log(_ndtr(lax.clamp(low, x, np.zeros_like(low))))
    series = _log_ndtr_by_series(lax.min(x, low), series_order)
    not_positive = jnp.where(lax.gt(x, low), in_middle, series)
    return jnp.where(x > 0, lax.log1p(-_ndtr(-x)), not_positive)


@log_ndtr.defjvp
def _log_ndtr_jvp(series_order: int, primals: Any, tangents: Any) -> Any:
    """The density over the probability."""
    (x,), (x_dot,) = primals, tangents
    out = log_ndtr(x, series_order)
    return out, lax.mul(x_dot, lax.exp(lax.sub(_log_density(x), out)))


def _log_density(x: Any) -> Array:
    half_square = lax.mul(constant_like(x, -0.5), lax.square(x))
    return lax.sub(half_square, constant_like(x, math.log(math.sqrt(2 * math.pi))))


def _log_ndtr_by_series(x: Any, terms: int) -> Array:
    """log of density(x) / -x times 1 - 1/x**2 + 3/x**4 - 15/x**6 + ..., for x far below 0.

    Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.2.12"""
    x_2 = lax.square(x)
    total = term = lax.full_like(x, 1)
    for n in range(1, terms + 1):
        term = term * -(2 * n - 1) / x_2
        total = total + term
    return _log_density(x) - lax.log(-x) + lax.log(total)
