"""Sparse arrays in another shape or order: what changes is columns of indices, or their numbers.

To transpose, the columns of the coordinates change places, and no element moves.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.sparse.base import SparseEfficiencyError, SparseEfficiencyWarning
from tinyjax.sparse.bcoo import BCOO, check_as_dense, over_batches, whole_batches
from tinyjax.sparse.coordinates import bcoo_sum_duplicates


def axes_by_kind(mat: BCOO, axes: Sequence[int]) -> tuple[list[int], list[int], list[int]]:
    """Which of the axes are batch axes, sparse ones (counted from 0), and dense ones (from 0)."""
    dense_from = mat.n_batch + mat.n_sparse
    return (
        [i for i in axes if i < mat.n_batch],
        [i - mat.n_batch for i in axes if mat.n_batch <= i < dense_from],
        [i - dense_from for i in axes if i >= dense_from],
    )


def bcoo_transpose(mat: BCOO, *, permutation: Sequence[int]) -> BCOO:
    """The axes in another order: batch, sparse and dense ones among their like.

    Raises NotImplementedError for a permutation that mixes them (update_layout helps), TypeError for what is
    none."""
    permutation = tuple([int(i) + mat.ndim * (int(i) < 0) for i in permutation])
    if sorted(permutation) != list(range(mat.ndim)):
        raise TypeError(
            "transpose permutation isn't a permutation of operand dimensions, got permutation "
            f"{permutation} for shape {mat.shape}."
        )
    batch, sparse, dense = axes_by_kind(mat, permutation)
    shape = tuple([mat.shape[i] for i in permutation])
    dense_from = mat.n_batch + mat.n_sparse
    for kind, count, fits in (
        ("batch", mat.n_batch, sorted(permutation[: mat.n_batch]) == list(range(mat.n_batch))),
        ("dense", mat.n_dense, all(i >= dense_from for i in permutation[dense_from:])),
    ):
        if not fits:
            raise NotImplementedError(
                f"transpose permutation cannot permute {kind} axes with non-{kind} axes; got "
                f"permutation {permutation}, with n_{kind}={count}."
            )
    data = mat.data.transpose(*batch, mat.n_batch, *[mat.n_batch + 1 + i for i in dense])
    indices = mat.indices.transpose(*batch, mat.n_batch, mat.n_batch + 1)
    indices = indices[..., np.array(sparse, int)]
    in_order = mat.indices_sorted and sparse == sorted(sparse)
    return BCOO(
        (data, indices), shape=shape, indices_sorted=in_order, unique_indices=mat.unique_indices
    )


def bcoo_reshape(
    mat: BCOO,
    *,
    new_sizes: Sequence[int],
    dimensions: Sequence[int] | None = None,
    sharding: Any = None,
) -> BCOO:
    """The elements in a new shape, in row-major order; after a transpose, if `dimensions` give one.

    Raises ValueError if the new shape mixes batch, sparse and dense axes, TypeError for a shape of another
    size."""
    if dimensions is not None and tuple(dimensions) != tuple(range(mat.ndim)):
        mat = bcoo_transpose(mat, permutation=dimensions)
    new_sizes = tuple([int(size) for size in new_sizes])
    if math.prod(new_sizes) != mat.size:
        raise TypeError(
            f"cannot reshape array of shape {mat.shape} (size {mat.size}) into shape {new_sizes} (size "
            f"{math.prod(new_sizes)})"
        )
    batch = mat.shape[: mat.n_batch]
    n_batch = _count_with_product("batch", mat, new_sizes, batch)
    n_dense = _count_with_product("dense", mat, new_sizes[::-1], mat.dense_shape)
    sparse = new_sizes[n_batch : len(new_sizes) - n_dense]
    dense = new_sizes[len(new_sizes) - n_dense :]
    data, indices = whole_batches(mat)
    data = data.reshape(*new_sizes[:n_batch], mat.nse, *dense)
    indices = indices.reshape(*new_sizes[:n_batch], mat.nse, mat.n_sparse)
    return BCOO((data, _renumbered(indices, mat.sparse_shape, sparse)), shape=new_sizes)


def _count_with_product(kind: str, mat: BCOO, sizes: tuple[int, ...], old: tuple[int, ...]) -> int:
    """How many of the first sizes have the product that the old ones have."""
    if not old:
        return 0
    for count in range(1, len(sizes) + 1):
        if math.prod(sizes[:count]) == math.prod(old):
            while count < len(old) and count < len(sizes) and sizes[count] == 1:
                count += 1
            return count
    new = sizes[::-1] if kind == "dense" else sizes
    raise ValueError(
        f"bcoo_reshape: new shape cannot mix {kind} and sparse dimensions; got shape={mat.shape} "
        f"new_shape={new} with n_{kind}={getattr(mat, f'n_{kind}')}"
    )


def _renumbered(indices: Any, old: tuple[int, ...], new: tuple[int, ...]) -> Any:
    """Coordinates within `old` as those within `new`; what was out of bounds is so again."""
    number = jnp.zeros(indices.shape[:-1], indices.dtype)
    for i, size in enumerate(old):
        number = number * size + indices[..., i]
    outside = jnp.any(indices >= np.array(old, indices.dtype), axis=-1)
    parts = []
    for size in reversed(new):
        parts.append(jnp.where(outside, size, number % max(size, 1)))
        number = number // max(size, 1)
    if not parts:
        return jnp.zeros((*indices.shape[:-1], 0), indices.dtype)
    return jnp.stack(parts[::-1], axis=-1)


def bcoo_broadcast_in_dim(
    mat: BCOO, *, shape: Sequence[int], broadcast_dimensions: Sequence[int], sharding: Any = None
) -> BCOO:
    """The array with new axes, and along batch and dense axes as often as the new shape says.

    New axes before the sparse ones are batch axes, those after are dense ones if there are dense ones.
    Raises NotImplementedError where elements would have to be stored more than once in a batch."""
    shape, places = tuple(shape), tuple(broadcast_dimensions)
    n_batch = places[mat.n_batch] if mat.n_batch < len(places) else len(shape)
    first_dense = mat.n_batch + mat.n_sparse
    dense_from = places[first_dense] if mat.n_dense else len(shape)
    for axis in range(n_batch, dense_from):
        old = mat.shape[places.index(axis)] if axis in places else 1
        if shape[axis] != old:
            raise NotImplementedError("Adding sparse dimensions with lengths != 1")
    data = lax.broadcast_in_dim(
        mat.data,
        (*shape[:n_batch], mat.nse, *shape[dense_from:]),
        (
            *places[: mat.n_batch],
            n_batch,
            *[p - dense_from + n_batch + 1 for p in places[first_dense:]],
        ),
    )
    indices = lax.broadcast_in_dim(
        mat.indices,
        (*shape[:n_batch], mat.nse, mat.n_sparse),
        (*places[: mat.n_batch], n_batch, n_batch + 1),
    )
    new = [places.index(i) if i in places else None for i in range(n_batch, dense_from)]
    zeros = jnp.zeros(indices.shape[:-1], indices.dtype)
    parts = [zeros if i is None else indices[..., i - mat.n_batch] for i in new]
    if parts:
        indices = jnp.stack(parts, axis=-1)
    return BCOO((data, indices), shape=shape)


def bcoo_squeeze(mat: BCOO, *, dimensions: Sequence[int]) -> BCOO:
    """Without these axes of size 1. Raises ValueError for axes of another size."""
    axes = tuple([int(i) % mat.ndim for i in dimensions])
    if any(mat.shape[i] != 1 for i in axes):
        raise ValueError(
            f"cannot select an axis to squeeze out which has size not equal to one, got "
            f"shape={mat.shape} and dimensions={axes}"
        )
    batch, sparse, dense = axes_by_kind(mat, axes)
    data = jnp.squeeze(mat.data, (*batch, *[mat.n_batch + 1 + i for i in dense]))
    kept = np.array([i for i in range(mat.n_sparse) if i not in sparse], int)
    indices = jnp.squeeze(mat.indices[..., kept], tuple(batch))
    inside = mat.indices[..., np.array(sparse, int)] == 0
    if sparse and mat.nse:  # what was out of bounds along a squeezed axis stays out of bounds
        outside = jnp.squeeze(~jnp.all(inside, axis=-1), tuple(batch))
        left = [mat.sparse_shape[i] for i in kept]
        indices = jnp.where(outside[..., None], np.array(left, indices.dtype), indices)
        data = jnp.where(lax.expand_dims(outside, range(outside.ndim, data.ndim)), 0, data)
    shape = tuple([size for i, size in enumerate(mat.shape) if i not in axes])
    return BCOO((data, indices), shape=shape)


def bcoo_rev(mat: BCOO, *, dimensions: Sequence[int]) -> BCOO:
    """The elements in reverse order along these axes. Raises TypeError for axes that there are not."""
    check_as_dense(lambda x: lax.rev(x, dimensions), mat)
    batch, sparse, dense = axes_by_kind(mat, [int(i) for i in dimensions])
    data, indices = whole_batches(mat)
    data = jnp.flip(data, (*batch, *[mat.n_batch + 1 + i for i in dense]))
    indices = jnp.flip(indices, tuple(batch))
    for i in sparse:
        size, column = mat.sparse_shape[i], indices[..., i]
        indices = indices.at[..., i].set(jnp.where(column < size, size - 1 - column, column))
    return BCOO((data, indices), shape=mat.shape, unique_indices=mat.unique_indices and not sparse)


def bcoo_concatenate(operands: Sequence[BCOO], *, dimension: int) -> BCOO:
    """The arrays one after the other along a batch axis or a sparse one.

    Raises ValueError if they are not all BCOO or have other axes that are batch or dense, TypeError if
    shapes or dtypes don't fit, NotImplementedError for dense axes."""
    if not operands or not all(isinstance(mat, BCOO) for mat in operands):
        raise ValueError(
            "bcoo_concatenate: expected operands to be a sequence of BCOO arrays. Got "
            f"{tuple(operands)}"
        )
    check_as_dense(lambda *mats: lax.concatenate(mats, dimension), *operands)
    first = operands[0]
    for mat in operands:
        if (mat.n_batch, mat.n_dense) != (first.n_batch, first.n_dense):
            raise ValueError(
                f"bcoo_concatenate requires inputs to have matching n_batch and n_dense: {first}, {mat}"
            )
    if dimension >= first.n_batch + first.n_sparse:
        raise NotImplementedError("Concatenation along dense dimensions.")
    sizes = [mat.shape[dimension] for mat in operands]
    shape = (*first.shape[:dimension], sum(sizes), *first.shape[dimension + 1 :])
    leaves = [whole_batches(mat) for mat in operands]
    if dimension < first.n_batch:
        nse = max(mat.nse for mat in operands)
        leaves = [_filled_up(mat, *leaf, nse) for mat, leaf in zip(operands, leaves)]
        parts = [jnp.concatenate(both, axis=dimension) for both in zip(*leaves)]
        return BCOO(tuple(parts), shape=shape)  # type: ignore[arg-type]
    column = dimension - first.n_batch
    moved = [
        indices.at[..., column].add(start)
        for (_, indices), start in zip(leaves, np.cumsum([0, *sizes]))
    ]
    data = jnp.concatenate([data for data, _ in leaves], axis=first.n_batch)
    return BCOO((data, jnp.concatenate(moved, axis=-2)), shape=shape)


