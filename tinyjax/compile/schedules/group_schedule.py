"""The schedules of reductions and products on a GPU, where work-items work in groups.

Each row gets a group. Its items take every 256th element each and combine their results in a tree. If there
are few results of very many elements, each group combines a part, and the last group combines the parts.
Neighbouring items load neighbouring elements. For columns, 32 items take one column each, and 8 such rows of
items share the rows. A short row gets one item. In a product, a group computes a tile: its items copy the
shared operands to local memory, and each computes one sum, or up to four rows and columns of sums.
"""

from __future__ import annotations

import math

from tinyjax.compile.codegen.codegen import Target
from tinyjax.compile.fusion.reduction_groups import Form
from tinyjax.compile.kernel.kernel_ir import Buffer, For, Kernel, Load
from tinyjax.compile.kernel.reduction_nest import ReductionAxes
from tinyjax.compile.kernel.substitution import every_statement
from tinyjax.compile.schedules.dependences import iterations
from tinyjax.compile.schedules.directive import (
    accumulators_in,
    axis_of,
    find_loop,
    loop_over,
    perfect_nest,
)
from tinyjax.compile.schedules.hoist import Hoist
from tinyjax.compile.schedules.parallelize import Parallelize, split_work
from tinyjax.compile.schedules.reorder import Reorder, apply_tiles
from tinyjax.compile.schedules.rfactor import RFactor
from tinyjax.compile.schedules.schedule import ScheduleBuilder
from tinyjax.compile.schedules.split import Split
from tinyjax.compile.schedules.unroll_and_jam import UnrollAndJam
from tinyjax.compile.schedules.work_groups import WorkGroups

ROWS = 8  # items of a group that share a column, if there are many columns
GROUPS = 128  # that a large GPU runs at once: fewer leave a part of it idle
ITEMS = 2**21  # at most this many share sums: ten times as many as a large GPU runs at once
SHORT = 32  # elements of a row: this many items run in lockstep, and some would be idle


def group_schedule(
    nest: Kernel, axes: ReductionAxes, form: Form, target: Target
) -> ScheduleBuilder:
    """The schedule of a reduction's naive nest of that form."""
    builder = ScheduleBuilder(nest)
    {"rows": _rows, "columns": _columns, "split": _split}[form.kind](builder, axes, form, target)
    return builder


def _rows(builder: ScheduleBuilder, axes: ReductionAxes, form: Form, target: Target) -> None:
    """A group for each row, or an item for each short one."""
    row = builder.fuse_axes(axes.outer, "rows are numbered")
    if form.reduction_size < SHORT:
        if row:
            why = f"a row of {form.reduction_size} elements is no work for a group"
            builder.apply(Parallelize(row, form.outer, target.local_size, why=why))
        return
    lanes = _lanes(form.reduction_size, target)
    for sweep in axes.sweeps:
        _as_tree(builder, builder.fuse_axes(sweep, "a row is contiguous"), lanes)
    if row:
        builder.apply(Parallelize(row, form.outer, why="rows do not wait for each other"))
    builder.apply(WorkGroups(lanes, why=f"for a row of {form.reduction_size:,} elements"))


def _columns(builder: ScheduleBuilder, axes: ReductionAxes, form: Form, target: Target) -> None:
    """A group for each few columns."""
    row = builder.fuse_axes(axes.sweeps[0], "rows are numbered")
    column = builder.fuse_axes(axes.inner, "columns are numbered")
    _few_at_once(builder, row, column, target)
    unit = builder.fuse_axes([*axes.outer, f"{column}_outer"], "blocks of columns are numbered")
    builder.apply(
        Parallelize(unit, builder.size(unit), why="blocks of columns do not wait for each other")
    )
    builder.apply(WorkGroups(target.group, why=f"for columns of {form.reduction_size:,} elements"))


def _split(builder: ScheduleBuilder, axes: ReductionAxes, form: Form, target: Target) -> None:
    """Each group combines a part of the elements; the last one combines the parts."""
    result = builder.fuse_axes([*axes.outer, *axes.inner], "results are numbered")
    axis = builder.fuse_axes(axes.sweeps[0], "elements are numbered")
    pieces, run = split_work(form.reduction_size, target.reduction_grain, target.reduction_items)
    what = f"{form.reduction_size:,} elements for {form.results:,} results"
    why = f"{what}: {run:,} for each of {pieces} groups"
    builder.apply(RFactor(axis, pieces, why=why))
    if form.inner > 1:
        _few_at_once(builder, axis, result, target)
    else:
        _as_tree(builder, axis, target.group)
    _as_tree(builder, f"{axis}_partial", _lanes(pieces, target))
    builder.apply(Parallelize(f"{axis}_piece", pieces, why="each leaves a partial result"))
    builder.apply(WorkGroups(target.group, why=f"for a piece of {run:,} elements"))


