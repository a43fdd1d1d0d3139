"""Specs applied to arrays: which block each program gets, for all programs, as numbers.

The grid is known while tracing, so index maps are evaluated then, over the whole grid at once.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tinyjax.core.array import ShapedArray
from tinyjax.core.compile_time import eval_context
from tinyjax.core.debug_info import name_and_place
from tinyjax.core.dtypes import iinfo, is_inexact, kind
from tinyjax.core.inlining import eager_jaxpr_fun
from tinyjax.core.jaxpr import ClosedJaxpr
from tinyjax.core.tracing import trace_to_jaxpr
from tinyjax.core.tree_util.differences import equality_errors
from tinyjax.core.tree_util.key_paths import keystr
from tinyjax.core.tree_util.pytrees import tree_flatten
from tinyjax.pallas.programs import Grid, running
from tinyjax.pallas.specs import (
    BlockDim,
    Blocked,
    BlockSpec,
    BoundedSlice,
    Element,
    GridSpec,
    IndexMap,
    Indirect,
    MemorySpace,
    Squeezed,
    block_dim,
    block_size,
    no_block_spec,
    squeezed,
)
from tinyjax.refs.types import AbstractRef
from tinyjax.transform.batching import AxisData
from tinyjax.transform.batching_of_jaxpr import batch_jaxpr

INT32 = ShapedArray((), np.dtype("int32"))


@dataclass(frozen=True, eq=False)
class BlockMapping:
    """The blocks of one array. `indices` is what the index map gives, for each program of the grid and each
    axis of the array: shape (*grid, ndim)."""

    block_shape: tuple[BlockDim, ...]
    aval: ShapedArray
    indices: np.ndarray
    origin: str  # such as args[0]
    memory_space: Any

    @functools.cached_property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of a block along each axis of the array."""
        return tuple(map(block_size, self.block_shape))

    @functools.cached_property
    def ref_shape(self) -> tuple[int, ...]:
        """The shape of the kernel's Ref."""
        return tuple(block_size(d) for d in self.block_shape if not isinstance(d, Squeezed))

    @property
    def squeezed_axes(self) -> tuple[int, ...]:
        return tuple(i for i, d in enumerate(self.block_shape) if isinstance(d, Squeezed))

    @property
    def ref_aval(self) -> AbstractRef:
        aval = self.aval.update(shape=self.ref_shape, weak_type=False)
        return AbstractRef(aval, self.memory_space)

    @functools.cached_property
    def padding(self) -> tuple[tuple[int, int], ...]:
        """Elements before and after each axis: the padding of Element, and the missing elements of the last
        block.
        """
        pads = []
        for dim, n, size in zip(self.block_shape, self.aval.shape, self.sizes):
            low, high = dim.padding if isinstance(dim, Element) else (0, 0)
            pads.append((low, high + -(n + low + high) % max(size, 1)))
        return tuple(pads)

    @property
    def padded_shape(self) -> tuple[int, ...]:
        return tuple(low + n + high for n, (low, high) in zip(self.aval.shape, self.padding))

    @property
    def block_counts(self) -> tuple[int, ...]:
        """How many blocks there are along each axis."""
        return tuple(n // max(size, 1) for n, size in zip(self.padded_shape, self.sizes))

    @functools.cached_property
    def unclamped_starts(self) -> np.ndarray:
        """The first element of each program's block in the padded array, as the index map returns it."""
        steps = [d.block_size if isinstance(d, Blocked) else 1 for d in self.block_shape]
        return self.indices * np.array(steps, np.int64).reshape(-1)

    @functools.cached_property
    def starts(self) -> np.ndarray:
        """The first elements clamped as in lax.dynamic_slice: negative ones count from the end, and blocks
        are moved to fit in the array.
        """
        starts, shape = self.unclamped_starts, np.array(self.padded_shape, np.int64).reshape(-1)
        last = shape - np.array(self.sizes, np.int64).reshape(-1)
        return np.clip(np.where(starts < 0, starts + shape, starts), 0, last).astype(np.int32)

    def with_grid_axis(self, size: int, dim: int | None) -> BlockMapping:
        """With one more axis of the grid, in front: each program has its own example, if the array has them
        along its axis `dim`, else all have the same array."""
        indices = np.broadcast_to(self.indices, (size, *self.indices.shape))
        if dim is None:
            return replace(self, indices=indices)
        numbers = np.arange(size, dtype=np.int32).reshape((size, *(1,) * (indices.ndim - 2)))
        indices = np.insert(indices, dim, numbers, axis=-1)
        block_shape = (*self.block_shape[:dim], squeezed, *self.block_shape[dim:])
        return replace(
            self, block_shape=block_shape, aval=self.aval.with_axis(dim, size), indices=indices
        )

    def __repr__(self) -> str:
        return f"BlockMapping(block_shape={self.block_shape})"


@dataclass(frozen=True, eq=False)
class GridMapping:
    """The grid of a call, and the blocks of its inputs and outputs."""

    grid: tuple[int, ...]
    grid_names: tuple | None
    block_mappings: tuple[BlockMapping, ...]
    scratch_avals: tuple[AbstractRef, ...]
    num_inputs: int
    vmapped_dims: tuple[int, ...] = ()

    @property
    def inputs(self) -> tuple[BlockMapping, ...]:
        return self.block_mappings[: self.num_inputs]

    @property
    def outputs(self) -> tuple[BlockMapping, ...]:
        return self.block_mappings[self.num_inputs :]

    @property
    def num_programs(self) -> int:
        return math.prod(max(n, 0) for n in self.grid)

    @functools.cached_property
    def numbers(self) -> np.ndarray:
        """The numbers of each program, along the axes that a kernel sees: shape (*grid, axes)."""
        sizes = tuple(max(n, 0) for n in self.grid)
        return np.moveaxis(np.indices(sizes, np.int32)[list(self.seen)], 0, -1)

    @property
    def seen(self) -> tuple[int, ...]:
        """The axes of the grid that kernels see: all except vmap's."""
        return tuple(i for i in range(len(self.grid)) if i not in self.vmapped_dims)

    @property
    def seen_grid(self) -> Grid:
        return Grid([self.grid[i] for i in self.seen])

    @property
    def ref_avals(self) -> list[AbstractRef]:
        """The types of a kernel's arguments."""
        blocks = [mapping.ref_aval for mapping in self.block_mappings]
        return [*blocks, *self.scratch_avals]

    def __repr__(self) -> str:
        return f"GridMapping(grid={self.grid}, block_mappings={self.block_mappings})"


def in_row_major(numbers: np.ndarray, counts: tuple[int, ...]) -> np.ndarray:
    """The row-major numbers of blocks; the last axis of the argument has a block's number along each axis."""
    strides = [math.prod(counts[dim + 1 :]) for dim in range(len(counts))]
    return (numbers * np.array(strides, np.int64).reshape(-1)).sum(axis=-1)


def uninitialized(dtype: np.dtype) -> Any:
    """The value of elements that were never written, or are beyond the end of an array: NaN, the smallest
    integer or False. For int16 it is zero, since JAX's semaphores are int16.
    """
    if is_inexact(dtype):
        return np.nan
    return 0 if kind(dtype) == "b" or dtype == np.int16 else iinfo(dtype).min


# ---- from specs ----


def grid_mapping_of(spec: GridSpec, inputs: Any, outputs: Any, scratch: Any) -> GridMapping:
    """`inputs` and `outputs` are (tree, avals, origins), `scratch` are avals.

    Raises ValueError where specs don't match the arrays."""
    mappings = [
        _block_mapping(each, aval, origin, spec.grid)
        for what, arrays, specs in (
            ("`in_specs`, `inputs`", inputs, spec.in_specs),
            ("`out_specs`, `out_shape`", outputs, spec.out_specs),
        )
        for each, aval, origin in zip(_flat_specs(specs, arrays[0], what), *arrays[1:])
    ]
    return GridMapping(spec.grid, spec.grid_names, tuple(mappings), tuple(scratch), len(inputs[1]))


def _flat_specs(specs: Any, tree: Any, what: str) -> list[BlockSpec]:
    if specs is no_block_spec:
        return [BlockSpec()] * tree.num_leaves
    flat, spec_tree = tree_flatten(specs)
    if spec_tree != tree:
        ours, theirs = what.split(", ")
        errors = list(equality_errors(spec_tree, tree))
        lines = [
            f"    * {f'at {keystr(path)}, ' if path else ''}{ours} is a {a} but {theirs} is a {b}, so {why}"
            for path, a, b, why in errors
        ]
        raise ValueError(
            f"Pytree for {ours} and {theirs} do not match. There are {len(errors)} mismatches, including:\n"
            + "\n".join(lines)
        )
    whole = BlockSpec(memory_space=MemorySpace.ANY)
    return [whole if spec is no_block_spec else spec for spec in flat]


def _block_mapping(
    spec: BlockSpec, aval: ShapedArray, origin: str, grid: tuple[int, ...]
) -> BlockMapping:
    shape = aval.shape if spec.block_shape is None else spec.block_shape
    block_shape = tuple(map(block_dim, shape))
    if len(block_shape) != aval.ndim:
        raise ValueError(
            f"Block shape for {origin} (= {block_shape}) must have the same number of dimensions as the "
            f"array shape {aval.shape}."
        )
    for dim in block_shape:
        if isinstance(dim, BoundedSlice | Indirect):
            raise ValueError(
                f"Unsupported block dim type: {type(dim)}, of {origin}: it is for TPUs"
            )
        if block_size(dim) < 1 and not isinstance(dim, Squeezed) and 0 not in aval.shape:
            raise ValueError(
                f"Block shape for {origin} (= {block_shape}) must have positive sizes."
            )
    sizes = tuple(max(n, 0) for n in grid)
    if spec.index_map is None:
        indices = np.zeros((*sizes, aval.ndim), np.int32)
    else:
        indices = _evaluated(spec.index_map, block_shape, origin, sizes)
    space = MemorySpace.DEFAULT if spec.memory_space is None else spec.memory_space
    return BlockMapping(block_shape, aval, indices, origin, space)


def _evaluated(
    index_map: Any, block_shape: tuple[BlockDim, ...], origin: str, grid: tuple[int, ...]
) -> np.ndarray:
    """The values of an index map, for each program of the grid and each axis of the block."""
    fun = index_map.index_map if isinstance(index_map, IndexMap) else index_map
    what = f"Index map function {name_and_place(fun)} for {origin} must"

    def traced(*numbers: Any) -> list[Any]:
        with running(Grid(grid)):
            outs = list(index_map(*numbers))
        if len(outs) != len(block_shape):
            raise ValueError(
                f"{what} return {len(block_shape)} values to match block_shape={block_shape}. Currently "
                f"returning {len(outs)} values: one for each axis of the array"
            )
        return outs

    closed = trace_to_jaxpr(traced, [INT32] * len(grid))
    for i, aval in enumerate(closed.out_avals):
        if aval.shape or aval.dtype.name not in ("int32", "int64"):
            raise ValueError(f"{what} return integer scalars. Output[{i}] has type {aval}.")
    if closed.consts:
        raise ValueError(
            f"{what} not capture constants: {closed.consts}. It may depend on the program alone"
        )
    return _over_grid(closed, grid)


def _over_grid(closed: ClosedJaxpr, grid: tuple[int, ...]) -> np.ndarray:
    """The jaxpr of the numbers of a program, evaluated for all of them."""
    count = math.prod(grid)
    if count == 0:
        return np.zeros((*grid, len(closed.out_avals)), np.int32)
    batched, _ = batch_jaxpr(closed, AxisData(None, count), (0,) * len(grid))
    coordinates = [x.reshape(-1) for x in np.indices(grid, np.int32)]
    with eval_context():
        outs = eager_jaxpr_fun(batched)(*coordinates)
    table = np.empty((count, len(outs)), np.int64)
    for i, x in enumerate(outs):
        table[:, i] = np.asarray(x)
    return table.reshape(*grid, len(outs))
