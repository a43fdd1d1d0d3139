"""The schedules of reductions: which directives make a naive loop nest fast, and why.

Each form of fusion/reduction_groups.py has a method here, which chooses by sizes and by costs.

On a GPU, work-items work in groups. Each row gets a group. Its items take every 256th element each and
combine their results in a tree. If there are few results of very many elements, each group combines a part,
and the last group combines the parts. Neighbouring items load neighbouring elements. For columns, 32 items
take one column each, and 8 such rows of items share the rows. A short row gets one item.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from tinyjax.compile.fusion.cost_model import CHEAP_WORK
from tinyjax.compile.fusion.reduction_groups import Form
from tinyjax.compile.kernel.kernel_ir import Combine, For, Kernel
from tinyjax.compile.kernel.reduction_nest import ReductionAxes
from tinyjax.compile.kernel.substitution import every_statement
from tinyjax.compile.schedules.chooser import (
    INSIDE,
    LAST,
    SHORT_ROW,
    Chooser,
    power_of_two,
    work_of,
)
from tinyjax.compile.schedules.dependences import iterations
from tinyjax.compile.schedules.directive import (
    accumulators_in,
    axis_of,
    find_loop,
    loop_over,
    perfect_nest,
)
from tinyjax.compile.schedules.parallelize import split_work
from tinyjax.compile.schedules.reorder import Reorder
from tinyjax.compile.schedules.rfactor import RFactor
from tinyjax.compile.schedules.split import Split
from tinyjax.compile.schedules.unroll_and_jam import UnrollAndJam
from tinyjax.compile.schedules.vectorize import Vectorize
from tinyjax.compile.schedules.work_groups import WorkGroups
from tinyjax.compile.target import Target

UNROLLED = 4  # an addition takes about four cycles, and another could begin in each of them
LONG_ROW = 512  # elements: four longer rows at once would take up to 1.6 times as long
COLUMNS = 2048  # columns at a time: their sums fill a fourth of a core's first cache
PIECES = 16  # work-items that share the rows, if there are few columns
NEED_NOT_WAIT = "additions don't wait for the one before"
NEIGHBOURS = "a row's elements are neighbours, a column's are not"
PARTIAL = "each leaves a partial result"

# On a GPU:
ROWS = 8  # items of a group that share a column, if there are many columns
ITEMS = 2**21  # at most this many share sums: ten times as many as a large GPU runs at once
SHORT = 32  # elements of a row: this many items run in lockstep, and some would be idle


def reduction_schedule(
    nest: Kernel, axes: ReductionAxes, form: Form, target: Target
) -> ReductionChooser:
    """The schedule of a naive nest of that form."""
    chooser = ReductionChooser(nest, axes, form, target)
    {"rows": chooser.rows, "columns": chooser.columns, "split": chooser.split}[form.kind]()
    return chooser


def sums_in_groups(naive: Kernel, target: Target) -> ReductionChooser | None:
    """The schedule of a naive nest of few elements, each of which is one long sum, as in the gradient by a
    convolution's kernel: these are rows, and each gets a group. None for any other."""
    nest = perfect_nest(naive.body)
    body = nest[-1].body if nest else naive.body
    sums = [s for s in body if isinstance(s, For)]
    if len(sums) != 1 or not accumulators_in(sums[0].body):
        return None
    terms = perfect_nest(sums)
    form = Form("rows", math.prod(map(iterations, nest)), math.prod(map(iterations, terms)))
    axes = ReductionAxes(tuple(map(axis_of, nest)), (), (tuple(map(axis_of, terms)),))
    chooser = ReductionChooser(naive, axes, form, target)
    lanes = chooser.lanes_for(form.reduction_size)
    is_few = form.outer * lanes <= ITEMS and form.reduction_size >= target.reduction_grain // 8
    return chooser if is_few and chooser.rows() else None


