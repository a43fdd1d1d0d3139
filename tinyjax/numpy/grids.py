"""Index grids: meshgrid, indices, ix_, mgrid, r_."""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core import dtypes
from tinyjax.core.array import Array
from tinyjax.numpy.creation import array
from tinyjax.numpy.joining import concatenate, stack
from tinyjax.numpy.manipulation import transpose
from tinyjax.numpy.promotion import promote_dtypes
from tinyjax.numpy.ranges import arange, linspace
from tinyjax.numpy.util import (
    canonicalize_shape,
    concrete,
    concrete_int,
    ensure_arraylike,
    user_dtype_or,
)
from tinyjax.transform.batching import vmap


def meshgrid(
    *xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> tuple[Array, ...]:
    """The coordinates of a grid, an array for each axis; as numpy.meshgrid.

    indexing 'ij' keeps the order of the axes, 'xy' swaps the first two. With `sparse` each array has
    size 1 along the other axes. Raises ValueError for arrays that don't have one axis."""
    arrays = [ensure_arraylike("meshgrid", x) for x in xi]
    if not copy:
        raise ValueError("jax.numpy.meshgrid only supports copy=True")
    if indexing not in ("xy", "ij"):
        raise ValueError(f"Valid values for indexing are 'xy' and 'ij', got {indexing}")
    if any(x.ndim != 1 for x in arrays):
        raise ValueError(
            f"Arguments to jax.numpy.meshgrid must be 1D, got shapes {[x.shape for x in arrays]}"
        )
    swap = indexing == "xy" and len(arrays) >= 2
    if swap:
        arrays[0], arrays[1] = arrays[1], arrays[0]
    sizes = [x.shape[0] for x in arrays]
    out = [
        lax.broadcast_in_dim(
            x, [n if not sparse or j == i else 1 for j, n in enumerate(sizes)], (i,)
        )
        for i, x in enumerate(arrays)
    ]
    if swap:
        out[0], out[1] = out[1], out[0]
    return tuple(out)


def ix_(*args: Any) -> tuple[Array, ...]:
    """Vectors shaped so that as indices they choose a grid; as numpy.ix_."""
    arrays = [ensure_arraylike("ix", x) for x in args]
    for x in arrays:
        if x.ndim != 1:
            raise ValueError(
                f"Arguments to jax.numpy.ix_ must be 1-dimensional, got shape {x.shape}"
            )
        if x.dtype == np.bool_:
            raise NotImplementedError("Boolean arguments to jax.numpy.ix_ are not implemented")
    shapes = [
        [x.shape[0] if j == i else 1 for j in range(len(arrays))] for i, x in enumerate(arrays)
    ]
    return tuple(
        lax.broadcast_in_dim(x, shape, (i,)) for i, (x, shape) in enumerate(zip(arrays, shapes))
    )


def indices(dimensions: Any, dtype: Any = None, sparse: bool = False) -> Any:
    """The index of each element along each axis, stacked (a tuple if sparse); as numpy.indices."""
    out_dtype = user_dtype_or(dtype, dtypes.default_dtype(int), "indices")
    sizes = tuple(concrete_int(n, "dimensions argument of jnp.indices") for n in dimensions)
    out = []
    for i, n in enumerate(sizes):
        shape = [n if j == i else 1 for j in range(len(sizes))] if sparse else sizes
        out.append(lax.broadcast_in_dim(lax.iota(out_dtype, n), shape, (i,)))
    if sparse:
        return tuple(out)
    return stack(out, 0) if out else array([], dtype=out_dtype)


def fromfunction(function: Any, shape: Any, *, dtype: Any = float, **kwargs: Any) -> Any:
    """function(i, j, ...) at each position of a grid, by vmap; as numpy.fromfunction."""
    sizes = canonicalize_shape(shape)
    for i in range(len(sizes)):
        in_axes = [0 if i == j else None for j in range(len(sizes))]
        function = vmap(function, in_axes=tuple(in_axes[::-1]))
    return function(*[arange(n, dtype=dtype) for n in sizes], **kwargs)


def _range_of(part: slice) -> Any:
    """start:stop:step means arange; start:stop:nj means linspace with n values."""
    start, stop, step = (
        concrete(x, "in an index grid") for x in (part.start, part.stop, part.step)
    )
    start, step = start or 0, step or 1
    if np.iscomplex(step):
        return linspace(start, stop, int(abs(step)))
    return arange(start, stop, step)


class _Grid:
    """The type of mgrid and ogrid: indexed by slices, they return the coordinates of a grid."""

    def __init__(self, sparse: bool):
        self.sparse = sparse

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return _range_of(key)
        axes = promote_dtypes(*[_range_of(part) for part in key]) if key else []
        out = meshgrid(*axes, indexing="ij", sparse=self.sparse)
        if self.sparse:
            return list(out)
        return stack(out, 0) if out else arange(0)


mgrid = _Grid(sparse=False)
ogrid = _Grid(sparse=True)


class _AxisConcat:
    """The type of r_ and c_: indexed by slices and arrays, they concatenate them; as numpy.r_, c_."""

    def __init__(self, axis: int, ndmin: int, trans1d: int):
        self.axis, self.ndmin, self.trans1d = axis, ndmin, trans1d

    def __getitem__(self, key: Any) -> Any:
        items = list(key) if isinstance(key, tuple) else [key]
        axis, ndmin, trans1d, matrix = self.axis, self.ndmin, self.trans1d, -1
        if isinstance(items[0], str):
            directive = items.pop(0)
            if directive in ("r", "c"):
                matrix = "rc".index(directive)
            else:
                axis, ndmin, trans1d = self._numbers(directive)
        out = []
        for item in items:
            if isinstance(item, str):
                raise ValueError("string directive must be placed at the beginning")
            x = _range_of(item) if isinstance(item, slice) else array(item, copy=False)
            item_ndim = 0 if isinstance(item, slice) else x.ndim
            x = array(x, copy=False, ndmin=ndmin)
            if trans1d != -1 and ndmin > item_ndim:
                shift = ndmin - abs(ndmin + trans1d + 1) % ndmin
                order = tuple(range(ndmin))
                x = transpose(x, order[shift:] + order[:shift])
            out.append(x)
        joined = concatenate(tuple(out), axis)
        return lax.expand_dims(joined, (matrix,)) if matrix != -1 and joined.ndim == 1 else joined

    def _numbers(self, directive: str) -> tuple[int, int, int]:
        defaults = [self.axis, self.ndmin, self.trans1d]
        try:
            given = [int(n) for n in directive.split(",")]
        except ValueError as error:
            raise ValueError(f"could not understand directive {directive!r}") from error
        axis, ndmin, trans1d = given + defaults[len(given) :]
        return axis, ndmin, trans1d

    def __len__(self) -> int:
        return 0


r_ = _AxisConcat(axis=0, ndmin=1, trans1d=-1)
c_ = _AxisConcat(axis=-1, ndmin=2, trans1d=0)
s_ = np.s_
index_exp = np.index_exp
