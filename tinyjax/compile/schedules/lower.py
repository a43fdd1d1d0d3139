"""Lowering a group of equations to a kernel: each output's element is asked for, back through the rules.

After this file you can predict a kernel's text from the equations: a loop over the output's elements
and, in it, one call of builder.py's `element(v, position)` an output. Builds on group_builder,
reduction_kernels and product_kernels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

from tinyjax.compile.codegen.codegen import Target
from tinyjax.compile.fusion.groups import KernelGroup
from tinyjax.compile.kernel.check_kernel import check_kernel
from tinyjax.compile.kernel.indices import Index
from tinyjax.compile.kernel.kernel_ir import For, Kernel, Statement, item_index
from tinyjax.compile.kernel.rules import Position
from tinyjax.compile.kernel.scalar_ops import has_vector_type
from tinyjax.compile.kernel.vector_lanes import NotVectorizable
from tinyjax.compile.schedules.group_builder import (
    GroupBuilder,
    padded,
    run_of,
    share,
    statements_for,
)
from tinyjax.compile.schedules.product_kernels import product_kernel
from tinyjax.compile.schedules.reduction_kernels import reduction_kernel
from tinyjax.core.jaxpr import Var
from tinyjax.core.primitives import transpose_p

# Transposed arrays are read in tiles of so many rows and columns, if more bytes lie between the first
# row and the last than a core's second cache keeps: shorter loops would cost more than they spare.
TILE = 32
LARGE = 2**18


def lower_group(group: KernelGroup, name: str, names: dict[Var, str], target: Target) -> Kernel:
    """The kernel of `group`; its buffers are the group's inputs, then its outputs (then scratch).

    Elements are numbered flat, in one loop, as long as nothing asks for the coordinates; on a CPU,
    where the divisions would cost more than the work, those get a loop over rows and one within;
    transposed arrays are read in tiles.
    There, loops are vectorized wherever neighbours are contiguous in memory."""
    if group.form is not None:
        kernel = reduction_kernel(group, name, names, target)
    elif group.product is not None:
        kernel = product_kernel(group, name, names, target)
    else:
        kernel = _vectorized(group, name, names, target) or _scalar(group, name, names, target)
    check_kernel(kernel)
    return kernel


def _vectorized(
    group: KernelGroup, name: str, names: dict[Var, str], target: Target
) -> Kernel | None:
    """The kernel in vectors, if there can be one."""
    dtypes = {v.aval.dtype for eqn in group.eqns for v in [*eqn.invars, *eqn.outvars]}
    if not all(map(has_vector_type, dtypes)):
        return None
    width = target.width if max(dtype.itemsize for dtype in dtypes) <= 4 else target.width // 2
    shape = group.outputs[0].aval.shape
    for loop, size in ((_flat_loop, math.prod(shape)), (_row_loop, shape[-1] if shape else 1)):
        if width > 1 and size >= width:
            with suppress(NotVectorizable):
                return _MapBuilder(group, names, target, width).map(name, loop)
    return None


def _scalar(group: KernelGroup, name: str, names: dict[Var, str], target: Target) -> Kernel:
    kernel = _MapBuilder(group, names, target).map(name, _flat_loop)
    rank = len(group.outputs[0].aval.shape)
    if rank > 1 and target.accumulators > 1 and divides(kernel.body):
        axis = _contiguous_axis(group)
        loop = _row_loop if axis is None else partial(_tile_loop, axis=axis)
        kernel = _MapBuilder(group, names, target).map(name, loop)
    return kernel


def _contiguous_axis(group: KernelGroup) -> int | None:
    """The axis along which a large transposed operand's elements are neighbours, if not the last."""
    for eqn in group.eqns:
        out = eqn.outvars[0].aval
        if eqn.primitive is transpose_p and out.shape == group.outputs[0].aval.shape:
            axis = eqn.params["permutation"].index(out.ndim - 1)
            plane = out.shape[axis] * out.shape[-1] * out.dtype.itemsize
            if axis != out.ndim - 1 and plane > LARGE:
                return axis
    return None