class ReductionChooser(Chooser):
    """The schedule so far, and the values that it depends on."""

    def __init__(self, nest: Kernel, axes: ReductionAxes, form: Form, target: Target):
        super().__init__(nest, target)
        self.axes, self.form = axes, form

    def _is_cheap(self, axis: str) -> bool:
        """Whether a sum would wait for the one before, as there is little other work."""
        statements = list(every_statement(loop_over(self.kernel, axis).body))
        sums = sum(isinstance(s, Combine) for s in statements)
        return work_of(statements) <= CHEAP_WORK * sums

    # ---- rows ----

    def rows(self) -> bool:
        """A work-item takes whole rows, each in vectors: several short rows at once, so that one sum doesn't
        wait for another; a long row has several accumulators."""
        columns, outer = self.form.reduction_size, self.axes.outer
        if outer and columns < SHORT_ROW and self.width > 1:
            outer = tuple(self.fuse_contiguous_axes(outer, "rows are numbered"))
            if vectors := self.vectors_along(outer[-1], of_rows=True):
                self._short_rows(outer, vectors)
                return True
        row = self.fuse_axes(outer, "rows are numbered")
        if self.target.group > 1:
            return self._rows_in_groups(row)
        nests = [self._in_runs(sweep) for sweep in self.axes.sweeps]
        units = self._results_in_vectors(row, nests[-1][0]) if row else ""
        at_once = min(UNROLLED, self.form.outer) if columns < LONG_ROW else 1
        self._combine([axes[-1] for axes in nests], UNROLLED // at_once)
        grain, why = self.target.grain // columns, f"{self.form.outer} rows do not wait"
        if units:
            self.share_out(units, grain // self.width, why)
        else:
            self.share_out(row, grain, why, multiple=at_once)
        if row and at_once > 1:
            why = "the sums of different rows are independent"
            self.apply_if_possible(UnrollAndJam(f"{row}_inner" if units else row, at_once, why=why))
        return True

    def _combine(self, sweeps: Sequence[str], at_once: int) -> None:
        """Makes vectors along sweeps. A long sweep with little work takes several vectors at a time, as one
        addition would wait for another."""
        waits = [
            self._is_cheap(axis) and self.size(axis) >= at_once * self.width for axis in sweeps
        ]
        chunks = [self._in_vectors(axis) for axis in sweeps]
        for axis, chunk, would_wait in zip(sweeps, chunks, waits):
            if chunk != axis:
                self.partition(chunk, LAST)
            loop = find_loop(self.kernel, chunk)
            if at_once > 1 and would_wait and loop and accumulators_in(loop.body):
                self.apply_if_possible(UnrollAndJam(chunk, at_once, why=NEED_NOT_WAIT))

    def _in_vectors(self, sweep: str) -> str:
        """Makes vectors along a sweep if possible; returns the axis that numbers them, or else the sweep."""
        cut, vectors = self.vectors_of_sums(sweep)
        if vectors is None:
            return sweep
        self.apply(*cut)
        return self.vectorize(vectors, splits_one=True)

    def _in_runs(self, sweep: Sequence[str]) -> list[str]:
        """Fuses the axes of a sweep, but not with runs that are long enough for vectors."""
        axes = self.fuse_contiguous_axes(sweep, "a row is contiguous")
        if self._is_long(axes[-1]):
            return axes
        return [self.fuse_axes(axes, "its runs are short")]

    def _is_long(self, axis: str) -> bool:
        """Whether elements along the axis fill a vector, or more than half of a smaller one."""
        size = self.size(axis)
        vectors = self.vectors_along(axis, overlap=False) if size < self.width else None
        return size >= self.width > 1 or (vectors is not None and 2 * size > vectors.width)

    def _results_in_vectors(self, row: str, sweep: str) -> str:
        """Takes several rows at a time if the operations after their last sweep are costly: a separate loop
        then computes these in vectors. Returns the axis over groups of rows, or an empty text."""
        body = loop_over(self.kernel, row).body
        after = body[body.index(loop_over(self.kernel, sweep)) + 1 :]
        work = work_of(after)
        if work <= CHEAP_WORK or not self.size(row) >= self.width > 1:
            return ""
        why = f"{work} operations follow each row's sums"
        split = Split(row, self.width, overlap=True, why=why)
        reorder = Reorder(sweep, (f"{row}_inner",), stays=True, why=why)
        why = "neighbouring rows have neighbouring results"
        vectors = Vectorize(f"{row}_inner1", self.width, why=why)
        if not self.apply_if_possible(split, reorder):
            return ""
        if not self.apply_if_possible(vectors) and (gathered := self.gathered(vectors)):
            self.apply_if_possible(gathered)
        return f"{row}_outer"

    def _short_rows(self, axes: Sequence[str], vectors: Vectorize) -> None:
        """A work-item takes vectors of neighbouring rows."""
        *others, row = axes
        grain = self.target.grain // (self.form.reduction_size * vectors.width)
        units = self.vectorize(vectors, splits_one=True)
        if others:
            grain //= self.size(units)
            units = self.fuse_axes(others, "rows are numbered")
        self.share_out(units, grain, "rows do not wait for each other")

    def _rows_in_groups(self, row: str) -> bool:
        """A group for each row, or an item for each short one; returns whether that can be."""
        size = self.form.reduction_size
        if size < SHORT:
            why = f"a row of {size} elements is no work for a group"
            self.share_out(row, why=why, in_groups=True)
            return True
        lanes = self.lanes_for(size)
        for sweep in self.axes.sweeps:
            if not self.as_tree(self.fuse_axes(sweep, "a row is contiguous"), lanes):
                return False
        self.share_out(row, why="rows do not wait for each other")
        self.apply(WorkGroups(lanes, why=f"for a row of {size:,} elements"))
        return True

    def lanes_for(self, count: int) -> int:
        """How many items of a group have work: a power of two."""
        return min(self.target.group, power_of_two(count))

    def as_tree(self, axis: str, lanes: int) -> bool:
        """Lets the items of a group combine a loop's reduction, if it has one; returns whether they can."""
        if not accumulators_in(loop_over(self.kernel, axis).body):
            return True
        why = f"items load neighbours, and combine in {lanes.bit_length() - 1} steps"
        return self.apply_if_possible(RFactor(axis, lanes, as_tree=True, why=why))

    # ---- columns ----

    def columns(self) -> None:
        """A work-item walks down the rows of a block of columns. On a GPU, a group has a few columns."""
        form, target = self.form, self.target
        column = self.fuse_axes(self.axes.inner, "columns are contiguous")
        row = self.fuse_axes(self.axes.sweeps[0], "rows are numbered")
        if target.group > 1:
            self._few_at_once(row, column)
            axes = [*self.axes.outer, f"{column}_outer"]
            unit = self.fuse_axes(axes, "blocks of columns are numbered")
            self.share_out(unit, why="blocks of columns do not wait for each other")
            why = f"for columns of {form.reduction_size:,} elements"
            self.apply(WorkGroups(target.group, why=why))
            return
        outer = self.fuse_axes(self.axes.outer, "numbered")
        is_short = self.size(column) < self.width
        at_once = UNROLLED if self._is_cheap(row) else 1
        vectors = self.vectors_along(column, overlap=not is_short)
        width = vectors.width if vectors else 1
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
            self.apply(RFactor(row, pieces, at_once, why=why))
        unit, chunk = outer, self.vectorize(vectors) if vectors else column
        if blocks > 1:
            self.apply(Split(chunk, block, why="accumulators that stay in the first cache"))
            unit = self.fuse_axes([outer, f"{chunk}_outer"], "blocks of columns do not wait")
            chunk = f"{chunk}_inner"
        if chunk:
            self.apply(Reorder(row, (chunk,), in_memory=True, why=NEIGHBOURS))
        if not vectors:
            self.partition(chunk, INSIDE)  # the C compiler then finds vectors
        if at_once > 1:
            self.apply_if_possible(UnrollAndJam(row, at_once, why=NEED_NOT_WAIT))
        if pieces > 1:
            if vectors:
                self.apply(replace(vectors, axis=f"{column}_total"))
            self.share_out(f"{row}_piece", why=PARTIAL)
        grain = target.grain * pieces // (form.reduction_size * unit_columns)
        why = "blocks of columns do not wait for each other"
        self.share_out(unit, grain, why, most=max(1, target.max_items // pieces))

    def _few_at_once(self, row: str, column: str) -> None:
        """Neighbouring items take neighbouring columns; each such row of items takes every n-th row."""
        group = self.target.group
        width = min(max(1, group // ROWS), power_of_two(self.size(column)))
        lanes = group // width
        self.apply(Split(column, width, why=f"{width} neighbours are loaded at once"))
        self.apply(RFactor(row, lanes, as_tree=True, why=f"each column has {lanes} items"))
        column = f"{column}_inner"
        self.apply(Reorder(f"{row}_lane", (column,), why=NEIGHBOURS))
        for step in range(1, lanes.bit_length()):
            why = "all columns take a step of the tree together"
            self.apply(Reorder(f"{row}_half{step}", (f"{column}{step}",), stays=True, why=why))

    # ---- split ----

    def split(self) -> None:
        """Each work-item or group combines a part of the elements, or a part of the rows if these are long
        enough for vectors; the last one combines the parts."""
        form, target = self.form, self.target
        at_once = min(UNROLLED, target.accumulators)
        results = self.fuse_axes([*self.axes.outer, *self.axes.inner], "results are numbered")
        *rows, along = self._in_runs(self.axes.sweeps[0])
        if math.prod(map(self.size, rows)) >= PIECES:
            axis, block, each = self.fuse_axes(rows, "rows are numbered"), 1, self.size(along)
        else:
            axis = along = self.fuse_axes([*rows, along], "elements are numbered")
            block = each = at_once * self.width
        grain = target.reduction_grain // each
        items, _ = split_work(self.size(axis) // block, grain, target.reduction_items)
        why = f"{form.reduction_size:,} elements for {form.results:,} results"
        self.apply(RFactor(axis, items, block, why=why))
        if target.group > 1:
            self._piece_in_group(axis, results, items)
        self._combine([along], at_once)
        self.share_out(f"{axis}_piece", why=PARTIAL)
        if target.group > 1:
            self.apply(WorkGroups(target.group, why="for each piece"))

    def _piece_in_group(self, axis: str, results: str, pieces: int) -> None:
        """A group's items combine a piece, and those of the last one all pieces."""
        if self.form.inner > 1:
            self._few_at_once(axis, results)
        else:
            self.as_tree(axis, self.target.group)
        self.as_tree(f"{axis}_partial", self.lanes_for(pieces))
