"""Blocks of arrays, in the operations of lax: cut out, put back, joined."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinyjax.core.primitives import reshape, transpose
from tinyjax.lax import slicing
from tinyjax.lax.creation import full
from tinyjax.lax.dynamic_slicing import dynamic_slice, dynamic_update_slice
from tinyjax.numpy.choosing import where
from tinyjax.numpy.taking import take
from tinyjax.pallas.grid_mapping import BlockMapping, in_row_major, uninitialized


def empty(aval: Any) -> Any:
    return full(aval.shape, uninitialized(aval.dtype), aval.dtype)


def padded(x: Any, mapping: BlockMapping) -> Any:
    """The array, with all of its blocks."""
    if not any(map(any, mapping.padding)):
        return x
    value = np.array(uninitialized(x.dtype), x.dtype)
    return slicing.pad(x, value, [(low, high, 0) for low, high in mapping.padding])


def unpadded(x: Any, mapping: BlockMapping) -> Any:
    shape = mapping.aval.shape
    if x.shape == shape:
        return x
    lows = [low for low, _ in mapping.padding]
    return slicing.slice(x, lows, [low + n for low, n in zip(lows, shape)])


def block_at(x: Any, starts: Any, mapping: BlockMapping) -> Any:
    """What the kernel's Ref holds: the block at `starts`, an array of the first elements."""
    if x.shape != mapping.sizes:
        x = dynamic_slice(x, [starts[i] for i in range(x.ndim)], mapping.sizes)
    return reshape(x, mapping.ref_shape)


def with_block(x: Any, block: Any, starts: Any, mapping: BlockMapping) -> Any:
    """The array with another block at `starts`."""
    block = reshape(block, mapping.sizes)
    if x.shape == block.shape:
        return block
    return dynamic_update_slice(x, block, [starts[i] for i in range(x.ndim)])


# ---- all blocks at once ----


def followed_axes(mapping: BlockMapping, axes: Sequence[int]) -> dict[int, int]:
    """{axis of the grid: axis of the array} for grid axes in `axes` with several programs, where program i
    along the grid axis gets block i along the array's axis.
    """
    grid = mapping.indices.shape[:-1]
    found: dict[int, int] = {}
    for axis in axes:
        numbers = np.arange(grid[axis]).reshape([-1 if i == axis else 1 for i in range(len(grid))])
        for dim, size in enumerate(mapping.sizes):
            is_new = dim not in found.values() and grid[axis] > 1
            if is_new and (mapping.starts[..., dim] == numbers * size).all():
                found[axis] = dim
                break
    return found


def in_blocks(
    x: Any, mapping: BlockMapping, followed: dict[int, int]
) -> tuple[Any, dict[int, int]]:
    """The padded array, with the axes of `followed` cut into blocks; and {axis of the grid: axis along which
    the numbers of blocks are}."""
    grid = mapping.indices.shape
    shape: list[int] = []
    places = {}
    axis_of = {dim: axis for axis, dim in followed.items()}
    for dim, (n, size) in enumerate(zip(x.shape, mapping.sizes)):
        if dim in axis_of:
            count = grid[axis_of[dim]]
            x = slicing.slice(x, [0] * x.ndim, [*x.shape[:dim], count * size, *x.shape[dim + 1 :]])
            places[axis_of[dim]] = len(shape)
            shape += [count, size]
        else:
            shape.append(n)
    return reshape(x, shape), places


def slices_of_blocks(x: Any, places: dict[int, int], starts: Any, mapping: BlockMapping) -> Any:
    """The result of `in_blocks`, reduced to one block along the axes that are not cut: `starts` has the
    block's first element along each axis of the array.
    """
    numbers = places.values()
    axes = [axis for axis in range(x.ndim) if axis not in numbers]
    sizes = list(x.shape)
    begin: list[Any] = [0] * x.ndim
    for dim, axis in enumerate(axes):
        sizes[axis], begin[axis] = mapping.sizes[dim], starts[dim]
    return x if tuple(sizes) == x.shape else dynamic_slice(x, begin, sizes)


def joined(
    blocks: Any, numbers: np.ndarray, grid: Sequence[int], mapping: BlockMapping, begin: Any
) -> Any:
    """The array of these blocks: `blocks` has one for each program of `grid`, along axis 0, and `numbers` has
    the number of each program's block along each axis: shape (programs, ndim). Other elements are as in
    `begin`, the padded array."""
    if not mapping.aval.size:
        return unpadded(begin, mapping)
    counts = mapping.block_counts
    owners = np.full(math.prod(counts), -1)
    owners[in_row_major(numbers, counts)] = np.arange(len(numbers))
    owners = owners.reshape(counts)
    x = _in_order(reshape(blocks, (len(numbers), *mapping.sizes)), owners, grid)
    ndim = len(counts)
    x = reshape(x, (*counts, *mapping.sizes))
    x = transpose(x, [i for pair in zip(range(ndim), range(ndim, 2 * ndim)) for i in pair])
    x = reshape(x, mapping.padded_shape)
    if (owners < 0).any():
        mask = owners >= 0
        for axis, size in enumerate(mapping.sizes):
            mask = mask.repeat(size, axis)
        x = where(mask, x, begin)
    return unpadded(x, mapping)


def _in_order(blocks: Any, owners: np.ndarray, grid: Sequence[int]) -> Any:
    """blocks[owners], by a transposition of the axes of the grid, if it is one; else by a gather."""
    order, numbers = owners.reshape(-1), np.arange(len(blocks)).reshape(grid)
    origin = [0] * owners.ndim
    dims = {}  # the blocks' axes, by the number of programs between neighbouring blocks
    for dim, count in enumerate(owners.shape):
        if count > 1:
            dims[int(owners[(*origin[:dim], 1, *origin[dim + 1 :])] - owners[tuple(origin)])] = dim
    strides = [math.prod(grid[axis + 1 :]) for axis in range(len(grid))]
    axes = sorted(range(len(grid)), key=lambda axis: dims.get(strides[axis], 0))
    if order.shape == (len(blocks),) and (numbers.transpose(axes).reshape(-1) == order).all():
        sizes = blocks.shape[1:]
        rest = range(len(grid), len(grid) + len(sizes))
        x = transpose(reshape(blocks, (*grid, *sizes)), [*axes, *rest])
        return reshape(x, (len(order), *sizes))
    return take(blocks, np.maximum(order, 0).astype(np.int32), axis=0)
