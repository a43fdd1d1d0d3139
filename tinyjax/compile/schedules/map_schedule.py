"""The schedule of an elementwise group: which loops are one, which is in vectors, who runs what.

On a CPU, loops are collapsed as long as no index is then found by division; the innermost one is split into
vectors where neighbours are contiguous in memory; and the outermost one is shared out among work-items, which
should have long runs. A large array that is read along another axis is read in tiles. On a GPU, all loops are
one, and a work-item has every n-th of their elements.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from tinyjax.compile.codegen.codegen import Target
from tinyjax.compile.kernel.kernel_ir import Buffer, For, Kernel, Let, Load, Statement
from tinyjax.compile.kernel.substitution import every_statement
from tinyjax.compile.schedules.accumulators import Accumulators, accumulators_in
from tinyjax.compile.schedules.directive import axis_of, loops_of, perfect_nest
from tinyjax.compile.schedules.grid import Grid, split_work
from tinyjax.compile.schedules.reorder import tile
from tinyjax.compile.schedules.schedule import ScheduleBuilder
from tinyjax.compile.schedules.vectorize import Vectorize

# Transposed arrays are read in tiles of so many rows and columns, if more bytes lie between the first
# row and the last than a core's second cache keeps: shorter loops would cost more than they spare.
TILE = 32
LARGE = 2**18
ACCUMULATORS = 8  # of a sum that is not in vectors
ENOUGH = 16  # work-items, so that all cores have about the same to do


def map_schedule(naive: Kernel, target: Target) -> ScheduleBuilder:
    """The schedule of a naive loop nest whose elements are computed independently of each other."""
    builder = ScheduleBuilder(naive)
    nest = perfect_nest(naive.body)
    if not nest:
        return builder
    axes = [axis_of(loop) for loop in nest]
    target = replace(target, grain=max(1, target.grain // iterations(nest[-1].body)))
    if target.width == 1:
        _schedule_gpu_map(builder, axes, target)
    elif rows := transposed_axis(naive):
        _in_tiles(builder, axes, rows, target)
    else:
        _in_vectors(builder, axes, target)
    return builder


def iterations(body: Sequence[Statement]) -> int:
    """How many there are for an element: those of loops inside, or one."""
    loops = [s for s in body if isinstance(s, For)]
    return max(1, sum((s.stop - s.start).lo * iterations(s.body) for s in loops))


# ---- a GPU ----


def _schedule_gpu_map(builder: ScheduleBuilder, axes: list[str], target: Target) -> None:
    """A work-item has a few elements, as many elements apart as there are work-items."""
    axis = builder.fuse_axes(axes, "neighbouring work-items have neighbouring elements")
    items, run = split_work(builder.size(axis), target.grain, target.max_items)
    each = "an element" if run == 1 else f"{run} elements, and its neighbours those beside them"
    why = f"a work-item has {each}"
    builder.apply(Grid(axis, items, target.local_size, cyclic=run > 1, why=why))


# ---- a CPU ----


def _in_vectors(builder: ScheduleBuilder, axes: list[str], target: Target) -> None:
    *rows, columns = builder.fuse_contiguous_axes(axes, "indices need no division for it")
    count, width = builder.size(columns), vector_width(builder.kernel, target)
    vectors = Vectorize(columns, width, why="neighbours are contiguous in memory")
    is_vector = count >= width > 1 and builder.can_vectorize(vectors)
    if is_vector:
        builder.vectorize(vectors)
    else:
        vectorize_sums(builder, width)
    items = _share_out_rows(builder, rows, count, target) if rows else 1
    if not is_vector:
        _share_out(builder, columns, target.grain, target.max_items // items)
    elif count > width:
        grain = target.grain // width
        _share_out(builder, f"{columns}_outer", grain, target.max_items // items)


def _share_out_rows(builder: ScheduleBuilder, rows: list[str], count: int, target: Target) -> int:
    """Shares out the outermost loop, if it has enough iterations: else it takes in the next one. An innermost
    one has `count` elements. Gives the number of work-items."""
    sizes = [builder.size(axis) for axis in rows]
    wanted, _ = split_work(math.prod(sizes), target.grain // count, target.max_items)
    first, number = sizes[0], 1
    while number < len(sizes) and first < min(wanted, ENOUGH):
        first, number = first * sizes[number], number + 1
    axis = builder.fuse_axes(rows[:number], "enough iterations to share out, with few divisions")
    grain = target.grain // (count * math.prod(sizes[number:]))
    return _share_out(builder, axis, grain, target.max_items)


def vectorize_sums(builder: ScheduleBuilder, width: int) -> None:
    """The innermost loops of sums in vectors, as the elements are not; else with several accumulators."""
    for loop in loops_of(builder.kernel.body):
        axis, count = axis_of(loop), (loop.stop - loop.start).lo
        is_sum = {array.size for array in accumulators_in(loop.body)} == {1} and not loops_of(
            loop.body
        )
        vectors = Vectorize(axis, width, why="an accumulator for each lane")
        if is_sum and count >= 2 * width > 2 and builder.can_vectorize(vectors):
            builder.vectorize(vectors)
        elif is_sum and count >= 4 * ACCUMULATORS:
            why = "sums that need not wait for another"
            builder.apply_if_possible(Accumulators(axis, ACCUMULATORS, why=why))


def vector_width(kernel: Kernel, target: Target) -> int:
    """The elements of a vector: as many as there can be of the longest dtype."""
    made = [s.target for s in every_statement(kernel.body) if isinstance(s, Let | Load)]
    sizes = [x.dtype.itemsize for x in made] + [x.dtype.itemsize for x in kernel.buffers]
    return target.width if max(sizes) <= 4 else target.width // 2


def transposed_axis(naive: Kernel) -> str | None:
    """The axis along which a large operand's elements are neighbours, if not the last."""
    *others, last = perfect_nest(naive.body)
    for statement in every_statement(last.body):
        if isinstance(statement, Load) and isinstance(statement.source, Buffer):
            stride = statement.index.stride(axis_of(last))
            for loop in others:
                plane = (loop.stop - loop.start).lo * (last.stop - last.start).lo
                is_large = plane * statement.source.dtype.itemsize > LARGE
                if stride != 0 and statement.index.stride(axis_of(loop)) == 1 and is_large:
                    return axis_of(loop)
    return None


def _in_tiles(builder: ScheduleBuilder, axes: list[str], rows: str, target: Target) -> None:
    columns = axes[-1]
    grain = target.grain // (TILE * builder.size(columns))
    why = f"what is read lies in memory along {rows}"
    builder.apply(*tile(axes[axes.index(rows) :], TILE, TILE, why))
    others = [axis for axis in axes[:-1] if axis != rows]
    bands = builder.fuse_axes([*others, f"{rows}_outer"], "a division for each row of tiles")
    _share_out(builder, bands, grain, target.max_items)


# ---- both ----


def _share_out(builder: ScheduleBuilder, axis: str, grain: int, most: int) -> int:
    """Shares a loop out among work-items with at least `grain` iterations each; gives their number."""
    items, run = split_work(builder.size(axis), grain, most)
    if items > 1:
        builder.apply(Grid(axis, items, why=f"{run:,} iterations each, at least {max(1, grain):,}"))
    return items
