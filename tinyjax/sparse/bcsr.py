"""BCSR: rows of stored elements, one after the other, and where each row begins.

Row i has the elements from indptr[i] to indptr[i + 1], so the coordinate of the row is not stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import tinyjax.numpy as jnp
from tinyjax.core.tree_util.registration import register_pytree_node_class
from tinyjax.sparse.base import JAXSparse
from tinyjax.sparse.bcoo import BCOO, over_batches, whole_batches
from tinyjax.sparse.coordinates import (
    bcoo_fromdense,
    bcoo_sort_indices,
    bcoo_sum_duplicates,
    bcoo_todense,
    elements_at,
)
from tinyjax.sparse.layout import bcoo_broadcast_in_dim, bcoo_concatenate
from tinyjax.sparse.products import bcoo_dot_general


@register_pytree_node_class
class BCSR(JAXSparse):
    """A sparse array of compressed rows: BCSR((data, indices, indptr), shape=shape).

    It has two sparse axes, with batch axes before and dense axes after them. Raises ValueError if the
    shapes don't fit."""

    def __init__(
        self,
        args: tuple[Any, Any, Any],
        *,
        shape: Sequence[int],
        indices_sorted: bool = False,
        unique_indices: bool = False,
    ):
        self.data, self.indices, self.indptr = [jnp.asarray(x) for x in args]
        self.shape = tuple([int(size) for size in shape])
        self.indices_sorted = indices_sorted
        self.unique_indices = unique_indices
        self._batch_of_shape = self.n_batch
        _check_shapes(self)

    def tree_flatten(self) -> tuple[tuple[Any, Any, Any], tuple]:
        flags = (self.indices_sorted, self.unique_indices)
        return (self.data, self.indices, self.indptr), (self.shape, self._batch_of_shape, flags)

    @classmethod
    def tree_unflatten(cls, aux: tuple, children: Any) -> BCSR:
        """As for BCOO."""
        new = object.__new__(cls)
        new.data, new.indices, new.indptr = children
        new.shape, new._batch_of_shape, (new.indices_sorted, new.unique_indices) = aux
        n_batch = np.ndim(new.indptr) - 1 if hasattr(new.indptr, "ndim") else -1
        if n_batch >= 0 and n_batch != new._batch_of_shape:
            new.shape = (*new.indptr.shape[:n_batch], *new.shape[new._batch_of_shape :])
            new._batch_of_shape = n_batch
        return new

    @property
    def nse(self) -> int:
        return self.indices.shape[-1]

    @property
    def n_batch(self) -> int:
        if not self.indptr.ndim:
            raise ValueError(
                "Cannot map in_axis=0 for BCSR array with n_batch=0. in_axes for batched BCSR operations "
                "must correspond to a batched dimension."
            )
        return self.indptr.ndim - 1

    @property
    def n_dense(self) -> int:
        return self.data.ndim - self.n_batch - 1

    def like(self, data: Any) -> BCSR:
        """Other numbers in the same places."""
        flags = {"indices_sorted": self.indices_sorted, "unique_indices": self.unique_indices}
        return BCSR((data, self.indices, self.indptr), shape=self.shape, **flags)

    def transpose(self, axes: Sequence[int] | None = None) -> Any:
        raise NotImplementedError(
            "Transpose is not implemented. x.to_bcoo().T has the elements by their coordinates"
        )

    # ---- to and from BCOO ----

    def to_bcoo(self) -> BCOO:
        """The coordinates of each element. What stands after the last row is out of bounds."""

        def coordinates(indices: Any, indptr: Any) -> Any:
            places = jnp.arange(indices.shape[0], dtype=indptr.dtype)
            row = jnp.searchsorted(indptr, places, side="right") - 1
            return jnp.stack([row.astype(indices.dtype), indices], axis=-1)

        indices = over_batches(coordinates, self.n_batch)(self.indices, self.indptr)
        flags = {"indices_sorted": self.indices_sorted, "unique_indices": self.unique_indices}
        return BCOO((self.data, indices), shape=self.shape, **flags)

    @classmethod
    def from_bcoo(cls, arr: BCOO) -> BCSR:
        """Sorted by rows, and each row's beginning counted. NotImplementedError without two sparse axes."""
        if arr.n_sparse != 2:
            raise NotImplementedError(
                f"BCSR.from_bcoo requires n_sparse=2; got arr.n_sparse={arr.n_sparse} of {arr}"
            )
        mat = arr if arr.indices_sorted else bcoo_sort_indices(arr)
        data, indices = whole_batches(mat)
        rows = mat.sparse_shape[0]

        def beginnings(row: Any) -> Any:
            counts = jnp.zeros(rows + 1, row.dtype).at[row + 1].add(1, mode="drop")
            return jnp.cumsum(counts, dtype=row.dtype)

        indptr = over_batches(beginnings, mat.n_batch)(indices[..., 0])
        return cls((data, indices[..., 1], indptr), shape=mat.shape)

    @classmethod
    def fromdense(cls, mat: Any, **kwargs: Any) -> BCSR:
        """As bcsr_fromdense."""
        return bcsr_fromdense(mat, **kwargs)

    @classmethod
    def from_scipy_sparse(
        cls, mat: Any, *, index_dtype: Any = None, n_dense: int = 0, n_batch: int = 0
    ) -> BCSR:
        """The stored elements of a matrix of scipy.sparse.

        Raises NotImplementedError for batch or dense axes."""
        if n_dense or n_batch:
            raise NotImplementedError("BCSR from_scipy_sparse with nonzero n_dense/n_batch.")
        mat = mat.tocsr()
        dtype = index_dtype or np.int32
        parts = (mat.data, mat.indices.astype(dtype), mat.indptr.astype(dtype))
        return cls(parts, shape=mat.shape)

    def todense(self) -> Any:
        return bcsr_todense(self)

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> BCSR:
        """As bcoo_sum_duplicates."""
        return bcsr_sum_duplicates(self, nse, remove_zeros)


