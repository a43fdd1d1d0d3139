"""Draws from more continuous distributions, most by the inverse of their distribution function.

F(x) is uniform, so x = inverse of F at a uniform number.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.core import dtypes
from tinyjax.core.array import Array
from tinyjax.numpy.placing import takes_out_sharding
from tinyjax.numpy.util import canonicalize_shape, constant, constant_like
from tinyjax.random.distributions import (
    _uniform,
    checked_dtype,
    checked_shape,
    normal,
    optional_shape,
    rademacher,
    sampler,
    uniform,
)
from tinyjax.random.keys import split_typed, typed_key
from tinyjax.transform.jit.api import jitted

# ---- without parameters ----


@takes_out_sharding
@sampler
def exponential(key: Any, shape: Any = (), dtype: Any = None) -> Array:
    """Exponential numbers of mean 1."""
    return lax.neg(lax.log1p(lax.neg(uniform(key, shape, dtype))))  # log of (0, 1], never of 0


@takes_out_sharding
def gumbel(key: Any, shape: Any = (), dtype: Any = None, mode: str | None = None) -> Array:
    """Gumbel numbers: argmax(logits + gumbel) is a draw from the categorical distribution.

    mode="high" resolves the upper tail to about 32 instead of 16, for twice the bits.
    Raises ValueError for another mode than "low" (the default) and "high"."""
    key = typed_key("gumbel", key)
    dtype = checked_dtype("gumbel", dtype)
    if mode not in (None, "high", "low"):
        raise ValueError(f"Must provide valid mode for gumbel, 'low' or 'high'; got: {mode}")
    return _gumbel(key, canonicalize_shape(shape), dtype, mode or "low")


@jitted(static_argnames=("shape", "dtype", "mode"))
def _gumbel(key: Any, shape: tuple[int, ...], dtype: np.dtype, mode: str) -> Any:
    info = dtypes.finfo(dtype)
    if mode == "high":
        high, low = _uniform(key, minval=0.0, maxval=1.0, shape=(2, *shape), dtype=dtype)
        x = jnp.where(high >= 0.5, high, high + 2.0**-info.nmant * low + info.tiny)
        return -jnp.log(-jnp.log1p(-x))
    tiny = constant(info.tiny, dtype)
    return -jnp.log(-jnp.log(_uniform(key, minval=tiny, maxval=1.0, shape=shape, dtype=dtype)))


@takes_out_sharding
@sampler
def laplace(key: Any, shape: Any = (), dtype: Any = None) -> Array:
    """Laplace numbers of mean 0 and scale 1."""
    above_minus_one = constant(-1.0 + dtypes.finfo(dtype).epsneg, dtype)
    u = uniform(key, shape, dtype, minval=above_minus_one, maxval=1.0)
    return lax.mul(lax.sign(u), lax.log1p(lax.neg(lax.abs(u))))


@takes_out_sharding
@sampler
def logistic(key: Any, shape: Any = (), dtype: Any = None) -> Array:
    """Logistic numbers of mean 0 and scale 1."""
    u = uniform(key, shape, dtype, minval=constant(dtypes.finfo(dtype).tiny, dtype), maxval=1.0)
    return lax.sub(lax.log(u), lax.log1p(lax.neg(u)))


@takes_out_sharding
@sampler
def cauchy(key: Any, shape: Any = (), dtype: Any = None) -> Array:
    """Cauchy numbers of location 0 and scale 1."""
    u = uniform(key, shape, dtype, minval=constant(dtypes.finfo(dtype).eps, dtype), maxval=1.0)
    return lax.tan(lax.mul(constant_like(u, np.pi), lax.sub(u, constant_like(u, 0.5))))


@takes_out_sharding
@sampler
def maxwell(key: Any, shape: Any = (), dtype: Any = None) -> Array:
    """The length of vectors of three normal numbers."""
    return jnp.linalg.norm(normal(key, (*shape, 3), dtype), axis=-1)


# ---- with parameters, whose shape is the default ----


@takes_out_sharding
def lognormal(key: Any, sigma: Any = 1.0, shape: Any = None, dtype: Any = None) -> Array:
    """exp(sigma * x) of normal numbers x."""
    key = typed_key("lognormal", key)
    dtype = checked_dtype("lognormal", dtype)
    shape = checked_shape("lognormal", optional_shape(shape), sigma)
    return lax.exp(normal(key, shape, dtype) * lax.convert_element_type(sigma, dtype))


@takes_out_sharding
@sampler
def pareto(key: Any, b: Any, shape: Any = None, dtype: Any = None) -> Array:
    """Pareto numbers, at least 1, of density b / x**(b + 1)."""
    shape = checked_shape("pareto", shape, b)
    b = lax.convert_element_type(b, dtype)
    return lax.exp(exponential(key, shape, dtype) / b)


@takes_out_sharding
@sampler
def rayleigh(key: Any, scale: Any, shape: Any = None, dtype: Any = None) -> Array:
    """Rayleigh numbers: the length of vectors of two normal numbers, times `scale`."""
    shape = checked_shape("rayleigh", shape, scale)
    u = uniform(key, shape, dtype)
    scale = jnp.broadcast_to(lax.convert_element_type(scale, dtype), shape)
    return lax.mul(scale, lax.sqrt(lax.mul(lax.log(u), constant_like(scale, -2))))


@sampler
def weibull_min(
    key: Any, scale: Any, concentration: Any, shape: Any = (), dtype: Any = None
) -> Array:
    """Weibull numbers; `shape` must end with the parameters' shape."""
    u = uniform(key, shape, dtype, minval=0, maxval=1)
    return jnp.power(-jnp.log1p(-u), 1.0 / concentration) * scale


