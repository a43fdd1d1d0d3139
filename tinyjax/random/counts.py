"""Distributions of counts: geometric and poisson.

For a small rate, a Poisson number is the number of waiting times that fit into one; for a large rate it
is drawn by rejection under a curve. Both run for all elements until the last is done, with new keys each
round. binomials.py does the same for draws with a limit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.core import dtypes
from tinyjax.core.array import Array
from tinyjax.core.primitives import shape_of
from tinyjax.lax.control_flow.while_loop import while_loop
from tinyjax.numpy.placing import takes_out_sharding
from tinyjax.numpy.promotion import promote_dtypes_inexact
from tinyjax.numpy.util import check_arraylike, dtype_of, user_dtype
from tinyjax.random.distributions import checked_shape, is_approximate, optional_shape, uniform
from tinyjax.random.keys import clone, split_typed, typed_key
from tinyjax.transform.jit.api import jitted


def checked_integer_dtype(name: str, dtype: Any) -> np.dtype:
    """The dtype of counts. Raises ValueError if it is no integer dtype."""
    dtype = user_dtype(int if dtype is None else dtype, name)
    if dtypes.kind(dtype) not in "iu":
        raise ValueError(f"dtype argument to `{name}` must be an int dtype, got {dtype.name}")
    return dtype


# ---- trials until a success ----


@takes_out_sharding
def geometric(key: Any, p: Any, shape: Any = None, dtype: Any = None) -> Array:
    """The number of trials until the first success (1 or more), if each succeeds with probability `p`."""
    key = typed_key("geometric", key)
    dtype = checked_integer_dtype("geometric", dtype)
    return _geometric(key, p, optional_shape(shape), dtype)


@jitted(static_argnames=("shape", "dtype"))
def _geometric(key: Any, p: Any, shape: tuple[int, ...] | None, dtype: np.dtype) -> Any:
    shape = checked_shape("geometric", shape, p)
    check_arraylike("geometric", p)
    (p,) = promote_dtypes_inexact(p)
    u = uniform(key, shape, p.dtype)
    log_u = lax.log(jnp.where(u == 0, 1, u))
    log_failure = jnp.broadcast_to(lax.log1p(-p), shape)
    return (lax.floor(lax.div(log_u, log_failure)) + 1).astype(dtype)


# ---- events per time ----


@takes_out_sharding
def poisson(
    key: Any, lam: Any, shape: Any = None, dtype: Any = None, *, method: str = "exact"
) -> Array:
    """The number of events in a time that has `lam` events on average.

    Computed in float32. A NaN and a negative `lam` give -1.
    Source: D. Knuth, "The art of computer programming", volume 2, 3.4.1; W. Hoermann, "The transformed
    rejection method for generating Poisson random variables" (1993), algorithm PTRS."""
    key = typed_key("poisson", key)
    dtype = checked_integer_dtype("poisson", dtype)
    shape = optional_shape(shape)
    if is_approximate("poisson", method):
        from tinyjax.random import approximate  # rarely used

        return approximate.poisson(
            key, lam, shape=checked_shape("poisson", shape, lam), dtype=dtype
        )
    lam = jnp.broadcast_to(lam, shape_of(lam) if shape is None else shape)
    lam = lax.convert_element_type(lam, np.dtype("float32"))
    return _poisson(key, lam, shape=lam.shape, dtype=dtype)


@jitted(static_argnames=("shape", "dtype"))
def _poisson(key: Any, lam: Any, shape: tuple[int, ...], dtype: np.dtype) -> Any:
    is_small = jnp.isnan(lam) | (lam < 10)
    counted = lax.select(is_small, lam, lax.full_like(lam, 0.0))
    tried = lax.select(is_small, lax.full_like(lam, 1e5), lam)
    drawn = lax.select(
        is_small,
        _poisson_knuth(key, counted, shape=shape, dtype=dtype),
        _poisson_rejection(clone(key), tried, shape=shape, dtype=dtype),
    )
    return lax.select(lam == 0, lax.full_like(drawn, 0), drawn)


@jitted(static_argnames=("shape", "dtype"))
def _poisson_knuth(key: Any, lam: Any, shape: tuple[int, ...], dtype: np.dtype) -> Any:
    """Counts waiting times -log(u) until their sum exceeds `lam`."""
    most = np.iinfo(dtype).max

    def go_on(carry: Any) -> Any:
        rounds, _, _, log_product = carry
        return (log_product > -lam).any() & (rounds.astype(dtype) < most)

    def count(carry: Any) -> Any:
        rounds, k, key, log_product = carry
        key, subkey = split_typed(key)
        k = lax.select(log_product > -lam, k + 1, k)
        u = uniform(subkey, shape, dtype_of(lam))
        return rounds + 1, k, key, log_product + jnp.log(u)

    start = (0, lax.full(shape, 0, dtype), key, lax.full(shape, 0.0, dtype_of(lam)))
    return while_loop(go_on, count, start)[1] - 1


@jitted(static_argnames=("shape", "dtype"))
def _poisson_rejection(key: Any, lam: Any, shape: tuple[int, ...], dtype: np.dtype) -> Any:
    """Algorithm PTRS, with the paper's names. An element that is accepted may change in later rounds."""
    most = np.iinfo(dtype).max
    log_lam = lax.log(lam)
    b = 0.931 + 2.53 * lax.sqrt(lam)
    a = -0.059 + 0.02483 * b
    inv_alpha = 1.1239 + 1.1328 / (b - 3.4)
    v_r = 0.9277 - 3.6224 / (b - 2)

    def go_on(carry: Any) -> Any:
        rounds, _, accepted, _ = carry
        return (~accepted).any() & (rounds.astype(dtype) < most)

    def attempt(carry: Any) -> Any:
        rounds, found, accepted, key = carry
        key, u_key, v_key = split_typed(key, 3)
        u = uniform(u_key, shape, dtype_of(lam)) - 0.5
        v = uniform(v_key, shape, dtype_of(lam))
        u_s = 0.5 - lax.abs(u)
        k = lax.floor((2 * a / u_s + b) * u + lam + 0.43)
        s = lax.log(v * inv_alpha / (a / (u_s * u_s) + b))
        t = -lam + k * log_lam - lax.lgamma(k + 1)
        at_once = (u_s >= 0.07) & (v <= v_r)
        reject = (k < 0) | ((u_s < 0.013) & (v > u_s))
        below = s <= t
        accept = at_once | (~reject & below)
        found, accepted = lax.select(accept, k, found), accepted | accept
        return rounds + 1, found, accepted, key

    start = (0, lax.full_like(lam, -1), lax.full_like(lam, False, bool), key)
    return while_loop(go_on, attempt, start)[1].astype(dtype)