def _filled_up(mat: BCOO, data: Any, indices: Any, nse: int) -> tuple[Any, Any]:
    """The leaves with as many elements as nse says: 0, out of bounds."""
    more = nse - mat.nse
    widths = [(0, more if i == mat.n_batch else 0) for i in range(data.ndim)]
    outside = jnp.broadcast_to(
        jnp.array(mat.sparse_shape, indices.dtype), (*indices.shape[:-2], more, mat.n_sparse)
    )
    return jnp.pad(data, widths), jnp.concatenate([indices, outside], axis=-2)


# ---- axes of another kind ----


def bcoo_update_layout(
    mat: BCOO,
    *,
    n_batch: int | None = None,
    n_dense: int | None = None,
    on_inefficient: str | None = "error",
) -> BCOO:
    """The same array with another number of batch axes, or dense ones.

    What stores more than a dense array would is an error, a warning ("warn"), or done without a word
    (None). Raises SparseEfficiencyError, or ValueError for more axes than there are."""
    n_batch = mat.n_batch if n_batch is None else int(n_batch)
    n_dense = mat.n_dense if n_dense is None else int(n_dense)
    if n_batch < 0 or n_dense < 0 or n_batch + n_dense > mat.ndim:
        raise ValueError(f"n_batch={n_batch} and n_dense={n_dense} do not fit shape {mat.shape}")
    for name, old, new in (("n_batch", mat.n_batch, n_batch), ("n_dense", mat.n_dense, n_dense)):
        axis = n_batch - 1 if name == "n_batch" else mat.ndim - n_dense
        if new > old and on_inefficient and mat.nse > 1 and mat.shape[axis] > 1:
            says = (
                f"For matrix of shape {mat.shape}, increasing {name} from {old} to {new} results in "
                "inefficient storage."
            )
            if on_inefficient == "warn":
                warnings.warn(says, SparseEfficiencyWarning, stacklevel=2)
            else:
                raise SparseEfficiencyError(
                    f"{says} To disable this error, set the on_inefficient argument of "
                    "bcoo_update_layout to 'warn' or None."
                )
    while mat.n_dense > n_dense:
        mat = _dense_to_sparse(mat)
    while mat.n_batch > n_batch:
        mat = _batch_to_sparse(mat)
    while mat.n_dense < n_dense:
        mat = _sparse_to_dense(mat)
    while mat.n_batch < n_batch:
        mat = _sparse_to_batch(mat)
    return mat


