"""Choosing elements by index arrays: take, take_along_axis, put, choose, compress.

Builds on indexing.

Sources: https://docs.jax.dev/en/latest/_autosummary/jax.numpy.<name>.html, one page a function.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tinyjax import dtypes, lax
from tinyjax.array import Array
from tinyjax.interpreters.jit import jitted
from tinyjax.numpy import reductions
from tinyjax.numpy.creation import array, zeros, zeros_like
from tinyjax.numpy.elementary import clip
from tinyjax.numpy.joining import tile
from tinyjax.numpy.logic import less
from tinyjax.numpy.manipulation import moveaxis, ravel, reshape
from tinyjax.numpy.ranges import arange
from tinyjax.numpy.reductions import check_no_out
from tinyjax.numpy.searching import unravel_index
from tinyjax.numpy.selecting import where_
from tinyjax.numpy.sorting import argsort
from tinyjax.numpy.ufuncs import add, remainder
from tinyjax.numpy.util import (
    broadcast_arrays,
    broadcast_shapes,
    broadcast_to,
    canonicalize_axis,
    concrete,
    constant_like,
    convert,
    ensure_arraylike,
    weak_constant_like,
)

# ---- take ----


def take(
    a: Any,
    indices: Any,
    axis: int | None = None,
    out: None = None,
    mode: str | None = None,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    fill_value: Any = None,
) -> Array:
    """a[..., indices, ...] at `axis` (of the flat array if None); as numpy.take.

    Out of range: mode 'fill' (the default) gives fill_value, NaN if None; 'clip' clamps; 'wrap' counts
    on from the start. Raises IndexError for a read from an empty axis."""
    axis = None if axis is None else operator.index(axis)
    options = {"unique_indices": unique_indices, "indices_are_sorted": indices_are_sorted}
    return _take(a, indices, axis, out, mode, fill_value=fill_value, **options)


@jitted(static_argnames=("axis", "mode", "unique_indices", "indices_are_sorted", "fill_value"))
def _take(
    a: Any,
    indices: Any,
    axis: int | None = None,
    out: None = None,
    mode: str | None = None,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    fill_value: Any = None,
) -> Any:
    check_no_out("take", out)
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
    numbers = lax.GatherDimensionNumbers(
        offset_dims=(*range(axis), *range(axis + ndim, a.ndim + ndim - 1)),
        collapsed_slice_dims=(axis,),
        start_index_map=(axis,),
    )
    return lax.gather(
        a,
        lax.expand_dims(indices, (ndim,)),
        numbers,
        tuple(1 if i == axis else n for i, n in enumerate(a.shape)),
        mode=gather_mode,
        unique_indices=unique_indices,
        indices_are_sorted=indices_are_sorted,
        fill_value=fill_value,
    )


@jitted(static_argnames=("axis", "mode", "fill_value", "wrap_negative_indices"))
def take_along_axis(
    arr: Any,
    indices: Any,
    axis: int | None = -1,
    mode: str | None = None,
    fill_value: Any = None,
    *,
    wrap_negative_indices: bool | None = None,
) -> Array:
    """Of each vector along `axis` the elements that the matching vector of `indices` names.

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
    axis = canonicalize_axis(axis, a.ndim)
    one_of_axis = tuple(1 if i == axis else n for i, n in enumerate(a.shape))
    out_shape = broadcast_shapes(indices.shape, one_of_axis)
    size = a.shape[axis]
    if size == 0:
        return zeros(out_shape, a.dtype)
    if wrap_negative_indices is None:
        wrap_negative_indices = mode != "promise_in_bounds"
    indices = convert(indices, np.dtype("uint32" if indices.dtype == np.uint32 else "int32"))
    if wrap_negative_indices and indices.dtype == np.int32:
        negative = lax.lt(indices, constant_like(indices, 0))
        wrapped = lax.add(indices, weak_constant_like(indices, size))
        indices = lax.select(negative, wrapped, indices)
    return _gather_along(a, indices, axis, out_shape, mode or "fill", fill_value)


