"""Arrays with elements taken out or put in: delete, insert, trim_zeros."""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax.core import dtypes
from tinyjax.core.array import Array
from tinyjax.lax.shape import canonicalize_axis
from tinyjax.numpy import reductions
from tinyjax.numpy.creation import array, asarray, full, ones, zeros_like
from tinyjax.numpy.elementary import clip
from tinyjax.numpy.grids import indices as grid
from tinyjax.numpy.joining import concatenate, tile
from tinyjax.numpy.logic import less
from tinyjax.numpy.manipulation import moveaxis, ravel, reshape
from tinyjax.numpy.ranges import arange
from tinyjax.numpy.searching import nonzero, unravel_index
from tinyjax.numpy.selecting import where_
from tinyjax.numpy.sorting import argsort, sort
from tinyjax.numpy.ufuncs import add, remainder
from tinyjax.numpy.util import (
    broadcast_shapes,
    broadcast_to,
    check_arraylike,
    concrete,
    convert,
    ensure_arraylike,
)
from tinyjax.transform.jit.api import jitted

_IF_UNIQUE = "Pass assume_unique_indices=True, if no index comes twice."

# ---- with elements taken out or put in ----


def delete(
    arr: Any, obj: Any, axis: int | None = None, *, assume_unique_indices: bool = False
) -> Array:
    """`arr` without the slices `obj` (int, slice, array or mask) along `axis`; as numpy.delete.

    An array of indices must be known, unless assume_unique_indices gives their number."""
    a = ensure_arraylike("delete", arr)
    if axis is None:
        a, axis = ravel(a), 0
    axis = canonicalize_axis(axis, a.ndim)
    size = a.shape[axis]
    before = (slice(None),) * axis
    if isinstance(obj, (int, np.integer)) and not isinstance(obj, bool):
        i = canonicalize_axis(obj, size)
        parts = [a[(*before, slice(0, i))], a[(*before, slice(i + 1, None))]]
        return concatenate(parts, axis)
    if isinstance(obj, slice):
        return a[(*before, np.delete(np.arange(size), obj))]
    check_arraylike("delete", a, obj)
    if assume_unique_indices and dtypes.kind(dtypes.dtype(obj)) in "iu":
        # The n-th element that stays is n plus how many of the removed ones come before it.
        gone = ravel(asarray(obj))
        gone = sort(clip(where_(less(gone, 0), add(gone, size), gone), 0, size))
        gone = gone - arange(gone.size, dtype=gone.dtype)
        kept = arange(size - gone.size, dtype=gone.dtype)
        kept = kept + reductions.sum(kept[None, :] >= gone[:, None], 0, dtype=kept.dtype)
        return a[(*before, kept)]
    known = np.asarray(concrete(obj, "'obj' array argument of jnp.delete()", _IF_UNIQUE))
    return a[(*before, np.delete(np.arange(size), known))]


def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Array:
    """`arr` with `values` put in before the positions `obj` along `axis`; as numpy.insert."""
    a, values = ensure_arraylike("insert", arr, values)
    if axis is None:
        a, axis = ravel(a), 0
    axis = canonicalize_axis(axis, a.ndim)
    size = a.shape[axis]
    where: Any = arange(*obj.indices(size)) if isinstance(obj, slice) else asarray(obj)
    if where.ndim > 1:
        raise ValueError(
            f"jnp.insert(): obj must be a slice, a one-dimensional array, or a scalar; got {obj}"
        )
    if dtypes.kind(where.dtype) not in "iu":
        if where.size:
            raise ValueError(f"jnp.insert(): index array must be integer typed; got {obj}")
        where = convert(where, np.dtype("int32"))
    values = array(values, dtype=a.dtype, ndmin=a.ndim)
    if where.size == 1:
        if where.ndim == 0:
            values = moveaxis(values, 0, axis)
        where = full((values.shape[axis],), ravel(where)[0])
    count = broadcast_shapes(where.shape, (values.shape[axis],))[0]
    out = zeros_like(a, shape=(*a.shape[:axis], size + count, *a.shape[axis + 1 :]))
    where = broadcast_to(where, (count,))
    where = clip(where_(less(where, 0), add(where, size), where), 0, size)
    # In the result, the n-th inserted one comes n places later than where it was asked for.
    new = where.at[argsort(where)].add(arange(count, dtype=where.dtype))
    is_old = ones(size + count, dtype=bool).at[new].set(False)
    (old,) = nonzero(is_old, size=size)
    before = (slice(None),) * axis
    out = out.at[(*before, new)].set(values)
    return out.at[(*before, old)].set(a)


def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Array:
    """`filt` without the zeros at its front ('f') and back ('b'); as numpy.trim_zeros.

    The values must be known."""
    x = ensure_arraylike("trim_zeros", filt)
    host = np.asarray(concrete(x, "the `filt` argument of trim_zeros()", "Trim before."))
    axes = range(x.ndim) if axis is None else [canonicalize_axis(axis, x.ndim)]
    index = [slice(None)] * x.ndim
    for i in axes:
        found = np.flatnonzero(host.any(axis=tuple(j for j in range(x.ndim) if j != i)))
        if not found.size:
            index[i] = slice(0, 0)
            continue
        start = int(found[0]) if "f" in trim.lower() else None
        index[i] = slice(start, int(found[-1]) + 1 if "b" in trim.lower() else None)
    return x[tuple(index)]


# ---- with elements changed ----


@jitted(static_argnames=("axis", "inplace", "mode"))
def put_along_axis(
    arr: Any, indices: Any, values: Any, axis: int | None, inplace: bool = True, *, mode: Any = None
) -> Array:
    """`arr` with `values` where take_along_axis would read; needs inplace=False."""
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
