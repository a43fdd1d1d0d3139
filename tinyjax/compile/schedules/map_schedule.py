"""The schedules of elementwise groups, and of results that are made in order.

They choose which loops are fused, which one is vectorized, and how work-items share the work.

On a CPU, loops are collapsed as long as no index is then found by division; the innermost one is split into
vectors where neighbours are contiguous in memory, and a row's last vector is cut off if it is only a part;
and the outermost one is shared out among work-items, which should have long runs. A large array that is read
along another axis is read in tiles. On a GPU, all loops are fused, and a work-item computes every n-th
element.

An update's windows may overlap, so one work-item changes them one after the other. Along an axis that each
window covers whole, different elements are independent: neighbours along the last such axis are a vector, and
work-items share the vectors. Each work-item goes through all windows, with the vectors of a short row at
once. Likewise the columns of a cumulative sum are vectors, and its rows are shared out. Without such an axis,
the innermost loops of independent iterations are vectors.
"""

from __future__ import annotations

import math
from dataclasses import replace

from tinyjax.compile.fusion.cost_model import CHEAP_WORK
from tinyjax.compile.kernel.kernel_ir import Allocate, Buffer, Kernel, Load
from tinyjax.compile.kernel.substitution import every_statement
from tinyjax.compile.schedules.chooser import INSIDE, LAST, Chooser, power_of_two, work_of
from tinyjax.compile.schedules.dependences import inner_iterations
from tinyjax.compile.schedules.directive import axis_of, loop_over, loops_of, perfect_nest
from tinyjax.compile.schedules.parallelize import split_work
from tinyjax.compile.schedules.unroll_and_jam import UnrollAndJam, is_short
from tinyjax.compile.schedules.vectorize import Vectorize
from tinyjax.compile.target import Target

# Transposed arrays are read in tiles of TILE rows and columns, if more than LARGE bytes (what a core's second
# cache keeps) lie between the first row and the last: shorter loops would cost more than they save.
TILE = 32
LARGE = 2**18
JAMMED = 8  # vectors at once, of results that are made in order
ENOUGH = 16  # work-items, so that all cores get about the same work


