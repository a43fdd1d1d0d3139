"""Positions of values in a sorted array: searchsorted, by four methods, and digitize.

A scan halves the interval that holds each place, as often as the array's size can need.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core import dtypes
from tinyjax.core.array import Array
from tinyjax.core.bind import Primitive
from tinyjax.numpy import reductions
from tinyjax.numpy.creation import zeros
from tinyjax.numpy.logic import greater_equal
from tinyjax.numpy.manipulation import ravel, reshape
from tinyjax.numpy.promotion import promote_dtypes
from tinyjax.numpy.selecting import where_
from tinyjax.numpy.ufuncs import floor_divide, subtract
from tinyjax.numpy.util import INT32, constant, convert, ensure_arraylike
from tinyjax.transform.batching import vmap
from tinyjax.transform.jit.api import jitted


@jitted(static_argnames=("side", "method"))
def searchsorted(
    a: Any, v: Any, side: str = "left", sorter: Any = None, *, method: str = "scan"
) -> Array:
    """Where in sorted `a` each value of `v` belongs, int32; as numpy.searchsorted.

    side 'left' gives the first such place, 'right' the last. method 'scan' is a binary search,
    'compare_all' compares all pairs, 'sort' sorts both together. Raises ValueError if `a` doesn't have
    one axis, or for an unknown side or method."""
    a, v = ensure_arraylike("searchsorted", a, v)
    if a.ndim != 1:
        raise ValueError("a should be 1-dimensional")
    if side not in ("left", "right"):
        raise ValueError(f"invalid argument {side=}, expected 'left' or 'right'")
    if method not in _METHODS:
        raise ValueError(f"method={method!r}: use 'scan', 'scan_unrolled', 'sort' or 'compare_all'")
    a, v = promote_dtypes(a, v)
    if sorter is not None:
        a = a[ensure_arraylike("searchsorted", sorter)]
    return _METHODS[method](a, v, side=side, dtype=INT32)


@jitted(static_argnames=("side", "dtype", "unrolled"))
def _searchsorted_scan_impl(a: Any, v: Any, side: str, dtype: np.dtype, unrolled: bool) -> Any:
    """Halves the interval [low, high) that holds the place, as often as the size can need."""
    size = a.shape[0]
    if size == 0:
        return lax.full(v.shape, 0, dtype)
    if v.ndim:
        search = functools.partial(
            _searchsorted_scan_impl, side=side, dtype=dtype, unrolled=unrolled
        )
        return vmap(search, in_axes=(None, 0))(a, v)
    goes_left = _is_at_most if side == "left" else _is_below

    def halve(state: Any, _: Any) -> Any:
        low, high = state
        middle = low + floor_divide(high - low, 2)
        left = goes_left(v, a[middle])
        return (lax.select(left, low, middle), lax.select(left, middle, high)), ()

    levels = int(np.ceil(np.log2(size + 1)))
    first = np.uint32(0), np.uint32(size)
    (_, high), _ = lax.scan(halve, first, (), length=levels, unroll=levels if unrolled else 1)
    return convert(high, dtype)


@jitted(static_argnames=("side", "dtype"))
def _searchsorted_sort_impl(a: Any, v: Any, side: str, dtype: np.dtype) -> Any:
    """The rank of each value among all, less its rank among the values."""
    values = ravel(v)
    if side == "left":
        index = _rank(lax.concatenate([values, a], 0))[: v.size]
    else:
        index = _rank(lax.concatenate([a, values], 0))[a.size :]
    return convert(reshape(lax.sub(index, _rank(values)), v.shape), dtype)


def _rank(x: Any) -> Any:
    """The place of each element in the sorted array."""
    places = lax.iota(INT32, x.shape[0])
    return lax.full_like(places, 0).at[lax.sort_key_val(x, places)[1]].set(places)


@jitted(static_argnames=("side", "dtype"))
def _searchsorted_compare_all_impl(a: Any, v: Any, side: str, dtype: np.dtype) -> Any:
    """How many elements of `a` come before each value, by comparing all pairs."""
    comes_before = _is_below if side == "left" else _is_at_most
    return reductions.sum(vmap(comes_before, in_axes=(0, None))(a, v), 0, dtype=dtype)


_METHODS: dict[str, Any] = {
    "scan": functools.partial(_searchsorted_scan_impl, unrolled=False),
    "scan_unrolled": functools.partial(_searchsorted_scan_impl, unrolled=True),
    "sort": _searchsorted_sort_impl,
    "compare_all": _searchsorted_compare_all_impl,
}


# ---- the order of sorting: NaN is the largest ----


def _is_below(x: Any, y: Any) -> Any:
    return _compare(lax.lt_to_p, x, y)


def _is_at_most(x: Any, y: Any) -> Any:
    return _compare(lax.le_to_p, x, y)


def _compare(primitive: Primitive, x: Any, y: Any) -> Any:
    """Complex numbers go by their real parts, and where these are equal by the imaginary ones."""
    x_keys, y_keys = _sort_keys(x), _sort_keys(y)
    last = primitive.bind(x_keys[-1], y_keys[-1])
    if len(x_keys) == 1:
        return last
    below = lax.lt_to_p.bind(x_keys[0], y_keys[0])
    equal = lax.eq_to_p.bind(x_keys[0], y_keys[0])
    return lax.bitwise_or(below, lax.bitwise_and(equal, last))


def _sort_keys(x: Any) -> list[Any]:
    """The sort keys, most significant first. lax's total order can't be used: in it -0.0 is below 0.0,
    and NaN differ."""
    kind = dtypes.kind(x.dtype)
    if kind == "c":
        return [_one_zero_one_nan(lax.real(x)), _one_zero_one_nan(lax.imag(x))]
    return [_one_zero_one_nan(x) if kind == "f" else x]


def _one_zero_one_nan(x: Any) -> Any:
    one_zero = lax.select(lax.eq(x, constant(0, x.dtype)), lax.full_like(x, 0), x)
    return lax.select(lax.ne(x, x), lax.full_like(x, np.nan), one_zero)


@jitted(static_argnames=("right", "method"))
def digitize(x: Any, bins: Any, right: bool = False, *, method: str | None = None) -> Array:
    """In which of the intervals between `bins` each x lies; as numpy.digitize."""
    x, bins = ensure_arraylike("digitize", x, bins)
    if bins.ndim != 1:
        raise ValueError(f"digitize: bins must be a 1-dimensional array; got bins={bins!r}")
    if bins.shape[0] == 0:
        return zeros(x.shape, INT32)
    side = "left" if right else "right"
    method = method or "scan"
    rising = greater_equal(bins[-1], bins[0])
    upwards = searchsorted(bins, x, side=side, method=method)
    downwards = subtract(bins.shape[0], searchsorted(bins[::-1], x, side=side, method=method))
    return where_(rising, upwards, downwards)