def _check_shapes(mat: BCSR) -> None:
    for name, x in (("indices", mat.indices), ("indptr", mat.indptr)):
        if not jnp.issubdtype(x.dtype, jnp.integer):
            raise TypeError(f"{name} of BCSR must be integers, got {x.dtype}")
    n_batch, n_dense = mat.n_batch, mat.ndim - mat.n_batch - 2
    if n_dense < 0:
        raise ValueError(
            f"BCSR has two sparse axes after n_batch={n_batch} ones, got shape {mat.shape}"
        )
    if mat.indptr.shape[-1] != mat.shape[n_batch] + 1:
        raise ValueError(
            f"indptr shape must match the matrix shape plus 1: got indptr.shape={mat.indptr.shape} for "
            f"shape={mat.shape}"
        )
    if mat.indices.ndim != n_batch + 1 or mat.data.shape[n_batch:] != (
        mat.nse,
        *mat.shape[n_batch + 2 :],
    ):
        raise ValueError(
            f"Invalid data.shape={mat.data.shape} and indices.shape={mat.indices.shape} for "
            f"n_batch={n_batch}, n_dense={n_dense}, shape={mat.shape}"
        )


# ---- functions ----


def bcsr_fromdense(
    mat: Any,
    *,
    nse: int | None = None,
    n_batch: int = 0,
    n_dense: int = 0,
    index_dtype: Any = np.int32,
) -> BCSR:
    """The elements of an array that are not 0; as bcoo_fromdense. ValueError if not two axes are sparse."""
    mat = jnp.asarray(mat)
    if mat.ndim - n_batch - n_dense != 2:
        raise ValueError("bcsr_fromdense: must have 2 sparse dimensions.")
    kwargs = {"n_batch": n_batch, "n_dense": n_dense, "index_dtype": index_dtype}
    return BCSR.from_bcoo(bcoo_fromdense(mat, nse=nse, **kwargs))


def bcsr_todense(mat: BCSR) -> Any:
    """The sparse array as an ordinary one."""
    return bcoo_todense(mat.to_bcoo())


def bcsr_extract(indices: Any, indptr: Any, mat: Any) -> Any:
    """The elements of an array at the places that `indices` and `indptr` say."""
    mat, n_batch = jnp.asarray(mat), jnp.ndim(indptr) - 1
    zeros = jnp.zeros((*indices.shape, *mat.shape[n_batch + 2 :]), mat.dtype)
    places = BCSR((zeros, indices, indptr), shape=mat.shape).to_bcoo().indices
    return over_batches(elements_at, n_batch)(mat, places)


def bcsr_sum_duplicates(mat: BCSR, nse: int | None = None, remove_zeros: bool = True) -> BCSR:
    """Each element once, in order; as bcoo_sum_duplicates."""
    return BCSR.from_bcoo(bcoo_sum_duplicates(mat.to_bcoo(), nse, remove_zeros))


def bcsr_dot_general(
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: Any,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """lax.dot_general of a BCSR and an ordinary array. NotImplementedError for other factors."""
    if not isinstance(lhs, BCSR) or isinstance(rhs, JAXSparse):
        raise NotImplementedError(
            "bcsr_dot_general currently implemented for BCSR lhs and ndarray rhs."
        )
    return bcoo_dot_general(
        lhs.to_bcoo(),
        rhs,
        dimension_numbers=dimension_numbers,
        preferred_element_type=preferred_element_type,
    )


def bcsr_broadcast_in_dim(
    mat: BCSR, *, shape: Sequence[int], broadcast_dimensions: Sequence[int], sharding: Any = None
) -> BCSR:
    """As bcoo_broadcast_in_dim; new axes are batch axes, or dense ones."""
    kwargs = {"shape": shape, "broadcast_dimensions": broadcast_dimensions}
    return BCSR.from_bcoo(bcoo_broadcast_in_dim(mat.to_bcoo(), **kwargs))


def bcsr_concatenate(operands: Sequence[BCSR], *, dimension: int) -> BCSR:
    """As bcoo_concatenate. ValueError if they are not all BCSR."""
    if not all(isinstance(mat, BCSR) for mat in operands):
        raise ValueError(
            "bcsr_concatenate: expected operands to be a sequence of BCSR arrays. Got "
            f"{tuple(operands)}"
        )
    return BCSR.from_bcoo(
        bcoo_concatenate([mat.to_bcoo() for mat in operands], dimension=dimension)
    )
