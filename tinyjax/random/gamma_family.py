"""Distributions made of gamma numbers: beta, dirichlet, chisquare, f, t, generalized_normal, ball.

A gamma number divided by a sum of two is a beta number; a normal number divided by the root of one is
Student's t. Quotients are computed from logarithms, which do not underflow for small parameters. Errors
are those that distributions names.

Source: https://docs.jax.dev/en/latest/jax.random.html;
L. Devroye, "Non-uniform random variate generation" (1986), chapter IX
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.core.array import Array
from tinyjax.core.primitives import shape_of
from tinyjax.numpy.log_sums import softmax
from tinyjax.numpy.placing import takes_out_sharding
from tinyjax.numpy.util import canonicalize_shape, check_arraylike, concrete_int, constant
from tinyjax.random.continuous import exponential
from tinyjax.random.distributions import (
    check_broadcasts,
    checked_dtype,
    checked_shape,
    is_approximate,
    normal,
    optional_shape,
    rademacher,
    sampler,
)
from tinyjax.random.gamma_sampler import random_gamma_p
from tinyjax.random.keys import split_typed, typed_key
from tinyjax.transform.jit.api import jitted

# ---- gamma ----


@takes_out_sharding
def gamma(
    key: Any, a: Any, shape: Any = None, dtype: Any = None, *, method: str = "exact"
) -> Array:
    """Gamma numbers of density x**(a - 1) * exp(-x) / Gamma(a); differentiable in `a`."""
    key = typed_key("gamma", key)
    dtype = checked_dtype("gamma", dtype)
    draw = _sampler_of("gamma", method)
    return draw(key, a, shape=optional_shape(shape), dtype=dtype)


@takes_out_sharding
def loggamma(
    key: Any, a: Any, shape: Any = None, dtype: Any = None, *, method: str = "exact"
) -> Array:
    """The logarithms of gamma numbers, accurate even if the numbers themselves underflow to 0."""
    key = typed_key("loggamma", key)
    dtype = checked_dtype("loggamma", dtype)
    draw = _sampler_of("loggamma", method)
    return draw(key, a, shape=optional_shape(shape), dtype=dtype, log_space=True)


def _sampler_of(name: str, method: str) -> Any:
    if not is_approximate(name, method):
        return _gamma
    from tinyjax.random import approximate  # rarely used

    return approximate.gamma


@jitted(static_argnames=("shape", "dtype", "log_space"))
def _gamma(
    key: Any, a: Any, shape: tuple[int, ...] | None, dtype: np.dtype, log_space: bool = False
) -> Any:
    shape = checked_shape("gamma", shape, a)
    a = jnp.broadcast_to(lax.convert_element_type(a, dtype), shape)
    return random_gamma_p.bind(key, a, log_space=log_space)


# ---- parts of a sum ----


@takes_out_sharding
@sampler
def beta(
    key: Any, a: Any, b: Any, shape: Any = None, dtype: Any = None, *, method: str = "exact"
) -> Array:
    """Numbers in [0, 1] of density proportional to x**(a - 1) * (1 - x)**(b - 1)."""
    shape = checked_shape("beta", shape, a, b)
    a, b = (lax.convert_element_type(x, dtype) for x in (a, b))
    key_a, key_b = split_typed(key)
    a, b = jnp.broadcast_to(a, shape), jnp.broadcast_to(b, shape)
    log_a = loggamma(key_a, a, shape, dtype, method=method)
    log_b = loggamma(key_b, b, shape, dtype, method=method)
    largest = lax.max(log_a, log_b)
    part_a, part_b = lax.exp(lax.sub(log_a, largest)), lax.exp(lax.sub(log_b, largest))
    return lax.div(part_a, lax.add(part_a, part_b))


@takes_out_sharding
@sampler
def dirichlet(key: Any, alpha: Any, shape: Any = None, dtype: Any = None) -> Array:
    """Vectors of n numbers >= 0 whose sum is 1, for `alpha` of shape (..., n).

    `shape` is the batch's, without n. Raises ValueError for a scalar `alpha`."""
    check_arraylike("dirichlet", alpha)
    if not np.ndim(alpha):
        raise ValueError(
            "dirichlet requires alpha.ndim >= 1, got alpha.ndim == 0: give one number for each part"
        )
    *batch_shape, parts = shape_of(alpha)
    if shape is None:
        shape = tuple(batch_shape)
    else:
        check_broadcasts("dirichlet", shape, tuple(batch_shape))
    alpha = lax.convert_element_type(alpha, dtype)
    return softmax(loggamma(key, alpha, (*shape, parts), dtype), -1)