def map_schedule(naive: Kernel, target: Target) -> Chooser:
    """The schedule of a naive loop nest whose elements are computed independently of each other."""
    nest = perfect_nest(naive.body)
    if not nest:
        return Chooser(naive, target)
    axes = [axis_of(loop) for loop in nest]
    grain = max(1, target.grain // inner_iterations(nest[-1].body))
    chooser = Chooser(naive, replace(target, grain=grain))
    if target.width == 1:  # a GPU, where neighbouring work-items load neighbouring elements
        axis = chooser.fuse_axes(axes, "neighbouring work-items have neighbouring elements")
        chooser.share_out(axis, grain, in_groups=True)
    elif (rows := transposed_axis(naive)) and chooser.size(axes[-1]) >= chooser.width // 4:
        _in_tiles(chooser, axes, rows)
    else:
        _in_vectors(chooser, axes)
    return chooser


def _in_vectors(chooser: Chooser, axes: list[str]) -> None:
    target, width = chooser.target, chooser.width
    *rows, columns = chooser.fuse_contiguous_axes(axes, "indices need no division for it")
    for loop in loops_of(loop_over(chooser.kernel, columns).body):
        chooser.partition(axis_of(loop), INSIDE)
    count = chooser.size(columns)
    has_borders = chooser.partition(columns, INSIDE)
    size = chooser.size(columns)
    is_cheap = work_of(every_statement(loop_over(chooser.kernel, columns).body)) <= CHEAP_WORK
    is_thin = count < width // (4 if is_cheap else 2)  # few lanes would have work
    vectors = chooser.vectors_along(columns, overlap=size >= width or is_thin)
    overlap = vectors is not None and size > width and (has_borders or vectors.gather)
    if vectors is not None:
        chooser.apply(replace(vectors, overlap=overlap))
    elif rows and is_thin and (across := chooser.vectors_along(rows[-1], of_rows=True)):
        if is_short(loop_over(chooser.kernel, columns).body) and size == count:
            why = "a row's vectors are stored together"
            columns *= not chooser.apply_if_possible(UnrollAndJam(columns, count, why=why))
        rows[-1] = chooser.vectorize(across)
        count *= width
    else:
        chooser.vectorize_sums()
    items = _share_out_rows(chooser, [axis for axis in rows if axis], count)
    most = target.max_items // items
    if vectors is None:
        chooser.share_out(columns, target.grain, most=most)
    elif size > width:
        chooser.share_out(f"{columns}_outer", target.grain // width, most=most)
    for axis in axes:
        if chooser.size(axis) > 1:
            chooser.partition(axis, INSIDE)
    if rows and vectors is not None and not overlap:
        chooser.partition(f"{columns}_outer", LAST)


def _share_out_rows(chooser: Chooser, rows: list[str], count: int) -> int:
    """Shares out the outermost loop among work-items. If it has too few iterations, it is first fused with
    the next one. An innermost loop has `count` elements. Returns the number of work-items."""
    sizes, grain = [chooser.size(axis) for axis in rows], chooser.target.grain
    wanted, _ = split_work(math.prod(sizes), grain // count, chooser.target.max_items)
    first, number = 1, 0
    while number < len(sizes) and (number == 0 or first < min(wanted, ENOUGH)):
        first, number = first * sizes[number], number + 1
    axis = chooser.fuse_axes(rows[:number], "enough iterations to share out, with few divisions")
    return chooser.share_out(axis, grain // (count * math.prod(sizes[number:])))


def transposed_axis(naive: Kernel) -> str | None:
    """The axis along which a large operand's elements are neighbours, if not the last."""
    *others, last = perfect_nest(naive.body)
    for statement in every_statement(last.body):
        if isinstance(statement, Load) and isinstance(statement.memory, Buffer):
            stride = statement.index.stride(axis_of(last))
            for loop in others:
                plane = (loop.stop - loop.start).lo * (last.stop - last.start).lo
                is_large = plane * statement.memory.dtype.itemsize > LARGE
                if stride != 0 and statement.index.stride(axis_of(loop)) == 1 and is_large:
                    return axis_of(loop)
    return None


def _in_tiles(chooser: Chooser, axes: list[str], rows: str) -> None:
    """Tiles of about TILE rows and columns, in vectors of columns: lanes load what is apart in memory."""
    why = f"what is read lies in memory along {rows}"
    columns, width, size = axes[-1], chooser.width, min(TILE, chooser.size(axes[-1]))
    height = math.ceil(chooser.size(rows) / math.ceil(chooser.size(rows) / TILE))
    grain = chooser.target.grain // (height * chooser.size(columns))
    chooser.tile(axes[axes.index(rows) :], height, TILE, why)
    others = [axis for axis in axes[:-1] if axis != rows]
    bands = chooser.fuse_axes([*others, f"{rows}_outer"], "a division for each row of tiles")
    items = chooser.share_out(bands, grain)
    if items == 1:
        grain = chooser.target.grain // (height * TILE)
        chooser.share_out(f"{columns}_outer", grain, most=ENOUGH)
    overlap = size > width and size % width > 0
    if all(buffer.dtype.itemsize == 1 for buffer in chooser.kernel.buffers):
        return  # bytes are put together as slowly as they are stored
    if not overlap or size % width >= width // 2:  # few elements are stored twice
        why = "neighbours are stored together"
        vectors = Vectorize(f"{columns}_inner", width, gather=True, overlap=overlap, why=why)
        chooser.apply_if_possible(vectors)


# ---- in order ----


def order_schedule(
    naive: Kernel, axes: tuple[str, ...], target: Target, gather: bool = False
) -> Chooser:
    """The schedule of a naive nest whose elements are made in order; only the outer loops over `axes` are
    independent. `gather`: they are vectors even where they are apart in memory."""
    chooser, width, at_once = Chooser(naive, target), 1, 1
    outer = chooser.fuse_contiguous_axes(axes, "they are contiguous") if axes else []
    if outer and (width := _width_along(chooser, outer[-1])) > 1:
        why = "neighbours are independent"
        vectors = Vectorize(outer[-1], width, gather, overlap=gather, why=why)
        if chooser.is_possible(vectors):
            # Work-items share no cache lines of whole vectors; copies of private arrays fill no registers.
            is_whole = chooser.size(outer[-1]) % width == 0
            has_arrays = any(isinstance(s, Allocate) for s in naive.statements)
            outer[-1] = chooser.vectorize(vectors)
            if (count := chooser.size(outer[-1])) <= JAMMED and len(outer) == 1:
                at_once = 1 if is_whole or has_arrays else count
        else:
            width = 1
    if width == 1 < chooser.width:
        chooser.vectorize_maps(chooser.width, least=4)
    if axis := chooser.fuse_axes(outer, "elements that never meet"):
        work = width * inner_iterations(loop_over(chooser.kernel, axis).body)
        chooser.share_out(axis, target.grain // work, multiple=at_once)
        if at_once > 1:
            why = "the vectors of a row go through it together"
            chooser.apply_if_possible(UnrollAndJam(axis, at_once, why=why))
        chooser.partition(axis, LAST)
    return chooser


def _width_along(chooser: Chooser, axis: str) -> int:
    """The elements of a vector: as many as possible, or enough for all of a short axis."""
    return min(chooser.width, power_of_two(chooser.size(axis)))
