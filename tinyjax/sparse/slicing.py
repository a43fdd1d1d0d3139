"""Parts of sparse arrays: what is not in the part goes out of bounds, and its number becomes 0.

A slice of a traced array has as many stored elements as the whole, or as many as there is room for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.sparse.bcoo import BCOO, columns, whole_batches
from tinyjax.sparse.coordinates import bcoo_sum_duplicates
from tinyjax.sparse.layout import bcoo_squeeze, bcoo_transpose, bcoo_update_layout
from tinyjax.transform.batching import vmap


def bcoo_slice(
    mat: BCOO,
    *,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None = None,
) -> BCOO:
    """The part from start to limit along each axis, every stride-th; as lax.slice.

    Raises TypeError or ValueError for what is not within the array."""
    start, limit = [int(i) for i in start_indices], [int(i) for i in limit_indices]
    steps = [1] * mat.ndim if strides is None else [int(i) for i in strides]
    if not len(start) == len(limit) == len(steps) == mat.ndim:
        raise ValueError(f"bcoo_slice takes indices for each of the {mat.ndim} axes")
    for axis, (a, b, step, size) in enumerate(zip(start, limit, steps, mat.shape)):
        if not (0 <= a <= b <= size and step > 0):
            raise ValueError(
                f"bcoo_slice: {a}:{b}:{step} is not within axis {axis} of shape {mat.shape}"
            )
    whole = [slice(a, b, step) for a, b, step in zip(start, limit, steps)]
    data, indices = _of_batch_and_dense(mat, whole)
    shape = tuple([-(-(b - a) // step) for a, b, step in zip(start, limit, steps)])
    sparse = slice(mat.n_batch, mat.n_batch + mat.n_sparse)
    part = whole[sparse]
    if part == [slice(0, size, 1) for size in mat.sparse_shape]:
        flags = {"indices_sorted": mat.indices_sorted, "unique_indices": mat.unique_indices}
        return BCOO((data, indices), shape=shape, **flags)

    def within(column: Any, which: slice, size: int) -> tuple[Any, Any]:
        from_start = column - which.start
        inside = (from_start >= 0) & (column < which.stop) & (from_start % which.step == 0)
        return inside, from_start // which.step

    places = [within(*x) for x in zip(columns(indices), part, shape[sparse])]
    return _moved(data, places, shape, mat)


def bcoo_dynamic_slice(mat: BCOO, start_indices: Sequence[Any], slice_sizes: Sequence[int]) -> BCOO:
    """The part of these sizes at a start that may be traced, and is moved into the array; as
    lax.dynamic_slice.

    Raises TypeError for sizes that the array lacks."""
    sizes = tuple([int(size) for size in slice_sizes])
    if not len(sizes) == len(start_indices) == mat.ndim:
        raise ValueError(f"bcoo_dynamic_slice takes a start and a size for each of {mat.ndim} axes")
    if any(not 0 <= size <= whole for size, whole in zip(sizes, mat.shape)):
        raise TypeError(
            f"slice slice_sizes must be less than or equal to operand shape, got slice_sizes {sizes} for "
            f"operand shape {mat.shape}."
        )
    starts = []
    for start, size, whole in zip(start_indices, sizes, mat.shape):
        start = jnp.asarray(start)
        start = jnp.where(start < 0, start + whole, start).astype(np.int32)
        starts.append(jnp.clip(start, 0, whole - size))
    data, indices = whole_batches(mat)
    zero = np.int32(0)
    dense_from = mat.n_batch + mat.n_sparse
    data = lax.dynamic_slice(
        data,
        [*starts[: mat.n_batch], zero, *starts[dense_from:]],
        [*sizes[: mat.n_batch], mat.nse, *sizes[dense_from:]],
    )
    indices = lax.dynamic_slice(
        indices,
        [*starts[: mat.n_batch], zero, zero],
        [*sizes[: mat.n_batch], mat.nse, mat.n_sparse],
    )
    sparse = slice(mat.n_batch, dense_from)

    def within(column: Any, start: Any, size: int) -> tuple[Any, Any]:
        from_start = column - start.astype(column.dtype)
        return (from_start >= 0) & (from_start < size), from_start

    places = [within(*x) for x in zip(columns(indices), starts[sparse], sizes[sparse])]
    return _moved(data, places, sizes, mat)


def _of_batch_and_dense(mat: BCOO, whole: list[slice]) -> tuple[Any, Any]:
    """The leaves, sliced along their own axes."""
    data, indices = whole_batches(mat)
    batch = tuple(whole[: mat.n_batch])
    dense = whole[mat.n_batch + mat.n_sparse :]
    return data[(*batch, slice(None), *dense)], indices[batch]


def _moved(data: Any, places: list[tuple[Any, Any]], shape: tuple[int, ...], mat: BCOO) -> BCOO:
    """The part, of (is it inside, where) along each sparse axis."""
    if not places:
        indices = jnp.zeros((*data.shape[: mat.n_batch + 1], 0), mat.indices.dtype)
        return BCOO((data, indices), shape=shape)
    sparse_shape = shape[mat.n_batch : mat.n_batch + mat.n_sparse]
    inside = places[0][0]
    for other, _ in places[1:]:
        inside &= other
    parts = [jnp.where(inside, place, size) for (_, place), size in zip(places, sparse_shape)]
    data = jnp.where(lax.expand_dims(inside, range(inside.ndim, data.ndim)), data, 0)
    part = BCOO((data, jnp.stack(parts, axis=-1).astype(mat.indices.dtype)), shape=shape)
    room = math.prod(sparse_shape)
    if room >= part.nse:
        return part
    part = bcoo_sum_duplicates(part, nse=room, remove_zeros=False)
    return BCOO((part.data, part.indices), shape=shape)


def bcoo_gather(
    operand: BCOO,
    start_indices: Any,
    dimension_numbers: Any,
    slice_sizes: Sequence[int],
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: Any = None,
    fill_value: Any = None,
) -> BCOO:
    """A slice at each of the start indices, as lax.gather: what `x[indices]` does.

    Raises NotImplementedError for gathers with batching dimensions of operands, and where what is out of
    bounds would be filled with anything but 0."""
    numbers = dimension_numbers
    mode = lax.GatherScatterMode.from_any(mode)
    if getattr(numbers, "operand_batching_dims", ()):
        raise NotImplementedError("bcoo_gather: operand_batching_dims of a sparse array")
    if mode == lax.GatherScatterMode.FILL_OR_DROP and fill_value not in (None, 0):
        raise NotImplementedError(f"bcoo_gather: fill_value {fill_value!r} of a sparse array")
    start_indices = jnp.asarray(start_indices)

    def one(start: Any) -> BCOO:
        starts = [np.int32(0)] * operand.ndim
        for column, axis in enumerate(numbers.start_index_map):
            most = operand.shape[axis] - slice_sizes[axis]
            starts[axis] = jnp.clip(start[column], 0, most)
        part = bcoo_dynamic_slice(operand, starts, slice_sizes)
        if mode == lax.GatherScatterMode.FILL_OR_DROP:
            found = jnp.all(jnp.array(starts)[np.array(numbers.start_index_map)] == start)
            part = part.like(jnp.where(found, part.data, 0))
        return bcoo_squeeze(part, dimensions=numbers.collapsed_slice_dims)

    gathered: Callable[..., BCOO] = one
    for _ in range(start_indices.ndim - 1):
        gathered = vmap(gathered)
    return _batch_axes_in_place(gathered(start_indices), start_indices.ndim - 1, numbers)


def _batch_axes_in_place(mat: BCOO, count: int, numbers: Any) -> BCOO:
    """The axes of start indices, which come first, stand where the others leave room."""
    offsets = numbers.offset_dims
    batch = [i for i in range(mat.ndim) if i not in offsets]
    order = [0] * mat.ndim
    for place, axis in enumerate(batch):
        order[axis] = place
    for place, axis in enumerate(offsets):
        order[axis] = count + place
    if order == list(range(mat.ndim)):
        return mat
    return bcoo_transpose(bcoo_update_layout(mat, n_batch=mat.n_batch - count), permutation=order)
