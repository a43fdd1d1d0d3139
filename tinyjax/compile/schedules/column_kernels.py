"""Kernels that combine along columns: sums for neighbouring columns, advancing from row to row.

After this file you can read the kernel of `x.sum(0)`: a work-item has an accumulator for each of its
columns, all in the fastest cache, and adds one row after the other to them, in the order of memory.
Where there are few columns, several work-items share their rows, and the one that is done last adds
up what each has left in memory. Builds on reductions.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager

import numpy as np

from tinyjax.compile.kernel.indices import Index, index
from tinyjax.compile.kernel.kernel_ir import (
    Allocate,
    Buffer,
    IfLast,
    PrivateArray,
    item_index,
    statements_of,
)
from tinyjax.compile.kernel.memref import MemRef
from tinyjax.compile.kernel.rules import Position
from tinyjax.compile.schedules.group_builder import padded, run_of, share
from tinyjax.compile.schedules.reductions import ReductionBuilder, blocks_of
from tinyjax.core.jaxpr import JaxprEqn

COLUMNS = 2048  # of a work-item at a time: their sums fill a fourth of a core's first cache
PIECES = 16  # work-items that share the rows, if there are few columns


class ColumnKernel(ReductionBuilder):
    """The combined axes are between `outer` and `inner` ones; all accumulators are private memory."""

    def whole(self) -> tuple[int, Sequence[Buffer]]:
        form, target = self.form, self.target
        self.chunks = -(-form.inner // self.width)
        self.blocks, self.block_size = blocks_of(self.chunks, max(1, COLUMNS // self.width))
        units, unit_columns = form.outer * self.blocks, self.block_size * self.width
        self.at_once = self.unrolled  # rows that are added before the sums go back to memory
        self.pieces, self.piece_rows = 1, -(-form.combined // self.at_once)
        if units < PIECES // 2:
            grain = max(1, target.grain // (self.at_once * unit_columns))
            self.pieces, self.piece_rows = share(self.piece_rows, grain, PIECES // units)
        grain = max(1, target.grain * self.pieces // (form.combined * unit_columns))
        items, run = share(units, grain, max(1, target.max_items // self.pieces))
        items *= self.pieces
        item = item_index(padded(items, target))
        self.partial = [
            Buffer(f"partial{n}", self.sum_dtype(eqn), self.pieces * form.results, "scratch")
            for n, eqn in enumerate(self.reductions)
        ]
        with self.loop(*run_of(item // self.pieces, run, units), units - 1) as unit:
            self._unit(unit // self.blocks, unit % self.blocks, item % self.pieces)
        if self.pieces == 1:
            return items, ()
        ticket = Buffer("ticket", np.dtype("int32"), 1, "scratch")
        with self.block() as finish:
            self._combine_pieces()
        self.body.append(IfLast(ticket, finish))
        return items, [*self.partial, ticket]

    def _unit(self, outer: Index, block: Index, piece: Index) -> None:
        """A piece of the rows of one block of columns."""
        sums = []
        for eqn in self.reductions:
            sums.append(
                PrivateArray(self.fresh("acc"), self.sum_dtype(eqn), self.block_size, self.width)
            )
            with statements_of(eqn):
                self.body.append(Allocate(sums[-1], self.identity(eqn)))
        start = block * self.block_size
        count = (index(self.chunks) - start).min(self.block_size)
        full = self.form.combined // self.at_once
        with self.loop(*run_of(piece, self.piece_rows, full), full - 1) as rows:
            with self.loop(0, count, self.block_size - 1) as chunk:
                numbers = [rows * self.at_once + n for n in range(self.at_once)]
                self._add_rows(outer, numbers, start + chunk, chunk, sums)
        rest = self.form.combined - full * self.at_once
        if rest:  # for the last piece
            is_last = (piece + (2 - self.pieces)).max(0) if self.pieces > 1 else index(1)
            last = self.form.combined - 1
            start_of_rest = self.form.combined - rest
            with self.loop(start_of_rest, is_last * rest + start_of_rest, last) as row:
                with self.loop(0, count, self.block_size - 1) as chunk:
                    self._add_rows(outer, [row], start + chunk, chunk, sums)
        with self.loop(0, count, self.block_size - 1) as chunk:
            with self._columns(start + chunk) as column:
                for eqn, accumulators, partial in zip(self.reductions, sums, self.partial):
                    at = outer * self.form.inner + column
                    with statements_of(eqn):
                        value = self.load_vector(accumulators, chunk)
                        if self.pieces > 1:
                            self.write(MemRef(partial), piece * self.form.results + at, value)
                        else:
                            self.know(eqn, at, value)
                if self.pieces == 1:
                    self._store(outer, column)

    def _add_rows(
        self,
        outer: Index,
        rows: Sequence[Index],
        chunk: Index,
        at: Index,
        sums: Sequence[PrivateArray],
    ) -> None:
        """A few rows of one vector of columns."""
        with self._columns(chunk) as column:
            for eqn, accumulators in zip(self.reductions, sums):
                places = [self._element_place(eqn, outer, row, column) for row in rows]
                with statements_of(eqn):
                    values = [
                        self.converted(self.element(eqn.invars[0], place), self.sum_dtype(eqn))
                        for place in places
                    ]
                    self.combine(self.rule(eqn), accumulators, at, self.pairwise(eqn, values))

    def _columns(self, chunk: Index) -> AbstractContextManager[Index]:
        """The columns of a chunk. Those of the last one overlap with those before: their sums are the
        same, and no lane is idle."""
        first = (chunk * self.width).min(self.form.inner - self.width)
        return self.vectorized_from(first, self.form.inner)

    def _element_place(self, eqn: JaxprEqn, outer: Index, row: Index, column: Index) -> Position:
        """The place of an operand's element."""
        form, shape = self.form, eqn.invars[0].aval.shape
        flat = (outer * form.combined + row) * form.inner + column
        combined = [axis in eqn.params["axes"] for axis in range(len(shape))]
        sizes = [axis for axis, size in enumerate(shape) if size > 1]
        first = min(axis for axis in sizes if combined[axis])
        after = 1 + max(axis for axis in sizes if combined[axis])
        parts = (shape[:first], outer), (shape[first:after], row), (shape[after:], column)
        coords = [at for sizes, number in parts for at in Position(sizes, flat=number).coords]
        return Position(shape, coords, flat)

    def _combine_pieces(self) -> None:
        with self.loop(0, self.form.outer, self.form.outer - 1) as outer:
            with self.loop(0, self.chunks, self.chunks - 1) as chunk:
                sums = [self.accumulators(eqn, 1) for eqn in self.reductions]
                with self._columns(chunk) as column:
                    at = outer * self.form.inner + column
                    with self.loop(0, self.pieces, self.pieces - 1) as piece:
                        for eqn, (total,), partial in zip(self.reductions, sums, self.partial):
                            with statements_of(eqn):
                                value = self.read(MemRef(partial), piece * self.form.results + at)
                                self.combine(self.rule(eqn), total, index(0), value)
                    for eqn, (total,) in zip(self.reductions, sums):
                        with statements_of(eqn):
                            self.know(eqn, at, self.load_vector(total, index(0)))
                    self._store(outer, column)

    def _store(self, outer: Index, column: Index) -> None:
        """The outputs, which are computed from the results alone."""
        for v in self.outputs:
            self.store_output(v, self.place(v, outer, column))
