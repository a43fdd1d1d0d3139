"""The schedules of elementwise groups, and of results that are made in order.

They choose which loops are fused, which one is vectorized, and how work-items share the work.

On a CPU, loops are collapsed as long as no index is then found by division; the innermost one is split into
vectors where neighbours are contiguous in memory; and the outermost one is shared out among work-items, which
should have long runs. A large array that is read along another axis is read in tiles. On a GPU, all loops are
fused, and a work-item computes every n-th element.

An update's windows may overlap, so one work-item changes them one after the other. Along an axis that each
window covers whole, different elements are independent: neighbours along the last such axis are a vector, and
work-items share the vectors. Each work-item goes through all windows. Likewise the columns of a cumulative
sum are vectors, and its rows are shared out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from tinyjax.compile.codegen.codegen import Target
from tinyjax.compile.kernel.kernel_ir import Buffer, For, Kernel, Load, Statement
from tinyjax.compile.kernel.substitution import every_statement
from tinyjax.compile.schedules.directive import (
    axis_of,
    loop_over,
    loops_of,
    perfect_nest,
)
from tinyjax.compile.schedules.lanes import MAX_STRIDE
from tinyjax.compile.schedules.parallelize import Parallelize, split_work
from tinyjax.compile.schedules.partition import borders
from tinyjax.compile.schedules.reorder import Reorder, apply_tiles
from tinyjax.compile.schedules.schedule import ScheduleBuilder
from tinyjax.compile.schedules.vector_axes import (
    vector_width,
    vectorize_sums,
    vectors_along,
)
from tinyjax.compile.schedules.vectorize import Vectorize

# Transposed arrays are read in tiles of TILE rows and columns, if more than LARGE bytes (what a core's second
# cache keeps) lie between the first row and the last: shorter loops would cost more than they save.
TILE = 32
LARGE = 2**18
INSIDE = "inside of the borders nothing is tested"
ENOUGH = 16  # work-items, so that all cores get about the same work


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
    """The number of inner loop iterations for an element; one without inner loops."""
    loops = [s for s in body if isinstance(s, For)]
    return max(1, sum((s.stop - s.start).lo * iterations(s.body) for s in loops))


# ---- a GPU ----


def _schedule_gpu_map(builder: ScheduleBuilder, axes: list[str], target: Target) -> None:
    """A work-item computes a few elements; their distance is the number of work-items."""
    axis = builder.fuse_axes(axes, "neighbouring work-items have neighbouring elements")
    items, run = split_work(builder.size(axis), target.grain, target.max_items)
    each = "an element" if run == 1 else f"{run} elements, and its neighbours those beside them"
    why = f"a work-item has {each}"
    builder.apply(Parallelize(axis, items, target.local_size, cyclic=run > 1, why=why))


# ---- a CPU ----


def _in_vectors(builder: ScheduleBuilder, axes: list[str], target: Target) -> None:
    *rows, columns = builder.fuse_contiguous_axes(axes, "indices need no division for it")
    for loop in loops_of(loop_over(builder.kernel, columns).body):
        builder.partition(axis_of(loop), INSIDE)
    if len(rows) > 1 and builder.size(rows[0]) < ENOUGH <= builder.size(rows[1]):
        if borders(loop_over(builder.kernel, rows[0])):
            why = "what is shared out has no borders"
            builder.apply(Reorder(rows[1], (rows[0],), why=why))
            rows[:2] = rows[1::-1]
    count, width = builder.size(columns), vector_width(builder.kernel, target)
    has_borders = builder.partition(columns, INSIDE)
    size = builder.size(columns)
    vectors = vectors_along(builder, columns, width)
    if vectors is not None:
        builder.apply(replace(vectors, overlap=has_borders or vectors.gather))
    elif (
        rows
        and count <= MAX_STRIDE
        and (across := vectors_along(builder, rows[-1], width, of_rows=True))
    ):
        chunks = builder.vectorize(across)
        rows[-1:] = [chunks] if chunks else []
        count *= width
    else:
        vectorize_sums(builder, width)
    items = _share_out_rows(builder, rows, count, target) if rows else 1
    if vectors is None:
        builder.share_out(columns, target.grain, target.max_items // items)
    elif size > width:
        grain = target.grain // width
        builder.share_out(f"{columns}_outer", grain, target.max_items // items)
    for axis in axes:
        if builder.size(axis) > 1:
            builder.partition(axis, INSIDE)


def _share_out_rows(builder: ScheduleBuilder, rows: list[str], count: int, target: Target) -> int:
    """Shares out the outermost loop among work-items. If it has too few iterations, it is first fused with
    the next one. An innermost loop has `count` elements. Returns the number of work-items.
    """
    sizes = [builder.size(axis) for axis in rows]
    wanted, _ = split_work(math.prod(sizes), target.grain // count, target.max_items)
    first, number = sizes[0], 1
    while number < len(sizes) and first < min(wanted, ENOUGH):
        first, number = first * sizes[number], number + 1
    axis = builder.fuse_axes(rows[:number], "enough iterations to share out, with few divisions")
    grain = target.grain // (count * math.prod(sizes[number:]))
    return builder.share_out(axis, grain, target.max_items)


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
    apply_tiles(builder, axes[axes.index(rows) :], TILE, TILE, why)
    others = [axis for axis in axes[:-1] if axis != rows]
    bands = builder.fuse_axes([*others, f"{rows}_outer"], "a division for each row of tiles")
    builder.share_out(bands, grain, target.max_items)


# ---- in order ----


def order_schedule(
    naive: Kernel, axes: tuple[str, ...], target: Target, gather: bool = False
) -> ScheduleBuilder:
    """The schedule of a naive nest whose elements are made in order; only the outer loops over `axes` are
    independent. `gather`: they are vectors even where they are apart in memory.
    """
    builder, outer, width = ScheduleBuilder(naive), list(axes), 1
    if outer:
        width = _width_along(builder, outer[-1], target)
        vectors = Vectorize(
            outer[-1], width, gather, overlap=gather, why="neighbours are independent"
        )
        if width > 1 and builder.can_vectorize(vectors):
            outer[-1] = builder.vectorize(vectors)
        else:
            width = 1
    axis = builder.fuse_axes([axis for axis in outer if axis], "elements that never meet")
    if axis:
        work = width * iterations(loop_over(builder.kernel, axis).body)
        builder.share_out(axis, target.grain // work, target.max_items)
    return builder


def _width_along(builder: ScheduleBuilder, axis: str, target: Target) -> int:
    """The elements of a vector: as many as possible; for a short axis, a number that divides its size."""
    size, most = builder.size(axis), vector_width(builder.kernel, target)
    widths = [width for width in (16, 8, 4) if width <= min(size, most)]
    whole = (width for width in widths if size % width == 0)
    return next(whole, max(widths, default=1) if size > most else 1)
