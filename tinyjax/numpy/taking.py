"""Choosing elements by index arrays: take, take_along_axis, put, choose, compress."""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core import dtypes
from tinyjax.core.array import Array
from tinyjax.core.bind import as_array
from tinyjax.lax.gathering import gather_along_axis
from tinyjax.lax.placing import with_place
from tinyjax.lax.shape import canonicalize_axis
from tinyjax.numpy.creation import zeros, zeros_like
from tinyjax.numpy.cumulative import cumsum
from tinyjax.numpy.logic import less
from tinyjax.numpy.manipulation import ravel, reshape, roll
from tinyjax.numpy.reductions import check_no_out
from tinyjax.numpy.selecting import where_
from tinyjax.numpy.ufuncs import add, remainder, subtract
from tinyjax.numpy.util import (
    broadcast_to,
    concrete,
    concrete_int,
    ensure_arraylike,
    weak_constant_like,
)
from tinyjax.transform.jit.api import jitted

# ---- take ----


def take(
    a: Any, indices: Any, axis: int | None = None, out: None = None, mode: str | None = None,
    unique_indices: bool = False, indices_are_sorted: bool = False, fill_value: Any = None,
) -> Array:  # fmt: skip
    """a[..., indices, ...] at `axis` (of the flat array if None); as numpy.take.

    Out of range: mode 'fill' (the default) gives fill_value, NaN if None; 'clip' clamps; 'wrap' counts
    on from the start. Raises IndexError for a read from an empty axis."""
    check_no_out("take", out)
    axis = None if axis is None else operator.index(axis)
    promises = {"unique_indices": unique_indices, "indices_are_sorted": indices_are_sorted}
    return _take(a, indices, axis, mode=mode, fill_value=fill_value, **promises)


@jitted(static_argnames=("axis", "mode", "unique_indices", "indices_are_sorted", "fill_value"))
def _take(
    a: Any, indices: Any, axis: int | None, *, mode: str | None, fill_value: Any, **promises: bool
) -> Any:
    a, indices = ensure_arraylike("take", a, indices)
    if axis is None:
        a, axis = ravel(a), 0
    axis = canonicalize_axis(axis, a.ndim)
    size = a.shape[axis]
    if mode in (None, "fill"):
        gather_mode = lax.GatherScatterMode.FILL_OR_DROP
        indices = where_(less(indices, 0), add(indices, size), indices)
    elif mode == "wrap":
        gather_mode = lax.GatherScatterMode.PROMISE_IN_BOUNDS
        indices = remainder(indices, weak_constant_like(indices, size))
    elif mode == "clip":
        gather_mode = lax.GatherScatterMode.CLIP
    elif mode == "raise":
        raise NotImplementedError("The 'raise' mode to jnp.take is not supported.")
    else:
        raise ValueError(f"Invalid mode '{mode}' for np.take")
    if size == 0:
        if indices.size:
            raise IndexError("Cannot do a non-empty jnp.take() from an empty axis.")
        return a
    if indices.size == 0:
        return zeros_like(a, shape=(*a.shape[:axis], *indices.shape, *a.shape[axis + 1 :]))
    ndim = indices.ndim
    offset_dims = (*range(axis), *range(axis + ndim, a.ndim + ndim - 1))
    numbers = lax.GatherDimensionNumbers(offset_dims, (axis,), (axis,))
    sizes = tuple(1 if i == axis else n for i, n in enumerate(a.shape))
    starts = lax.expand_dims(indices, (ndim,))
    return lax.gather(
        a, starts, numbers, sizes, mode=gather_mode, fill_value=fill_value, **promises
    )


@jitted(static_argnames=("axis", "mode", "fill_value", "wrap_negative_indices"))
def take_along_axis(
    arr: Any,
    indices: Any,
    axis: int | None = -1,
    mode: str | None = None,
    fill_value: Any = None,
    *,
    wrap_negative_indices: bool = True,
) -> Array:
    """For each vector along `axis`, the elements at the indices in the matching vector of `indices`.

    As numpy.take_along_axis; out of range reads give fill_value (NaN). Raises TypeError for indices
    that are no integers, ValueError for unequal ranks."""
    a, indices = ensure_arraylike("take_along_axis", arr, indices)
    if dtypes.kind(indices.dtype) not in "iu":
        raise TypeError(f"take_along_axis indices must be of integer type, got {indices.dtype}")
    if axis is None:
        if indices.ndim != 1:
            raise ValueError(
                f"take_along_axis indices must be 1D if axis=None, got shape {indices.shape}"
            )
        a, axis = ravel(a), 0
    if a.ndim != indices.ndim:
        raise ValueError(
            f"indices and arr must have the same number of dimensions; {indices.ndim} vs. {a.ndim}"
        )
    return gather_along_axis(a, indices, axis, mode or "fill", fill_value, wrap_negative_indices)


# ---- repeat ----


def repeat(
    a: Any,
    repeats: Any,
    axis: int | None = None,
    *,
    total_repeat_length: int | None = None,
    out_sharding: Any = None,
) -> Array:
    """Each element of `a` along `axis` repeated, by one count or one for each; as numpy.repeat.

    `out_sharding` says how the result is split over devices.
    Counts that are traced need total_repeat_length: the size of the result (cut, or the last element
    repeated). Raises ConcretizationTypeError without it."""
    a = ensure_arraylike("repeat", a)
    if out_sharding is not None:
        options = {"axis": axis, "total_repeat_length": total_repeat_length}
        if not isinstance(repeats, Array):
            whole = functools.partial(repeat, repeats=repeats, **options)
            return with_place(whole, out_sharding, "repeat")(a)
        whole = functools.partial(repeat, **options)
        return with_place(whole, out_sharding, "repeat")(a, repeats)
    if axis is None:
        a, axis = ravel(a), 0
    axis = concrete_int(axis, "'axis' argument of jnp.repeat()")
    if a.ndim:
        axis = canonicalize_axis(axis, a.ndim)
    if total_repeat_length is not None:
        return _repeat_dynamic(a, as_array(repeats), axis, total_repeat_length)
    counts = concrete(
        repeats,
        "the argument repeats of jnp.repeat, on which the result's shape depends",
        "Give the length of the result by total_repeat_length=.",
    )
    if np.ndim(counts) == 0:
        count = operator.index(counts)
        shape = (*a.shape[: axis + 1], count, *a.shape[axis + 1 :])
        wide = lax.broadcast_in_dim(a, shape, [i for i in range(a.ndim + 1) if i != axis + 1])
        merged = (*a.shape[:axis], a.shape[axis] * count, *a.shape[axis + 1 :])
        return reshape(wide, merged)
    counts = np.broadcast_to(np.ravel(np.asarray(counts)), [a.shape[axis]])
    return _repeat_dynamic(a, as_array(counts), axis, int(counts.sum()))


def _repeat_dynamic(a: Any, repeats: Any, axis: int, length: int) -> Any:
    """Takes at the running sum of counts placed at the first element of each run."""
    if length == 0:
        return zeros((*a.shape[:axis], 0, *a.shape[axis + 1 :]), a.dtype)
    if a.shape[axis] == 0:
        return a
    repeats = broadcast_to(ravel(repeats), (a.shape[axis],))
    starts = cumsum(roll(repeats, shift=1).at[0].set(0))
    run_starts = zeros([length], np.dtype("int32")).at[starts].add(1)
    return take(a, subtract(cumsum(run_starts), 1), axis=axis)
