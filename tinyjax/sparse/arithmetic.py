"""Sums, differences and quotients of sparse arrays, and sums along axes.

Operations that map 0 to 0 keep an array sparse. The others raise, since a dense result may not fit into
memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.sparse.bcoo import BCOO, over_batches, whole_batches, without_outside
from tinyjax.sparse.coordinates import bcoo_sum_duplicates, bcoo_todense
from tinyjax.sparse.layout import axes_by_kind
from tinyjax.sparse.products import bcoo_multiply_dense, bcoo_multiply_sparse


def add(x: Any, y: Any) -> Any:
    """x + y, where one is sparse or both are."""
    if isinstance(x, BCOO) and isinstance(y, BCOO):
        return _together(x, y)
    mat, dense = (x, y) if isinstance(x, BCOO) else (y, x)
    dense = jnp.asarray(dense)
    if np.broadcast_shapes(mat.shape, dense.shape) != dense.shape:
        raise NotImplementedError(
            "Addition between a sparse array X and a dense array Y is not implemented when the output "
            "shape is larger than Y.shape. This is to prevent silent densification of a large sparse "
            "array. If this is your intent, you can explicitly cast the sparse array to a dense matrix."
        )
    return bcoo_todense(mat) + dense


def subtract(x: Any, y: Any) -> Any:
    """x - y of two sparse arrays."""
    if not (isinstance(x, BCOO) and isinstance(y, BCOO)):
        raise NotImplementedError("Subtraction between sparse and dense array.")
    return _together(x, y.like(-y.data))


def _together(x: BCOO, y: BCOO) -> BCOO:
    """What both store: an element of the sum may be stored in two parts."""
    if x.shape != y.shape:
        raise NotImplementedError(
            f"Addition between sparse arrays of different shapes, got {x.shape} and {y.shape}"
        )
    if (x.n_batch, x.n_dense) != (y.n_batch, y.n_dense):
        raise NotImplementedError(
            "Addition between sparse arrays with different batch/dense dimensions: update_layout makes "
            f"them alike, got {x} and {y}"
        )
    dtype = jnp.result_type(x.dtype, y.dtype)

    def joined(data: Any, indices: Any, more: Any, their_indices: Any) -> tuple[Any, Any]:
        both = [data.astype(dtype), more.astype(dtype)]
        return jnp.concatenate(both), jnp.concatenate([indices, their_indices])

    leaves = over_batches(joined, x.n_batch)(*whole_batches(x), *whole_batches(y))
    return BCOO(leaves, shape=x.shape)


def multiply(x: Any, y: Any) -> BCOO:
    """x * y, where one is sparse or both are."""
    if isinstance(x, BCOO) and isinstance(y, BCOO):
        return bcoo_multiply_sparse(x, y)
    mat, dense = (x, y) if isinstance(x, BCOO) else (y, x)
    if np.ndim(dense) == 0:
        return mat.like(mat.data * dense)
    return _same_places(mat, bcoo_multiply_dense(mat, dense))


def divide(x: Any, y: Any) -> BCOO:
    """x / y of a sparse x and a dense y."""
    if isinstance(y, BCOO):
        raise NotImplementedError(
            "Division by a sparse array is not implemented because it would result in dense output. If "
            "this is your intent, use sparse.todense() to convert your arguments to a dense array."
        )
    if np.ndim(y) == 0:
        return x.like(x.data / y)
    ones = x.like(jnp.ones_like(x.data))
    return _same_places(x, x.data / jnp.where(_stored(x), bcoo_multiply_dense(ones, y), 1))


def _stored(mat: BCOO) -> Any:
    """Which elements are not out of bounds."""
    _, indices = whole_batches(mat)
    stored = jnp.all(indices < np.array(mat.sparse_shape, indices.dtype), -1)
    return lax.expand_dims(stored, range(stored.ndim, mat.data.ndim))


def _same_places(mat: BCOO, data: Any) -> BCOO:
    flags = {"indices_sorted": mat.indices_sorted, "unique_indices": mat.unique_indices}
    return BCOO((data, mat.indices), shape=mat.shape, **flags)


def power(x: BCOO, y: Any) -> BCOO:
    """x ** y of a positive integer y."""
    if not isinstance(y, int) or isinstance(y, bool):
        raise NotImplementedError(
            "sparse rule for pow is not implemented: the exponent is no integer"
        )
    if y <= 0:
        raise NotImplementedError(
            f"sparse rule for integer_pow with non-positive exponent {y} would result in dense output. "
            "Use sparse.todense() to convert your arguments to dense matrices."
        )
    return on_elements(lambda data: data**y, x)


def on_elements(fun: Any, mat: BCOO, linear: bool = False) -> BCOO:
    """Applies a function that maps 0 to 0 to each element; duplicates are summed first, unless it is
    linear."""
    if not linear and not mat.unique_indices:
        mat = bcoo_sum_duplicates(mat, nse=mat.nse, remove_zeros=False)
    return mat.like(fun(mat.data))


# ---- sums along axes ----


def bcoo_reduce_sum(mat: BCOO, *, axes: Sequence[int]) -> BCOO:
    """The sums along axes: a sparse axis by leaving out its column, a batch axis as more elements.

    Raises ValueError for axes that the array lacks."""
    axes = sorted({_checked_axis(axis, mat.ndim) for axis in axes})
    batch, sparse, dense = axes_by_kind(mat, axes)
    kept = [i for i in range(mat.n_batch) if i not in batch]
    data, indices = without_outside(mat)
    data = data.sum(tuple([mat.n_batch + 1 + i for i in dense]))  # small integers become wider
    count = int(np.prod([mat.shape[i] for i in batch], initial=1, dtype=int)) * mat.nse
    left = np.array([i for i in range(mat.n_sparse) if i not in sparse], int)
    leaves = []
    for leaf in (data, indices[..., left]):
        leaf = leaf.transpose(*kept, *batch, *range(mat.n_batch, leaf.ndim))
        others = leaf.shape[mat.n_batch + 1 :]
        leaves.append(leaf.reshape(*[mat.shape[i] for i in kept], count, *others))
    shape = [size for axis, size in enumerate(mat.shape) if axis not in axes]
    return BCOO(tuple(leaves), shape=shape)


def _checked_axis(axis: Any, ndim: int) -> int:
    if not -ndim <= int(axis) < ndim:
        raise ValueError(f"axis {axis} is out of bounds for array of dimension {ndim}")
    return int(axis) % ndim


def sum_of(mat: BCOO, axis: Any = None) -> Any:
    """The method: the sum of everything is an ordinary array."""
    axes = range(mat.ndim) if axis is None else (axis,) if np.ndim(axis) == 0 else axis
    out = bcoo_reduce_sum(mat, axes=tuple(axes))
    return out if out.shape else bcoo_todense(out)
