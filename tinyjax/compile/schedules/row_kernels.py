"""Kernels that combine along rows: each work-item takes whole rows, and sweeps over each several times.

After this file you can read the kernel of a softmax: a sweep finds a row's maximum, the next adds up
exponentials, the last divides and stores. The row is in the fastest cache after the first sweep. A
costly value that two sweeps need is kept in private memory. The loop over rows is unrolled and jammed.
Builds on reductions and unroll_and_jam.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tinyjax.compile.codegen.codegen import Target
from tinyjax.compile.fusion.cost_model import CHEAP_WORK
from tinyjax.compile.fusion.groups import KernelGroup
from tinyjax.compile.fusion.reduction_groups import variables
from tinyjax.compile.kernel.indices import Index, index
from tinyjax.compile.kernel.kernel_ir import (
    Allocate,
    Buffer,
    For,
    PrivateArray,
    Scalar,
    item_index,
    statements_of,
)
from tinyjax.compile.kernel.memref import MemRef
from tinyjax.compile.kernel.rules import Position
from tinyjax.compile.schedules.group_builder import padded, run_of, share, statements_for
from tinyjax.compile.schedules.reductions import BOOL, ReductionBuilder, operand
from tinyjax.compile.schedules.unroll_and_jam import unroll_and_jam
from tinyjax.core.jaxpr import JaxprEqn, Var

KEPT_BYTES = 2**17  # of a row, in private memory: half of a core's second cache
UNROLLED_ROWS = 4  # the sum of one need not wait for that of another

Body = Callable[[Index, int, int | None], None]  # column, accumulator, end


class RowKernel(ReductionBuilder):
    """`levels` are the reductions in the order in which they wait for each other."""

    def __init__(self, group: KernelGroup, names: dict[Var, str], target: Target, width: int):
        super().__init__(group, names, target, width)
        self.rows, self.columns = self.form.outer, self.form.combined
        self.totals = {v for eqn in self.reductions for v in eqn.outvars}
        self.levels = self._levels()
        self.row_outputs = [v for v in self.outputs if v.aval.size == self.rows]
        self.element_outputs = [v for v in self.outputs if v.aval.size != self.rows]
        # What each sweep computes for each column: the reductions of a level, then the outputs.
        roots = [[operand(eqn) for eqn in level] for level in self.levels]
        self.roots = [*roots, self.element_outputs]
        self.kept: dict[Var, int] = {}  # -> the sweep that computes it
        self.memory: dict[Var, PrivateArray] = {}
        kept_bytes = self._choose_kept()
        self.unrolled_rows = (
            min(UNROLLED_ROWS, self.rows) if kept_bytes * UNROLLED_ROWS <= KEPT_BYTES else 1
        )

    # ---- what sweeps need ----

    def _levels(self) -> list[list[JaxprEqn]]:
        depth: dict[Var, int] = {}
        levels: dict[int, list[JaxprEqn]] = {}
        for eqn in self.group.eqns:
            below = max((depth.get(v, 0) for v in variables(eqn)), default=0)
            if eqn in self.reductions:
                levels.setdefault(below, []).append(eqn)
                below += 1
            depth.update((v, below) for v in eqn.outvars)
        return [levels[level] for level in sorted(levels)]

    def _needed(self, sweep: int) -> dict[Var, None]:
        """What a sweep reads or computes, but for what only goes into totals and what was kept."""
        needed: dict[Var, None] = {}
        pending = list(self.roots[sweep])
        while pending:
            v = pending.pop()
            if v not in needed:
                needed[v] = None
                was_kept = v in self.kept and self.kept[v] < sweep
                if v in self.producer and v not in self.totals and not was_kept:
                    pending += variables(self.producer[v])
        return needed

    def _choose_kept(self) -> int:
        """A costly value is kept if a later sweep needs it for something else than the first did; gives
        the bytes that are kept of a row."""
        needed = [self._needed(sweep) for sweep in range(len(self.roots))]
        work = self.work({v for v in self.producer if v in self.totals or v.aval.size == self.rows})
        size = 0
        for first, early in enumerate(needed):
            for v in early:
                later = [s for s in range(first + 1, len(needed)) if v in needed[s]]
                if v in self.kept or work.get(v, 0) <= CHEAP_WORK or not later:
                    continue
                reads = {
                    u for s in later for u in needed[s] if u not in early and u in self.producer
                }
                is_read = any(v in self.producer[u].invars for u in reads)
                is_root = any(v in self.roots[s] for s in later)
                if (
                    is_read or is_root
                ) and size + self.columns * v.aval.dtype.itemsize <= KEPT_BYTES:
                    self.kept[v] = first
                    size += self.columns * v.aval.dtype.itemsize
        return size

    # ---- the kernel ----

    def whole(self) -> tuple[int, Sequence[Buffer]]:
        unrolled = self.unrolled_rows
        grain = max(1, self.target.grain // (self.columns * unrolled))
        items, run = share(math.ceil(self.rows / unrolled), grain, self.target.max_items)
        item = item_index(padded(items, self.target))
        with self.loop(*run_of(item, run * unrolled, self.rows), self.rows - 1) as row:
            self._row(row)
        if unrolled > 1:
            loop = self.body.pop()
            assert isinstance(loop, For)
            self.body += unroll_and_jam(loop, unrolled, self.fresh("i"))
        return items, ()

    def _row(self, row: Index) -> None:
        chunks = -(-self.columns // self.width)
        for v in self.kept:
            array = PrivateArray(self.fresh("kept"), v.aval.dtype, chunks, self.width)
            with statements_of(self.producer[v]):
                self.body.append(Allocate(array, None))
            self.memory[v] = array
        for sweep, level in enumerate(self.levels):
            with statements_for(level):
                self._combine(row, sweep, level)
        if self.element_outputs:
            with statements_for([self.producer[v] for v in self.element_outputs]):
                self._store(row)
        for v in self.row_outputs:
            self.store_output(v, self.place(v, row, index(0)))

    def _combine(self, row: Index, sweep: int, level: Sequence[JaxprEqn]) -> None:
        """One sweep: the totals of a level."""
        self._numbers_of_row(row, sweep)
        count = (
            self.unrolled // self.unrolled_rows if self.columns >= self.unrolled * self.width else 1
        )
        count = max(1, count)
        sums = [self.accumulators(eqn, count) for eqn in level]

        def combine(column: Index, number: int, end: int | None) -> None:
            inside = None if end is None else self.let("lt", (column, index(end)), BOOL)
            for eqn, accumulators in zip(level, sums):
                with statements_of(eqn):
                    value = self._value(operand(eqn), row, column)
                    value = self.converted(value, self.sum_dtype(eqn))
                    value = self.masked(value, inside, self.identity(eqn))
                    self.combine(self.rule(eqn), accumulators[number], index(0), value)

        self._sweep(row, sweep, count, combine)
        for eqn, accumulators in zip(level, sums):
            self.know(eqn, row, self.all_combined(eqn, accumulators))

    def _store(self, row: Index) -> None:
        """The last sweep: outputs that have a number for each column."""
        sweep = len(self.levels)
        self._numbers_of_row(row, sweep)

        def store(column: Index, number: int, end: int | None) -> None:
            for v in self.element_outputs:
                self.store_output(v, self.place(v, row, column))

        self._sweep(row, sweep, 1, store)

    def _value(self, v: Var, row: Index, column: Index) -> Scalar:
        return self.element(v, self.place(v, row, column))

    def _numbers_of_row(self, row: Index, sweep: int) -> None:
        """Computes what is one number for the row before the sweep over its columns."""
        needed = self._needed(sweep)
        for v in (v for eqn in self.group.eqns for v in eqn.outvars if v in needed):
            if v.aval.size == self.rows:
                self.element(v, self.place(v, row, index(0)))
            elif v.aval.size == 1:
                self.element(v, Position(v.aval.shape, [index(0)] * v.aval.ndim))

    def _sweep(self, row: Index, sweep: int, unrolled: int, body: Body) -> None:
        """Runs `body` for all columns, `width` of them at once, and so many chunks after each other."""
        full = self.columns // self.width
        blocks = full // unrolled
        with self.loop(0, blocks, blocks - 1) as block:
            for number in range(unrolled):
                self._chunk(row, sweep, body, block * unrolled + number, number)
        with self.loop(blocks * unrolled, full, full - 1) as chunk:
            self._chunk(row, sweep, body, chunk, 0)
        if self.columns % self.width:
            self._chunk(row, sweep, body, index(full), 0, self.columns)

    def _chunk(
        self, row: Index, sweep: int, body: Body, chunk: Index, number: int, end: int | None = None
    ) -> None:
        """With `end`, the last lanes are masked."""
        with self.vectorized_from(chunk * self.width, self.columns, end) as column:
            needed = self._needed(sweep) if self.kept else {}
            for v, first in self.kept.items():
                if first < sweep and v in needed:
                    at = self.place(v, row, column).flat
                    with statements_of(self.producer[v]):
                        self.known[v, at] = self.load_vector(self.memory[v], chunk, self.names[v])
            body(column, number, end)
            for v, first in self.kept.items():
                if first == sweep:
                    with statements_of(self.producer[v]):
                        value = self._value(v, row, column)
                        self.write(MemRef(self.memory[v], width=self.width), chunk, value)
