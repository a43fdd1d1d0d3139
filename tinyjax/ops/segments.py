"""Sums, products and extremes of segments: elements that have the same number belong together.

    segment_sum(jnp.array([1.0, 2.0, 3.0]), jnp.array([0, 0, 1]), num_segments=2)  # [3., 3.]

(JAX had updates by index here once: x.at[index].set(y) is what they are today.)
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.core import dtypes
from tinyjax.core.avals import get_aval
from tinyjax.core.bind import Tracer
from tinyjax.core.declared_functions import named
from tinyjax.core.errors import ConcretizationTypeError
from tinyjax.numpy.util import check_arraylike

_REDUCERS: dict[str, Callable[..., Any]] = {
    "add": jnp.sum,
    "multiply": jnp.prod,
    "min": jnp.min,
    "max": jnp.max,
}


def _of_segments(name: str, method: str, start: Callable[[Any], Any], doc: str) -> Callable:
    """The function that combines elements by `method` of x.at; `start(data)` is what without any there is."""

    @named(name, doc)
    def segments(
        data: Any,
        segment_ids: Any,
        num_segments: int | None = None,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        bucket_size: int | None = None,
        mode: Any = None,
        out_sharding: Any = None,
    ) -> Any:
        check_arraylike(name, data, segment_ids)
        data, ids = jnp.asarray(data), jnp.asarray(segment_ids)
        count = _count(name, ids, num_segments)
        rest = data.shape[1:]
        how = {
            "indices_are_sorted": indices_are_sorted,
            "unique_indices": unique_indices,
            "mode": mode,
            "wrap_negative_indices": False,
        }
        if bucket_size is None:
            out = jnp.full((count, *rest), start(data), data.dtype)
            return getattr(out.at[ids], method)(data, **how, out_sharding=out_sharding)
        if out_sharding is not None:
            raise NotImplementedError(
                f"{name} takes out_sharding without bucket_size only: reshard what it gives"
            )
        buckets = -(-ids.shape[0] // bucket_size)
        out = jnp.full((buckets, count, *rest), start(data), data.dtype)
        of_bucket = jnp.arange(ids.shape[0]) // bucket_size
        out = getattr(out.at[of_bucket, ids[None]], method)(data, **how)
        return _REDUCERS[method](out, axis=0).astype(data.dtype)

    return segments


def _extreme(data: Any, sign: int) -> Any:
    """The end of what the dtype of `data` holds: no element is beyond it."""
    dtype = get_aval(data).dtype
    if dtypes.kind(dtype) == "b":
        return sign > 0
    if dtypes.is_inexact(dtype):
        return sign * np.inf
    return np.iinfo(dtype).max if sign > 0 else np.iinfo(dtype).min


def _count(name: str, ids: Any, num_segments: int | None) -> int:
    if num_segments is None:
        if isinstance(ids, Tracer) and ids.concrete() is None:
            raise ConcretizationTypeError(
                ids,
                f"in {name}() without num_segments",
                "Give the number of segments by num_segments=.",
            )
        return max(int(jnp.max(ids)) + 1, 0)
    count = operator.index(num_segments)
    if count < 0:
        raise ValueError(f"num_segments must be non-negative, got {count}.")
    return count


_ARGUMENTS = """

Args:
  segment_ids: an integer for each row of `data`. Rows with a number that is out of range (negative, too) are
    left out.
  num_segments: how many there are; by default, one more than the largest number. jit needs it.
  indices_are_sorted, unique_indices: promises.
  bucket_size: sums (products, ...) of this many at a time are combined, which rounds less.
  mode: as in x.at[...].add: "drop", "clip", "promise_in_bounds".
  out_sharding: how the result is split over the axes of a mesh.
Raises TypeError for lists, ValueError for shapes that do not fit and for a negative num_segments,
NotImplementedError for out_sharding with bucket_size, ConcretizationTypeError under jit without num_segments.
Source: https://docs.jax.dev/en/latest/jax.ops.html
"""
_SUM = """The sums of the segments: an array (num_segments, ...), in which row i is the sum of those rows of
`data` whose number in `segment_ids` is i."""
_MAX = "The largest of each segment; the least number of the dtype for one without elements."
_MIN = "The smallest of each segment; the largest number of the dtype for one without elements."

segment_sum = _of_segments("segment_sum", "add", lambda data: 0, _SUM + _ARGUMENTS)
segment_prod = _of_segments(
    "segment_prod",
    "multiply",
    lambda data: 1,
    "The products of the segments; 1 for one without elements." + _ARGUMENTS,
)
segment_max = _of_segments("segment_max", "max", lambda data: _extreme(data, -1), _MAX + _ARGUMENTS)
segment_min = _of_segments("segment_min", "min", lambda data: _extreme(data, 1), _MIN + _ARGUMENTS)