# ---- squares of normal numbers ----


@takes_out_sharding
@sampler
def chisquare(
    key: Any, df: Any, shape: Any = None, dtype: Any = None, *, method: str = "exact"
) -> Array:
    """Sums of the squares of `df` normal numbers; `df` may be fractional."""
    shape = checked_shape("chisquare", shape, df)
    two = constant(2, dtype)
    half_df = lax.div(lax.convert_element_type(df, dtype), two)
    return lax.mul(lax.exp(loggamma(key, half_df, shape, dtype, method=method)), two)


@takes_out_sharding
@sampler
def f(key: Any, dfnum: Any, dfden: Any, shape: Any = None, dtype: Any = None) -> Array:
    """Quotients of two chisquare numbers, each divided by its degrees of freedom."""
    shape = checked_shape("f", shape, dfnum, dfden)
    dfden = lax.convert_element_type(dfden, dtype)
    dfnum = lax.convert_element_type(dfnum, dtype)
    key_den, key_num = split_typed(key)
    numerator = chisquare(key_num, dfnum, shape, dtype)
    denominator = chisquare(key_den, dfden, shape, dtype)
    return lax.div(numerator / dfnum, denominator / dfden)


@takes_out_sharding
@sampler
def t(key: Any, df: Any, shape: Any = None, dtype: Any = None) -> Array:
    """Student's t: normal numbers, each divided by the root of a chisquare number over `df`."""
    shape = checked_shape("t", shape, df)
    df = lax.convert_element_type(df, dtype)
    key_n, key_g = split_typed(key)
    n = normal(key_n, shape, dtype)
    half_df = lax.div(df, constant(2, dtype))
    g = gamma(key_g, half_df, shape, dtype)
    return n * lax.sqrt(half_df / g)


# ---- powers ----


@takes_out_sharding
@sampler
def generalized_normal(key: Any, p: Any, shape: Any = (), dtype: Any = None) -> Array:
    """Numbers of density proportional to exp(-|x|**p); `shape` must end with the shape of `p`."""
    keys = split_typed(key)
    g = gamma(keys[0], 1 / p, shape, dtype)
    return rademacher(keys[1], shape, dtype) * g ** (1 / p)


@takes_out_sharding
def ball(key: Any, d: int, p: Any = 2, shape: Any = (), dtype: Any = None) -> Array:
    """Points, uniform in the unit ball of the `p`-norm in `d` dimensions: an array (*shape, d).

    Raises TypeError or ConcretizationTypeError if `d` is no known integer.
    Source: Barthe et al., "A probabilistic approach to the geometry of the l_p^n-ball" (2005)."""
    shape = canonicalize_shape(shape)
    key = typed_key("ball", key)
    dtype = checked_dtype("ball", dtype)
    d = concrete_int(d, "It is the argument d of jax.random.ball().")
    return _ball(key, d, p, shape, dtype)


@jitted(static_argnames=("d", "shape", "dtype"))
def _ball(key: Any, d: int, p: Any, shape: tuple[int, ...], dtype: np.dtype) -> Any:
    key_g, key_e = split_typed(key)
    g = generalized_normal(key_g, p, (*shape, d), dtype)
    e = exponential(key_e, shape, dtype)
    return g / ((jnp.abs(g) ** p).sum(-1) + e)[..., None] ** (1 / p)
