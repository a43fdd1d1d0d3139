"""The schedule of a reduction's kernel: which directives make its naive loop nest fast, and why.

Each form of fusion/reduction_groups.py has a function here, which chooses by sizes and by costs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from tinyjax.compile.codegen.codegen import Target
from tinyjax.compile.fusion.cost_model import CHEAP_WORK
from tinyjax.compile.fusion.reduction_groups import Form
from tinyjax.compile.kernel.kernel_ir import Combine, Kernel, Let
from tinyjax.compile.kernel.reduction_nest import ReductionAxes
from tinyjax.compile.kernel.substitution import every_statement
from tinyjax.compile.schedules.compute_at import ComputeAt, repeated_work, work_of
from tinyjax.compile.schedules.directive import accumulators_in, find_loop, loop_over
from tinyjax.compile.schedules.group_schedule import group_schedule
from tinyjax.compile.schedules.lanes import MAX_STRIDE
from tinyjax.compile.schedules.parallelize import Parallelize, split_work
from tinyjax.compile.schedules.reorder import Reorder
from tinyjax.compile.schedules.rfactor import RFactor
from tinyjax.compile.schedules.schedule import ScheduleBuilder
from tinyjax.compile.schedules.split import Split
from tinyjax.compile.schedules.unroll_and_jam import UnrollAndJam
from tinyjax.compile.schedules.vector_axes import vector_width, vectors_along
from tinyjax.compile.schedules.vectorize import Vectorize

UNROLLED = 4  # an addition takes about four cycles, and another could begin in each of them
LONG_ROW = 512  # elements: four longer rows at once would take up to 1.6 times as long
KEPT_BYTES = 2**17  # of a row, in private memory: half of a core's second cache
COLUMNS = 2048  # columns at a time: their sums fill a fourth of a core's first cache
PIECES = 16  # work-items that share the rows, if there are few columns
LAST = "only the last vector needs a mask"
NEED_NOT_WAIT = "additions don't wait for the one before"


def reduction_schedule(
    nest: Kernel, axes: ReductionAxes, form: Form, target: Target
) -> ScheduleBuilder:
    """The schedule of a naive nest of that form."""
    if target.group > 1:
        return group_schedule(nest, axes, form, target)
    scheduler = _ReductionScheduler(nest, form, target)
    {"rows": _rows, "columns": _columns, "split": _split}[form.kind](scheduler, axes)
    return scheduler.builder


class _ReductionScheduler:
    """The schedule so far, and the values that it depends on."""

    def __init__(self, nest: Kernel, form: Form, target: Target):
        self.builder = ScheduleBuilder(nest)
        self.form = form
        self.target = target
        self.width = vector_width(nest, target) if target.width > 1 else 1

    def vectors(self, axis: str) -> Vectorize | None:
        return vectors_along(self.builder, axis, self.width, overlap=self.form.kind == "columns")

    def unrolled(self, axis: str) -> int:
        """How many elements to take at once: with little work each, one sum must not wait for another."""
        statements = list(every_statement(loop_over(self.builder.kernel, axis).body))
        work = sum(work_of(s) for s in statements if isinstance(s, Let))
        sums = sum(isinstance(s, Combine) for s in statements)
        return UNROLLED if work <= CHEAP_WORK * sums else 1


# ---- rows ----


def _rows(scheduler: _ReductionScheduler, axes: ReductionAxes) -> None:
    """A work-item takes whole rows, each in vectors: several short rows at once, so that one sum doesn't wait
    for another; a long row has several accumulators.
    """
    builder, form, target = scheduler.builder, scheduler.form, scheduler.target
    rows, columns = form.outer, form.reduction_size
    outer = list(axes.outer)
    if columns <= MAX_STRIDE and outer:
        outer = builder.fuse_contiguous_axes(outer, "rows are numbered")
        if vectors := vectors_along(builder, outer[-1], scheduler.width, of_rows=True):
            return _short_rows(scheduler, outer, vectors)
    row = builder.fuse_axes(outer, "rows are numbered")
    sweeps = [builder.fuse_axes(sweep, "a row is contiguous") for sweep in axes.sweeps]
    units = _results_in_vectors(scheduler, row, sweeps[-1]) if row else ""
    unrolled = [scheduler.unrolled(sweep) for sweep in sweeps]
    for number, sweep in enumerate(sweeps):
        if vectors := scheduler.vectors(sweep):
            sweeps[number] = builder.vectorize(vectors, splits_one=True)
    _keep(builder, columns, sweeps)
    at_once = min(UNROLLED, rows) if columns < LONG_ROW else 1
    for sweep, several in zip(sweeps, unrolled):
        if sweep.endswith("_outer") and (columns % scheduler.width or columns == scheduler.width):
            builder.partition(sweep, LAST)
        count = several // at_once
        loop = find_loop(builder.kernel, sweep)
        if (
            loop
            and accumulators_in(loop.body)
            and count > 1
            and columns >= several * scheduler.width
        ):
            builder.apply_if_possible(UnrollAndJam(sweep, count, why=NEED_NOT_WAIT))
    if row:
        why, grain, most = f"{rows} rows do not wait", target.grain // columns, target.max_items
        if units:
            builder.share_out(units, grain // scheduler.width, most, why)
        else:
            builder.share_out(row, grain, most, why, at_once)
        if at_once > 1:
            why = "the sums of different rows are independent"
            builder.apply(UnrollAndJam(f"{row}_inner" if units else row, at_once, why=why))


def _results_in_vectors(scheduler: _ReductionScheduler, row: str, sweep: str) -> str:
    """Takes several rows at a time if the operations after their last sweep are costly: a separate loop then
    computes these in vectors. Returns the axis over groups of rows, or an empty text.
    """
    builder, width = scheduler.builder, scheduler.width
    body = loop_over(builder.kernel, row).body
    after = body[body.index(loop_over(builder.kernel, sweep)) + 1 :]
    work = sum(work_of(s) for s in after if isinstance(s, Let))
    if work <= CHEAP_WORK or not builder.size(row) >= width > 1:
        return ""
    why = f"{work} operations follow each row's sums"
    is_done = builder.apply_if_possible(
        Split(row, width, overlap=True, why=why),
        Reorder(sweep, (f"{row}_inner",), stays=True, why=why),
        Vectorize(f"{row}_inner1", width, why="neighbouring rows have neighbouring results"),
    )
    return f"{row}_outer" if is_done else ""


def _short_rows(scheduler: _ReductionScheduler, axes: Sequence[str], vectors: Vectorize) -> None:
    """A work-item takes vectors of neighbouring rows."""
    builder, target = scheduler.builder, scheduler.target
    *others, row = axes
    grain = target.grain // (scheduler.form.reduction_size * vectors.width)
    units = builder.vectorize(vectors, splits_one=True)
    if others:
        grain //= builder.size(units)
        units = builder.fuse_axes(others, "rows are numbered")
    builder.share_out(units, grain, target.max_items, "rows do not wait for each other")


def _keep(builder: ScheduleBuilder, columns: int, sweeps: Sequence[str]) -> None:
    """Keeps each costly value that fits in memory, one after the other."""
    kept = 0
    while True:
        for value, axis, cost in repeated_work(builder.kernel, sweeps):
            size = columns * value.dtype.itemsize
            keep = ComputeAt(
                value.name, axis, why=f"{cost:.0f} operations, and it stays in the cache"
            )
            if cost <= CHEAP_WORK or kept + size > KEPT_BYTES:
                continue
            builder.apply(keep)
            kept += size
            break
        else:
            return


# ---- columns ----


def _columns(scheduler: _ReductionScheduler, axes: ReductionAxes) -> None:
    """A work-item takes a block of columns, and walks down their rows, in the order of memory."""
    builder, form, target = scheduler.builder, scheduler.form, scheduler.target
    outer = builder.fuse_axes(axes.outer, "numbered")
    column = builder.fuse_axes(axes.inner, "columns are contiguous")
    row = builder.fuse_axes(axes.sweeps[0], "rows are numbered")
    at_once, vectors = scheduler.unrolled(row), scheduler.vectors(column)
    width = scheduler.width if vectors else 1
    chunks = math.ceil(form.inner / width)
    blocks = math.ceil(chunks / max(1, COLUMNS // width))
    block = math.ceil(chunks / blocks)
    units, unit_columns = form.outer * blocks, block * width
    pieces = 1
    if units < PIECES // 2:
        grain = target.grain // (at_once * unit_columns)
        pieces, _ = split_work(max(1, form.reduction_size // at_once), grain, PIECES // units)
    if pieces > 1:
        why = f"{form.inner} columns are too few for all work-items"
        builder.apply(RFactor(row, pieces, at_once, why=why))
    chunk = builder.vectorize(vectors) if vectors else column
    unit = outer
    if blocks > 1:
        builder.apply(Split(chunk, block, why="accumulators that stay in the first cache"))
        unit, chunk = f"{chunk}_outer", f"{chunk}_inner"
        if outer:
            unit = builder.fuse_axes([outer, unit], "blocks of columns do not wait")
    if chunk:
        why = "a row's elements are neighbours, a column's are not"
        builder.apply(Reorder(row, (chunk,), in_memory=True, why=why))
    several = UnrollAndJam(row, at_once, why=NEED_NOT_WAIT)
    if at_once > 1:
        builder.apply_if_possible(several)
    if pieces > 1:
        if vectors:
            builder.apply(replace(vectors, axis=f"{column}_total"))
        builder.apply(Parallelize(f"{row}_piece", pieces, why="each piece leaves a partial result"))
    if unit:
        grain = target.grain * pieces // (form.reduction_size * unit_columns)
        why = "blocks of columns do not wait for each other"
        builder.share_out(unit, grain, max(1, target.max_items // pieces), why)


# ---- split ----


def _split(scheduler: _ReductionScheduler, axes: ReductionAxes) -> None:
    """Each work-item combines a part of the elements, or a part of the rows if these are long enough for
    vectors; the last one combines the parts.
    """
    builder, form, target = scheduler.builder, scheduler.form, scheduler.target
    builder.fuse_axes([*axes.outer, *axes.inner], "results are numbered")
    sweep = builder.fuse_contiguous_axes(axes.sweeps[0], "they are contiguous")
    if vectors := _long_rows(scheduler, sweep):
        axis, along = builder.fuse_axes(sweep[:-1], "rows are numbered"), sweep[-1]
    else:
        axis = along = builder.fuse_axes(sweep, "elements are numbered")
        vectors = scheduler.vectors(axis)
    width = scheduler.width if vectors else 1
    at_once = scheduler.unrolled(along) if vectors else target.accumulators
    block, each = at_once * width, at_once * width
    if along != axis:
        block, each = 1, builder.size(along)
    grain = target.reduction_grain // each
    items, _ = split_work(builder.size(axis) // block, grain, target.reduction_items)
    why = f"{form.reduction_size} elements for {form.results} results"
    builder.apply(RFactor(axis, items, block, why=why))
    chunk = builder.vectorize(vectors) if vectors else axis
    if each % width:
        builder.partition(chunk, LAST)
    if each >= at_once * width > width:
        builder.apply_if_possible(UnrollAndJam(chunk, at_once, why=NEED_NOT_WAIT))
    builder.apply(Parallelize(f"{axis}_piece", items, why="each leaves a partial result"))


def _long_rows(scheduler: _ReductionScheduler, axes: Sequence[str]) -> Vectorize | None:
    """Vectorizes the combined elements if they lie in memory in many separate runs."""
    if len(axes) < 2:
        return None
    *rows, columns = (scheduler.builder.size(axis) for axis in axes)
    is_long = math.prod(rows) >= PIECES and columns >= scheduler.width
    return scheduler.vectors(axes[-1]) if is_long else None
