"""Statistics of samples: mode, rankdata, sem."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.core.array import Array
from tinyjax.lax.shape import canonicalize_axis
from tinyjax.numpy.promotion import promote_args_inexact
from tinyjax.numpy.util import ensure_arraylike
from tinyjax.transform.batching import vmap
from tinyjax.transform.jit.api import jitted


class ModeResult(NamedTuple):
    mode: Array
    count: Array  # type: ignore[assignment]  # tuple.count, which JAX hides too


def _check_nan_policy(name: str, nan_policy: str) -> None:
    if nan_policy not in ("propagate", "omit", "raise"):
        raise ValueError(
            f"Illegal nan_policy value {nan_policy!r}; expected one of 'propagate', 'omit', 'raise'"
        )
    if nan_policy != "propagate":
        raise NotImplementedError(
            f"{name} does not support nan_policy={nan_policy!r}; use 'propagate'"
        )


def _of_vectors(function: Callable, x: Any) -> Any:
    """`function` of each vector along axis 0."""
    for _ in range(x.ndim - 1):
        function = vmap(function, in_axes=-1, out_axes=-1)
    return function(x)


@jitted(static_argnames=("axis", "nan_policy", "keepdims"))
def mode(
    a: Any, axis: int | None = 0, nan_policy: str = "propagate", keepdims: bool = False
) -> ModeResult:
    """The most frequent value along `axis` (None: of all), the smallest of equals, and its count.

    Raises NotImplementedError for a nan_policy other than "propagate", TypeError for lists."""
    a = ensure_arraylike("mode", a)
    _check_nan_policy("mode", nan_policy)
    shape, a, axis = a.shape, *_one_axis(a, axis)
    a = jnp.moveaxis(a, axis, 0)

    def mode_of(x: Any) -> tuple[Any, Any]:
        values = jnp.sort(x)
        equal = values[:, None] == values
        if jnp.issubdtype(x.dtype, jnp.floating):
            equal |= jnp.isnan(values[:, None]) & jnp.isnan(values)
        counts = equal.sum(1)
        return values[jnp.argmax(counts)], counts.max()

    if not a.shape[0]:
        empty = jnp.full(a.shape[1:], np.nan, float)
        value, count = empty, jnp.zeros_like(empty)
    else:
        value, count = _of_vectors(mode_of, a)
    if keepdims:
        value, count = (_with_axis(x, a.ndim, axis, len(shape)) for x in (value, count))
    return ModeResult(value, count)


def _one_axis(a: Any, axis: int | None) -> tuple[Any, int]:
    if axis is None:
        return a.ravel(), 0
    return jnp.atleast_1d(a), canonicalize_axis(axis, max(a.ndim, 1))


def _with_axis(x: Any, ndim: int, axis: int, original_ndim: int) -> Any:
    if ndim != original_ndim:  # all axes were one
        return x.reshape((1,) * original_ndim)
    return jnp.expand_dims(x, axis)


RANKS: dict[str, Callable] = {}


def _rank(function: Callable) -> Callable:
    RANKS[function.__name__.removeprefix("_")] = function
    return function


@_rank
def _ordinal(x: Any) -> Any:
    return jnp.argsort(jnp.argsort(x)) + 1


@_rank
def _min(x: Any) -> Any:
    return jnp.searchsorted(jnp.sort(x), x, side="left") + 1


@_rank
def _max(x: Any) -> Any:
    return jnp.searchsorted(jnp.sort(x), x, side="right")


@_rank
def _average(x: Any) -> Any:
    return (_min(x) + _max(x)) / 2


@_rank
def _dense(x: Any) -> Any:
    values = jnp.sort(x)
    is_new = jnp.concatenate([jnp.ones(1, bool), values[1:] != values[:-1]])
    return jnp.cumsum(is_new)[jnp.searchsorted(values, x)]


@jitted(static_argnames=("method", "axis", "nan_policy"))
def rankdata(
    a: Any, method: str = "average", *, axis: int | None = None, nan_policy: str = "propagate"
) -> Array:
    """The rank of each element as a float, from 1, along `axis` (None: among all); NaN if one is NaN.

    `method` says which of their ranks equal elements get: their "average", "min", "max", "dense" (the
    next value has the next rank) or "ordinal" (by position). Raises ValueError for another method,
    NotImplementedError for a nan_policy other than "propagate", TypeError for lists."""
    (a,) = promote_args_inexact("rankdata", a)
    _check_nan_policy("rankdata", nan_policy)
    if method not in RANKS:
        raise ValueError(f"unknown method '{method}'; use one of {', '.join(RANKS)}")
    a, axis = _one_axis(a, axis)
    ranks = _of_vectors(RANKS[method], jnp.moveaxis(a, axis, 0)).astype(a.dtype)
    ranks = jnp.moveaxis(ranks, 0, axis)
    return jnp.where(jnp.isnan(a).any(axis, keepdims=True), np.nan, ranks)


@jitted(static_argnames=("axis", "ddof", "nan_policy", "keepdims"))
def sem(
    a: Any,
    axis: int | None = 0,
    ddof: int = 1,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Array:
    """The standard error of the mean: the standard deviation (with `ddof`) over the root of the count.

    nan_policy "omit" leaves NaNs out. Raises ValueError for "raise", which needs known values, TypeError for
    lists."""
    (a,) = promote_args_inexact("sem", a)
    if nan_policy not in ("propagate", "omit"):
        raise ValueError(f"nan_policy={nan_policy!r} is not supported: use 'propagate' or 'omit'")
    if nan_policy == "omit":
        count = jnp.sum(~jnp.isnan(a), axis=axis, keepdims=keepdims)
        return jnp.nanstd(a, axis, ddof=ddof, keepdims=keepdims) / jnp.sqrt(count.astype(a.dtype))
    size = jnp.asarray(a.size if axis is None else a.shape[axis], a.dtype)
    return jnp.std(a, axis, ddof=ddof, keepdims=keepdims) / jnp.sqrt(size)
