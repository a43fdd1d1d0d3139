"""Counts of successes: binomial, and multinomial by a chain of binomials.

Few successes are counted by their waiting times, many are drawn by rejection under a curve of the right form,
so the time does not grow with n.

Source: V. Kachitvichyanukul and B. Schmeiser, "Binomial random variate generation" (1988);
W. Hoermann, "The generation of binomial random variates" (1993), algorithm BTRS.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.core import dtypes
from tinyjax.core.array import Array
from tinyjax.lax.control_flow.scan import scan
from tinyjax.lax.control_flow.while_loop import while_loop
from tinyjax.numpy.promotion import promote_dtypes_inexact
from tinyjax.numpy.util import check_arraylike, constant, user_dtype
from tinyjax.random.distributions import checked_dtype, checked_shape, optional_shape, uniform
from tinyjax.random.keys import clone, split_typed, typed_key


def binomial(key: Any, n: Any, p: Any, shape: Any = None, dtype: Any = None) -> Array:
    """How many of `n` trials succeed, each with probability `p`, as floats.

    NaN where n < 0, where p is not in [0, 1], and where either is NaN. Raises TypeError for lists."""
    key = typed_key("binomial", key)
    check_arraylike("binomial", n, p)
    dtype = checked_dtype("binomial", dtype)
    shape = checked_shape("binomial", optional_shape(shape), n, p)
    n, p = (jnp.broadcast_to(x, shape) for x in promote_dtypes_inexact(n, p))
    return _binomial(key, n, p, dtype)


def _binomial(key: Any, n: Any, p: Any, dtype: np.dtype) -> Any:
    is_rare = p < 0.5
    q = jnp.where(is_rare, p, 1 - p)  # the probability of the rarer outcome
    bad_n = jnp.isnan(n) | (n < 0)
    bad_p = jnp.isnan(q) | (q < 0)
    is_infinite = jnp.isinf(n)
    q = jnp.where(bad_p, 0.01, q)

    few = bad_n | (n * q <= 10)
    count = lax.floor(n)
    by_inversion = _inversion(key, jnp.where(few, count, 0.0), lax.log1p(-q), dtype)
    by_rejection = _btrs(clone(key), jnp.where(few, 1e4, count), jnp.where(few, 0.5, q), dtype)
    drawn = jnp.where(few, by_inversion.astype(dtype), by_rejection.astype(dtype))

    invalid = bad_p | bad_n
    drawn = jnp.where(invalid, constant(np.nan, dtype), drawn)
    drawn = jnp.where(is_infinite & ~invalid, constant(np.inf, dtype), drawn)
    of_successes = is_rare | bad_n | jnp.isnan(q) | is_infinite
    return jnp.where(of_successes, drawn, count.astype(dtype) - drawn)


def _limit(rounds: Any, dtype: np.dtype) -> Any:
    return rounds.astype(dtype) < constant(dtypes.finfo(dtype).max, dtype)


def _inversion(key: Any, count: Any, log_failure: Any, dtype: np.dtype) -> Any:
    """Adds up the numbers of trials until each success, until their sum exceeds `count`."""

    def go_on(carry: Any) -> Any:
        rounds, _, trials, _ = carry
        return (trials <= count).any() & _limit(rounds, dtype)

    def wait(carry: Any) -> Any:
        rounds, successes, trials, key = carry
        subkey, key = split_typed(key)
        successes = lax.select(trials <= count, successes + 1, successes)
        u = uniform(subkey, count.shape, count.dtype)
        return rounds + 1, successes, trials + lax.ceil(lax.log(u) / log_failure), key

    start = (0, lax.full_like(count, 0), lax.full_like(count, 0), key)
    return while_loop(go_on, wait, start)[1] - 1


def _btrs(key: Any, count: Any, q: Any, dtype: np.dtype) -> Any:
    """Algorithm BTRS, with the paper's names. Later rounds may change an accepted number."""
    deviation = lax.sqrt(count * q * (1 - q))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * q
    c = count * q + 0.5
    v_r = 0.92 - 4.2 / b
    r = q / (1 - q)
    alpha = (2.83 + 5.1 / b) * deviation
    m = lax.floor((count + 1) * q)

    def go_on(carry: Any) -> Any:
        rounds, _, accepted, _ = carry
        return (~accepted).any() & _limit(rounds, dtype)

    def attempt(carry: Any) -> Any:
        rounds, found, accepted, key = carry
        key, u_key, v_key = split_typed(key, 3)
        u = uniform(u_key, count.shape, count.dtype)
        v = uniform(v_key, count.shape, count.dtype)
        u = u - 0.5
        u_s = 0.5 - lax.abs(u)
        at_once = (u_s >= 0.07) & (v <= v_r)
        k = lax.floor((2 * a / u_s + b) * u + c)
        reject = (k < 0) | (k > count)
        v = lax.log(v * alpha / (a / (u_s * u_s) + b))
        bound = (
            (m + 0.5) * lax.log((m + 1) / (r * (count - m + 1)))
            + (count + 1) * lax.log((count - m + 1) / (count - k + 1))
            + (k + 0.5) * lax.log(r * (count - k + 1) / (k + 1))
            + _stirling(m)
            + _stirling(count - m)
            - _stirling(k)
            - _stirling(count - k)
        )
        accept = at_once | ~reject & (v <= bound)
        return rounds + 1, lax.select(accept, k, found), accepted | accept, key

    start = (0, lax.full_like(count, -1), lax.full_like(count, False, bool), key)
    return while_loop(go_on, attempt, start)[1]