def _gather_along(
    a: Any, indices: Any, axis: int, out_shape: tuple[int, ...], mode: str, fill_value: Any
) -> Any:
    """Axes of which both sides have many elements are batch dimensions of the gather."""
    kept = [i for i, n in enumerate(indices.shape) if i == axis or n != 1]
    starts = lax.reshape(indices, (*(out_shape[i] for i in kept), 1))
    sizes, offsets, batching, start_batching, squeezed = [], [], [], [], []
    a_axis = start_axis = 0  # the axis of `a` once it is squeezed, and of `starts`
    map_axis = 0
    for i in range(a.ndim):
        if i == axis:
            map_axis = a_axis
            sizes.append(1)
        elif indices.shape[i] == 1:  # the whole axis, for the one vector of indices
            offsets.append(i)
            sizes.append(a.shape[i])
            a_axis += 1
            continue
        elif a.shape[i] == 1:  # the one vector, for all indices
            squeezed.append(i)
            start_axis += 1
            continue
        else:
            sizes.append(min(1, a.shape[i]))
            batching.append(a_axis)
            start_batching.append(start_axis)
        a_axis += 1
        start_axis += 1
    numbers = lax.GatherDimensionNumbers(
        offset_dims=tuple(offsets),
        collapsed_slice_dims=(map_axis,),
        start_index_map=(map_axis,),
        operand_batching_dims=tuple(batching),
        start_indices_batching_dims=tuple(start_batching),
    )
    a = lax.squeeze(a, tuple(squeezed)) if squeezed else a
    return lax.gather(a, starts, numbers, tuple(sizes), mode=mode, fill_value=fill_value)


# ---- put ----


@jitted(static_argnames=("axis", "inplace", "mode"))
def put_along_axis(
    arr: Any, indices: Any, values: Any, axis: int | None, inplace: bool = True, *, mode: Any = None
) -> Array:
    """`arr` with `values` where take_along_axis would read; needs inplace=False."""
    from tinyjax.numpy.grids import indices as grid

    _check_not_inplace("put_along_axis", inplace)
    arr, indices, values = ensure_arraylike("put_along_axis", arr, indices, values)
    shape = arr.shape
    if axis is None:
        arr, axis = ravel(arr), 0
    if arr.ndim != indices.ndim:
        raise ValueError(
            "put_along_axis arguments 'arr' and 'indices' must have same ndim. Got "
            f"{arr.ndim} and {indices.ndim}."
        )
    axis = canonicalize_axis(axis, arr.ndim)
    index = list(grid(arr.shape, sparse=True))
    index[axis] = indices
    return reshape(arr.at[tuple(index)].set(broadcast_to(values, indices.shape), mode=mode), shape)


def _check_not_inplace(name: str, inplace: bool) -> None:
    if inplace:
        raise ValueError(
            f"jax.numpy.{name} cannot modify arrays in-place, because JAX arrays are immutable. Pass "
            "inplace=False to instead return an updated array."
        )


def put(a: Any, ind: Any, v: Any, mode: str | None = None, *, inplace: bool = True) -> Array:
    """`a` with values `v` at places `ind` of the flat array; needs inplace=False; as numpy.put."""
    _check_not_inplace("put", inplace)
    a, ind, _ = ensure_arraylike("put", a, ind, v)
    ind, values = ravel(ind), ravel(v)
    if not a.size or not ind.size or not values.size:
        return a
    if mode == "clip":
        ind = clip(ind, 0, a.size - 1)
    elif mode == "wrap":
        ind = remainder(ind, a.size)
    elif mode == "raise":
        raise NotImplementedError("The 'raise' mode to jnp.put is not supported.")
    elif mode is not None:
        raise ValueError(f"mode should be one of 'wrap' or 'clip'; got mode={mode!r}")
    scatter_mode = "drop" if mode is None else "promise_in_bounds"
    index = unravel_index(ind, a.shape)
    return a.at[index].set(_to_size(values, ind.size), mode=scatter_mode)


def place(arr: Any, mask: Any, vals: Any, *, inplace: bool = True) -> Array:
    """`arr` with the values, in order, where `mask` holds; needs inplace=False; as numpy.place."""
    from tinyjax.numpy.searching import nonzero

    _check_not_inplace("place", inplace)
    arr, mask, vals = ensure_arraylike("place", arr, mask, vals)
    if arr.size != mask.size:
        raise ValueError("place: arr and mask must be the same size")
    if not vals.size:
        raise ValueError("Cannot place values from an empty array")
    if not arr.size:
        return arr
    (where,) = nonzero(ravel(mask), size=mask.size, fill_value=mask.size)
    flat = ravel(arr).at[where].set(_to_size(ravel(vals), where.size), mode="drop")
    return reshape(flat, arr.shape)