@takes_out_sharding
def triangular(
    key: Any, left: Any, mode: Any, right: Any, shape: Any = None, dtype: Any = None
) -> Array:
    """Numbers in [left, right] whose density is a triangle with its peak at `mode`."""
    key = typed_key("triangular", key)
    dtype = checked_dtype("triangular", dtype)
    shape = checked_shape("triangular", optional_shape(shape), left, mode, right)
    left, right, mode = (
        jnp.broadcast_to(lax.convert_element_type(x, dtype), shape) for x in (left, right, mode)
    )
    peak = (mode - left) / (right - left)
    u = uniform(key, shape, dtype)
    rising = left + lax.sqrt(u * (right - left) * (mode - left))
    falling = right - lax.sqrt((1 - u) * (right - left) * (right - mode))
    return lax.select(u < peak, rising, falling)


@takes_out_sharding
@sampler
def wald(key: Any, mean: Any, shape: Any = None, dtype: Any = None) -> Array:
    """Wald numbers (inverse Gaussian, of scale 1): when a walk with drift reaches a height.

    Source: Michael, Schucany and Haas, "Generating random variates using transformations with multiple
    roots" (1976)."""
    shape = checked_shape("wald", shape, mean)
    key_n, key_u = split_typed(key)
    mean = jnp.broadcast_to(lax.convert_element_type(mean, dtype), shape)
    x, u = normal(key_n, shape, dtype), uniform(key_u, shape, dtype)
    y = x**2
    y_squared, mean_squared = y**2, mean**2
    root = jnp.sqrt(4 * mean * y + mean_squared * y_squared)
    smaller = mean + mean_squared * y / 2 - mean / 2 * root
    return lax.select(u <= mean / (mean + smaller), smaller, mean_squared / smaller)


@sampler
def double_sided_maxwell(
    key: Any, loc: Any, scale: Any, shape: Any = (), dtype: Any = None
) -> Array:
    """loc + scale * x of Maxwell numbers x with a random sign. The result has the shape `shape` followed
    by the parameters' shape; `shape` is by default the parameters' too."""
    of_parameters = checked_shape("double_sided_maxwell", None, loc, scale)
    shape = (shape or of_parameters) + of_parameters
    key_x, key_sign = split_typed(key)
    x = maxwell(key_x, shape, dtype)
    signed = rademacher(key_sign, shape, dtype) * x
    return signed * lax.convert_element_type(scale, dtype) + lax.convert_element_type(loc, dtype)