# log(k!) less Stirling's approximation of it, for k = 0, 1, ..., 9.
_STIRLING = (
    0.08106146679532726, 0.04134069595540929, 0.02767792568499834, 0.02079067210376509,
    0.01664469118982119, 0.01387612882307075, 0.01189670994589177, 0.01041126526197209,
    0.009255462182712733, 0.008330563433362871,
)  # fmt: skip


def _stirling(k: Any) -> Any:
    """log(k!) - ((k + 1/2) log(k + 1) - (k + 1) + log(2 pi) / 2), by its series for k > 9."""
    in_table = k <= 9
    k = lax.clamp(constant(0, k.dtype), k, constant(9, k.dtype))
    square = (k + 1) * (k + 1)
    series = (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (k + 1)
    listed = jnp.array(_STIRLING, k.dtype)[lax.floor(k).astype("int32")]
    return jnp.where(in_table, listed, series)


def multinomial(
    key: Any, n: Any, p: Any, *, shape: Any = None, dtype: Any = None, unroll: int | bool = 1
) -> Array:
    """How many of `n` trials have each outcome, of the probabilities `p` along its last axis.

    `shape` is the draws' shape without the axis of outcomes, by default p.shape[:-1]. `n` and `p`
    broadcast to it. `unroll` is scan's. Raises TypeError for lists, ValueError where
    shapes don't fit."""
    key = typed_key("multinomial", key)
    check_arraylike("multinomial", n, p)
    n, p = promote_dtypes_inexact(n, p)
    if not p.ndim:
        raise ValueError("multinomial needs p with an axis of outcomes, got a scalar")
    shape = p.shape[:-1] if shape is None else optional_shape(shape)
    n, p = jnp.broadcast_to(n, shape), jnp.broadcast_to(p, (*shape, p.shape[-1]))

    # The number of trials with this outcome, among those with none of the outcomes before.
    of_rest = lax.cumsum(p, axis=p.ndim - 1, reverse=True)
    p = jnp.moveaxis(p / jnp.where(of_rest == 0, 1, of_rest), -1, 0)

    def outcome(rest: Any, ratio_and_key: Any) -> Any:
        ratio, key = ratio_and_key
        count = binomial(key, rest, jnp.clip(ratio, 0, 1), dtype=rest.dtype)
        return rest - count, count

    _, counts = scan(outcome, n, (p, split_typed(key, len(p))), unroll=unroll)
    counts = jnp.moveaxis(counts, 0, -1)
    return counts if dtype is None else counts.astype(user_dtype(dtype, "multinomial"))