def _few_at_once(builder: ScheduleBuilder, row: str, column: str, target: Target) -> None:
    """Neighbouring items take neighbouring columns; each such row of items takes every n-th row."""
    width = min(max(1, target.group // ROWS), _power_of_two(builder.size(column)))
    lanes = target.group // width
    builder.apply(Split(column, width, why=f"{width} neighbours are loaded at once"))
    builder.apply(RFactor(row, lanes, as_tree=True, why=f"each column has {lanes} items"))
    column, why = f"{column}_inner", "a row's elements are neighbours, a column's are not"
    builder.apply(Reorder(f"{row}_lane", (column,), why=why))
    for step in range(1, lanes.bit_length()):
        why = "all columns take a step of the tree together"
        builder.apply(Reorder(f"{row}_half{step}", (f"{column}{step}",), stays=True, why=why))


def _as_tree(builder: ScheduleBuilder, axis: str, lanes: int) -> None:
    """Lets all items of a group combine a loop's reduction, if it has one."""
    if accumulators_in(loop_over(builder.kernel, axis).body):
        builder.apply(_tree(axis, lanes))


def _tree(axis: str, lanes: int) -> RFactor:
    steps = lanes.bit_length() - 1
    why = f"items load neighbours, and combine in {steps} steps"
    return RFactor(axis, lanes, as_tree=True, why=why)


def _lanes(count: int, target: Target) -> int:
    """How many items have work: a power of two, at most the size of a group."""
    return min(target.group, _power_of_two(count))


def _power_of_two(count: int) -> int:
    """The smallest power of two that is not less."""
    return 1 << (count - 1).bit_length()


# ---- few elements that are long sums ----


def sums_in_groups(naive: Kernel, target: Target) -> ScheduleBuilder | None:
    """The schedule of a naive nest of few elements, each of which is one long sum, as in the gradient by a
    convolution's kernel: a group for each. None for any other."""
    nest = perfect_nest(naive.body)
    body = nest[-1].body if nest else naive.body
    sums = [s for s in body if isinstance(s, For)]
    if len(sums) != 1 or not accumulators_in(sums[0].body):
        return None
    builder = ScheduleBuilder(naive)
    terms = builder.fuse_axes([axis_of(loop) for loop in perfect_nest(sums)], "terms are numbered")
    element = builder.fuse_axes([axis_of(loop) for loop in nest], "elements are numbered")
    count, combined_terms = builder.size(element), builder.size(terms)
    lanes = _lanes(combined_terms, target)
    if combined_terms < target.reduction_grain // 8 or count * lanes > ITEMS:
        return None
    if not builder.apply_if_possible(_tree(terms, lanes)):
        return None
    if element:
        builder.apply(Parallelize(element, count, why="elements do not wait for each other"))
    builder.apply(WorkGroups(lanes, why=f"for a sum of {combined_terms:,} terms"))
    return builder


# ---- products ----


def product_in_groups(naive: Kernel, target: Target) -> ScheduleBuilder:
    """The schedule of a product's naive nest, whose axes are (batch,) row, column and k. A group computes a
    square tile of the result. An item computes one element of it, or, if there are enough, several rows and
    columns, so that it computes more per load from local memory.
    """
    builder, size = ScheduleBuilder(naive), math.isqrt(target.group)
    each = _of_each_item(builder, size)
    side = each * size
    why = f"a group has a tile of the result, and reads {side} rows for {side * side} sums"
    apply_tiles(builder, ("row", "column"), side, side, why)
    k, items = (
        "k",
        _several_each(builder, each, size) if each > 1 else ("row_inner", "column_inner"),
    )
    if builder.size("k") > size:
        builder.apply(
            Split("k", size, why=f"of {size} rows and columns, {size} elements at a time")
        )
        builder.apply(
            Reorder("k_outer", items, why="all items go on to the next elements together")
        )
        k = "k_inner"
    else:
        builder.apply(Reorder("k", items, stays=True, why="sums first, and then what follows them"))
    _pack(builder, k, *items)
    batch = ["batch"] if find_loop(naive, "batch") else []
    task = builder.fuse_axes([*batch, "row_outer", "column_outer"], "tiles are numbered")
    builder.apply(Parallelize(task, builder.size(task), why="tiles do not wait for each other"))
    builder.apply(WorkGroups(target.group, why=f"what {size} items read is in local memory"))
    return builder


def _of_each_item(builder: ScheduleBuilder, size: int) -> int:
    """How many rows and columns of elements an item computes: as many as still leave enough groups."""
    batch, rows, columns = map(builder.size, ("batch", "row", "column"))
    for each in (4, 2):
        side = each * size
        groups = batch * math.ceil(rows / side) * math.ceil(columns / side)
        if groups >= GROUPS and min(rows, columns) >= side:
            return each
    return 1


def _several_each(builder: ScheduleBuilder, each: int, size: int) -> tuple[str, str]:
    """Gives an item `each` rows and columns of a tile, whose sums stay in registers. Its columns are spread
    out, so that neighbouring items have neighbouring columns. Returns the axes of the items.
    """
    column, why = "column_inner_inner", f"{size} items have neighbouring columns"
    builder.apply(Split("column_inner", size, overlap=True, why=why))
    builder.apply(Reorder(column, ("column_inner_outer",), why="an item has several columns"))
    why = f"what an item loads is for {each} sums"
    builder.apply(UnrollAndJam("column_inner_outer", each, why=why))
    builder.apply(UnrollAndJam("row_inner", each, why=why))
    return f"row_inner_by{each}", column


def _pack(builder: ScheduleBuilder, k: str, rows: str, columns: str) -> None:
    """Copies of both operands' parts. The last loop over a copy goes along the operand's rows, so that
    neighbours load neighbours, unless that would leave gaps, which would have to be set.
    """
    for kept, other in ((rows, columns), (columns, rows)):
        builder.apply(Reorder(other, (kept,), why=f"for each {other}, the same is read"))
        order = (kept, k) if _lies_along(builder.kernel, k, kept) else (k, kept)
        for axes in (order, order[::-1]):
            if iterations(loop_over(builder.kernel, axes[-1])).bit_count() == 1:
                builder.apply_if_possible(
                    Hoist(other, axes, why="read again and again, loaded once")
                )
                break


def _lies_along(kernel: Kernel, k: str, kept: str) -> bool:
    """Whether the operand's elements for one `kept` are contiguous along k."""
    loads = [s for s in every_statement(loop_over(kernel, k).body) if isinstance(s, Load)]
    return any(
        isinstance(s.source, Buffer) and s.index.stride(k) == 1 and s.index.stride(kept) != 0
        for s in loads
    )