def _to_size(x: Any, size: int) -> Any:
    """A vector repeated or cut to a size."""
    if x.size < size:
        x = tile(x, -(-size // x.size))
    return x[:size] if x.size > size else x


def fill_diagonal(a: Any, val: Any, wrap: bool = False, *, inplace: bool = True) -> Array:
    """`a` with `val` on its diagonal; needs inplace=False; as numpy.fill_diagonal."""
    if inplace:
        raise NotImplementedError("JAX arrays are immutable, must use inplace=False")
    if wrap:
        raise NotImplementedError("wrap=True is not implemented, must use wrap=False")
    a, val = ensure_arraylike("fill_diagonal", a, val)
    if a.ndim < 2:
        raise ValueError("array must be at least 2-d")
    if a.ndim > 2 and len(set(a.shape)) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    n = min(a.shape)
    return a.at[(arange(n),) * a.ndim].set(val if val.ndim == 0 else _to_size(ravel(val), n))


# ---- by masks and choices ----


def choose(a: Any, choices: Any, out: None = None, mode: str = "raise") -> Array:
    """Of each element the choice that integer `a` names; as numpy.choose.

    mode 'raise' needs a known `a` (ValueError if out of range); 'wrap' and 'clip' do not."""
    from tinyjax.numpy.grids import indices as grid
    from tinyjax.numpy.logic import greater_equal, logical_or

    check_no_out("choose", out)
    a, *choices = ensure_arraylike("choose", a, *choices)
    if dtypes.kind(a.dtype) not in "iu":
        raise ValueError("`a` array must be integer typed")
    count = len(choices)
    if mode == "raise":
        concrete(a, "Use mode='wrap' or mode='clip' in jnp.choose under jit.")
        if reductions.any(logical_or(less(a, 0), greater_equal(a, count))):
            raise ValueError("invalid entry in choice array")
    elif mode == "wrap":
        a = remainder(a, count)
    elif mode == "clip":
        a = clip(a, 0, count - 1)
    else:
        raise ValueError(f"mode={mode!r} not understood. Must be 'raise', 'wrap', or 'clip'")
    a, *choices = broadcast_arrays(a, *choices)
    return array(choices)[(a, *grid(a.shape, sparse=True))]


def compress(
    condition: Any,
    a: Any,
    axis: int | None = None,
    *,
    size: int | None = None,
    fill_value: Any = 0,
    out: None = None,
) -> Array:
    """The slices of `a` along `axis` where `condition` holds; as numpy.compress.

    With `size` the result has so many, filled up with `fill_value`: then condition may be traced."""
    check_no_out("compress", out)
    condition, a, fill_value = ensure_arraylike("compress", condition, a, fill_value)
    condition = convert(condition, np.dtype(bool))
    if condition.ndim != 1:
        raise ValueError("condition must be a 1D array")
    a, axis = (ravel(a), 0) if axis is None else (moveaxis(a, axis, 0), axis)
    condition, extra = condition[: a.shape[0]], condition[a.shape[0] :]
    a = a[: condition.shape[0]]
    if size is None:
        if reductions.any(extra):
            raise ValueError("condition contains entries that are out of bounds")
        return moveaxis(a[condition], 0, axis)
    if not 0 <= size <= a.shape[0]:
        raise ValueError(
            "size must be positive and not greater than the size of the array axis; got "
            f"size={size!r} for a.shape[axis]={a.shape[0]}"
        )
    mask = lax.expand_dims(condition, range(1, a.ndim))
    filled = where_(mask, a, convert(fill_value, a.dtype))
    return moveaxis(filled[argsort(condition, descending=True)][:size], 0, axis)


def extract(condition: Any, arr: Any, *, size: int | None = None, fill_value: Any = 0) -> Array:
    """The elements of the flat array where `condition` holds; as numpy.extract."""
    return compress(ravel(condition), ravel(arr), size=size, fill_value=fill_value)