def divides(body: Sequence[Statement]) -> bool:
    """Whether some index in `body` is found by division."""
    for statement in body:
        if isinstance(statement, For):
            if divides(statement.body):
                return True
            continue
        used = [getattr(statement, "index", None), *getattr(statement, "args", ())]
        if any(part.op in "/%" for i in used if isinstance(i, Index) for part in i.parts()):
            return True
    return False


# ---- loops over the outputs' elements ----


class _MapBuilder(GroupBuilder):
    def __init__(self, group: KernelGroup, names: dict[Var, str], target: Target, width: int = 1):
        super().__init__(group, names, target)
        self.width = width  # elements of a vector

    def map(self, name: str, loop: Callable) -> Kernel:
        """Each work-item computes a run of the outputs' elements."""
        shape = self.group.outputs[0].aval.shape
        with statements_for([self.producer[v] for v in self.outputs]):
            items = loop(self, shape, self._store_outputs)
        return self.kernel(name, items)

    def _store_outputs(self, position: Position) -> None:
        for v in self.outputs:
            self.store_output(v, position)


def _flat_loop(
    builder: _MapBuilder, shape: tuple[int, ...], body: Callable[[Position], None]
) -> int:
    """One loop over the flat positions; gives the number of work-items."""
    count, width, target = math.prod(shape), builder.width, builder.target
    chunks = math.ceil(count / width)
    items, run = share(chunks, max(1, target.grain // width), target.max_items)
    item = item_index(padded(items, target))
    with builder.loop(*run_of(item, run, chunks), chunks - 1) as chunk:
        with builder.vectorized(chunk, count, width) as i:
            body(Position(shape, flat=i))
    return items


def _row_loop(
    builder: _MapBuilder, shape: tuple[int, ...], body: Callable[[Position], None]
) -> int:
    """A loop over rows (all axes but the last), and one along each; gives the number of work-items.

    Where rows are few and long, several work-items share one."""
    *leading, columns = shape
    rows, width, target = math.prod(leading), builder.width, builder.target
    chunks = math.ceil(columns / width)
    items, run = share(rows, max(1, target.grain // columns), target.max_items)
    grain = max(1, target.grain // width)
    pieces, piece_run = share(chunks, grain, target.max_items // items)
    item = item_index(items * pieces)
    with builder.loop(*run_of(item // pieces, run, rows), rows - 1) as row:
        with builder.loop(*run_of(item % pieces, piece_run, chunks), chunks - 1) as chunk:
            with builder.vectorized(chunk, columns, width) as column:
                coords = (*Position(leading, flat=row).coords, column)
                body(Position(shape, coords, row * columns + column))
    return items * pieces


def _tile_loop(
    builder: _MapBuilder, shape: tuple[int, ...], body: Callable[[Position], None], axis: int
) -> int:
    """Loops over tiles that are short along `axis` and along the last one; gives the number of work-items.

    What is read down a tile's columns is in the same lines of the cache as what the next column reads."""
    others = [size for n, size in enumerate(shape[:-1]) if n != axis]
    rows, columns, target = shape[axis], shape[-1], builder.target
    bands, blocks = math.ceil(rows / TILE), math.ceil(columns / TILE)
    count = math.prod(others) * bands
    items, run = share(count, max(1, target.grain // (TILE * columns)), target.max_items)
    item = item_index(padded(items, target))
    with builder.loop(*run_of(item, run, count), count - 1) as number:
        leading = Position(others, flat=number // bands).coords
        with builder.loop(0, blocks, blocks - 1) as block:
            with builder.loop(*run_of(number % bands, TILE, rows), rows - 1) as row:
                with builder.loop(*run_of(block, TILE, columns), columns - 1) as column:
                    coords = (*leading[:axis], row, *leading[axis:], column)
                    body(Position(shape, coords))
    return items