def _dense_to_sparse(mat: BCOO) -> BCOO:
    """Each stored row becomes as many elements."""
    size = mat.dense_shape[0]

    def rows(data: Any, indices: Any) -> tuple[Any, Any]:
        columns = jnp.tile(jnp.arange(size, dtype=indices.dtype), len(indices))
        return (
            data.reshape(math.prod(data.shape[:2]), *data.shape[2:]),
            jnp.column_stack([jnp.repeat(indices, size, axis=0), columns]),
        )

    return BCOO(over_batches(rows, mat.n_batch)(*whole_batches(mat)), shape=mat.shape)


def _sparse_to_dense(mat: BCOO) -> BCOO:
    """Each element becomes a row that has no other."""
    size = mat.sparse_shape[-1]

    def rows(data: Any, indices: Any) -> tuple[Any, Any]:
        row = jnp.zeros((len(data), size, *data.shape[1:]), data.dtype)
        return row.at[jnp.arange(len(data)), indices[:, -1]].add(data, mode="drop"), indices[:, :-1]

    return BCOO(over_batches(rows, mat.n_batch)(*whole_batches(mat)), shape=mat.shape)


def _batch_to_sparse(mat: BCOO) -> BCOO:
    """All batches become one, with the number of the batch before the coordinates."""

    def together(data: Any, indices: Any) -> tuple[Any, Any]:
        count, nse = indices.shape[:2]
        number = jnp.repeat(jnp.arange(count, dtype=indices.dtype), nse)
        return (
            data.reshape(math.prod(data.shape[:2]), *data.shape[2:]),
            jnp.column_stack([number, indices.reshape(count * nse, indices.shape[2])]),
        )

    return BCOO(over_batches(together, mat.n_batch - 1)(*whole_batches(mat)), shape=mat.shape)


def _sparse_to_batch(mat: BCOO) -> BCOO:
    """Each batch has all elements: those of other batches are 0 in it."""
    size = mat.sparse_shape[0]

    def apart(data: Any, indices: Any) -> tuple[Any, Any]:
        ours = indices[:, 0] == jnp.arange(size, dtype=indices.dtype)[:, None]
        ours = lax.expand_dims(ours, range(2, data.ndim + 1))
        each = jnp.broadcast_to(indices[:, 1:], (size, len(indices), indices.shape[1] - 1))
        return jnp.where(ours, data, 0), each

    leaves = over_batches(apart, mat.n_batch)(*whole_batches(mat))
    more = BCOO(leaves, shape=mat.shape)
    # No batch stores more elements than it has.
    most = math.prod(more.sparse_shape)
    return bcoo_sum_duplicates(more, nse=most) if more.nse > most else more
