"""Dense to sparse and back, and coordinates in order: a gather, a scatter and a segment sum.

todense is a scatter-add of the stored elements.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.core.bind import Tracer
from tinyjax.core.errors import ConcretizationTypeError
from tinyjax.sparse.bcoo import BCOO, columns, over_batches, whole_batches


def bcoo_fromdense(
    mat: Any,
    *,
    nse: int | None = None,
    n_batch: int = 0,
    n_dense: int = 0,
    index_dtype: Any = np.int32,
) -> BCOO:
    """The elements of an array that are not 0, as a BCOO.

    `nse` says how many are stored, in each batch; without it, as many as the fullest batch has. Bools become
    integers. Raises ConcretizationTypeError without `nse` where the array is traced, ValueError for axes that
    it lacks."""
    mat = jnp.asarray(mat)
    n_sparse = mat.ndim - n_batch - n_dense
    if n_batch < 0 or n_dense < 0 or n_sparse < 0:
        raise ValueError(
            f"n_batch={n_batch} and n_dense={n_dense} axes are more than shape {mat.shape} has"
        )
    dense_axes = tuple(range(n_batch + n_sparse, mat.ndim))
    mask = jnp.any(mat != 0, axis=dense_axes)
    if nse is None:
        nse = known_nse("bcoo_fromdense", mask.sum(tuple(range(n_batch, n_batch + n_sparse))))

    def stored(mat: Any, mask: Any) -> tuple[Any, Any]:
        if not n_sparse:  # one element, that of the empty coordinates
            padding = jnp.zeros((nse, *mat.shape), mat.dtype)
            return padding.at[:1].set(mat), jnp.zeros((nse, 0), index_dtype)
        where = jnp.nonzero(mask, size=nse, fill_value=mask.shape)
        indices = jnp.stack(where, axis=-1).astype(index_dtype)
        return elements_at(mat, indices), indices

    data, indices = over_batches(stored, n_batch)(mat, mask)
    if mat.dtype == bool:  # as in JAX: the elements will be added, and bools can't be
        data = jnp.where(data, 1, 0)
    return BCOO((data, indices), shape=mat.shape, indices_sorted=True, unique_indices=True)


def known_nse(name: str, counts: Any) -> int:
    """The largest of the counts of stored elements, which must be known."""
    if isinstance(counts, Tracer):
        raise ConcretizationTypeError(
            counts, f"the nse of {name}", "Give the number of stored elements by nse=."
        )
    return int(np.max(counts, initial=0))


def elements_at(mat: Any, indices: Any) -> Any:
    """The elements of an array at coordinates; 0 where these are out of bounds."""
    if not indices.shape[-1]:
        return jnp.broadcast_to(mat, (indices.shape[0], *mat.shape))
    return mat.at[columns(indices)].get(mode="fill", fill_value=0)


def bcoo_todense(mat: BCOO) -> Any:
    """The sparse array as an ordinary one; elements that are stored twice are added."""
    shape = mat.sparse_shape + mat.dense_shape

    def dense(data: Any, indices: Any) -> Any:
        if not indices.shape[-1]:
            return data.sum(0, dtype=data.dtype)
        return jnp.zeros(shape, data.dtype).at[columns(indices)].add(data, mode="drop")

    return over_batches(dense, mat.n_batch)(*whole_batches(mat))


def bcoo_extract(sparr: BCOO, arr: Any, *, assume_unique: bool | None = None) -> BCOO:
    """The elements of `arr` where `sparr` stores some.

    If coordinates are stored twice, the first has the element and the others 0, unless `assume_unique`.
    Raises ValueError if the shapes differ."""
    arr = jnp.asarray(arr)
    if sparr.shape != arr.shape:
        raise ValueError(f"shape mismatch: sparr.shape={sparr.shape} a.shape={arr.shape}")
    _, indices = whole_batches(sparr)
    data = over_batches(elements_at, sparr.n_batch)(arr, indices)
    if not (sparr.unique_indices if assume_unique is None else assume_unique):
        again = over_batches(_stands_before, sparr.n_batch)(indices)
        data = jnp.where(lax.expand_dims(again, range(again.ndim, data.ndim)), 0, data)
    return sparr.like(data)


def _stands_before(indices: Any) -> Any:
    """Whether the same coordinates stand at an earlier place."""
    order, new = _sorted_order(indices)
    return jnp.zeros(len(indices), bool).at[order].set(~new)


def _sorted_order(indices: Any) -> tuple[Any, Any]:
    """The stable sorting permutation of coordinates, and a mask of the first of each group of equal ones."""
    places = lax.iota(np.int32, len(indices))
    *ordered, order = lax.sort((*columns(indices), places), num_keys=indices.shape[-1])
    new = jnp.zeros(len(indices), bool).at[:1].set(True)
    for column in ordered:
        new = new.at[1:].set(new[1:] | (column[1:] != column[:-1]))
    return order, new


def bcoo_sort_indices(mat: BCOO) -> BCOO:
    """The same array with its coordinates in order."""

    def ordered(data: Any, indices: Any) -> tuple[Any, Any]:
        order, _ = _sorted_order(indices)
        return data[order], indices[order]

    leaves = whole_batches(mat)
    if mat.n_sparse:
        leaves = over_batches(ordered, mat.n_batch)(*leaves)
    return BCOO(leaves, shape=mat.shape, indices_sorted=True, unique_indices=mat.unique_indices)


def bcoo_sum_duplicates(mat: BCOO, nse: int | None = None, remove_zeros: bool = True) -> BCOO:
    """The same array with its coordinates in order, and each of them once: elements are added.

    `nse` says how many are stored, as for bcoo_fromdense. With `remove_zeros`, what is stored as 0 is left
    out. Raises ValueError without `nse` where the array is traced."""
    n_batch, shape = mat.n_batch, mat.sparse_shape

    def groups(data: Any, indices: Any) -> Any:
        """What sorts elements, which have coordinates of their own then, and how many these are."""
        outside = jnp.any(indices >= np.array(shape, indices.dtype), axis=-1)
        if remove_zeros:
            outside |= jnp.all(data == 0, axis=tuple(range(1, data.ndim)))
        indices = jnp.where(outside[:, None], np.array(shape, indices.dtype), indices)
        order, new = _sorted_order(indices)
        new &= ~outside[order]
        return indices[order], order, new, outside[order]

    def summed(data: Any, indices: Any, order: Any, new: Any, outside: Any) -> tuple[Any, Any]:
        group = jnp.where(outside, nse, jnp.cumsum(new) - 1)
        empty = jnp.broadcast_to(jnp.array(shape, indices.dtype), (nse, len(shape)))
        sums = jnp.zeros((nse, *data.shape[1:]), data.dtype)
        return (
            sums.at[group].add(data[order], mode="drop"),
            empty.at[group].set(indices, mode="drop"),
        )

    data, indices = whole_batches(mat)
    if not mat.n_sparse:
        nse = 1 if nse is None else nse
        sums = jnp.zeros((*data.shape[:n_batch], nse, *data.shape[n_batch + 1 :]), data.dtype)
        first = (*[slice(None)] * n_batch, slice(0, 1))
        leaves = sums.at[first].set(data.sum(n_batch, keepdims=True)), indices[..., :1, :]
        leaves = leaves[0], jnp.zeros((*indices.shape[:n_batch], nse, 0), indices.dtype)
    else:
        parts = over_batches(groups, n_batch)(data, indices)
        if nse is None:
            counts = parts[2].sum(-1)
            if isinstance(counts, Tracer):
                raise ValueError(
                    "bcoo_sum_duplicates: nse must be specified when using the function within jit, "
                    "vmap, and other transformations requiring abstract evaluation."
                )
            nse = known_nse("bcoo_sum_duplicates", counts)
        leaves = over_batches(summed, n_batch)(data, *parts)
    return BCOO(leaves, shape=mat.shape, indices_sorted=True, unique_indices=True)
