"""Arrays with elements taken out or put in: delete, insert, trim_zeros.

Builds on taking.

Sources: https://docs.jax.dev/en/latest/_autosummary/jax.numpy.<name>.html, one page a function.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax import dtypes
from tinyjax.array import Array
from tinyjax.numpy import reductions
from tinyjax.numpy.creation import array, asarray, full, ones, zeros_like
from tinyjax.numpy.elementary import clip
from tinyjax.numpy.joining import concatenate
from tinyjax.numpy.logic import less
from tinyjax.numpy.manipulation import moveaxis, ravel
from tinyjax.numpy.ranges import arange
from tinyjax.numpy.selecting import where_
from tinyjax.numpy.sorting import argsort
from tinyjax.numpy.ufuncs import add
from tinyjax.numpy.util import (
    broadcast_shapes,
    broadcast_to,
    canonicalize_axis,
    check_arraylike,
    concrete,
    convert,
    ensure_arraylike,
)

# ---- with elements taken out or put in ----


def delete(
    arr: Any, obj: Any, axis: int | None = None, *, assume_unique_indices: bool = False
) -> Array:
    """`arr` without the slices `obj` (int, slice, array or mask) along `axis`; as numpy.delete.

    An array of indices must be known, unless assume_unique_indices says how many go."""
    from tinyjax.numpy.sorting import sort

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
    known = np.asarray(concrete(obj, "'obj' array argument of jnp.delete()"))
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
    from tinyjax.numpy.searching import nonzero

    (old,) = nonzero(is_old, size=size)
    before = (slice(None),) * axis
    out = out.at[(*before, new)].set(values)
    return out.at[(*before, old)].set(a)


def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Array:
    """`filt` without the zeros at its front ('f') and back ('b'); as numpy.trim_zeros.

    The values must be known."""
    x = ensure_arraylike("trim_zeros", filt)
    host = np.asarray(concrete(x, "Error arose in the `filt` argument of trim_zeros()"))
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
