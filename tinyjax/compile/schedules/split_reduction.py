"""Split reductions: kernels of few results of many elements, a part of which each work-item combines.

After this file you can say how the sum of a million numbers runs in parallel: each work-item combines
a run of the elements and leaves its partial result in memory; the work-item that is done last
combines those, and goes on to what is computed from the result. Builds on reductions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tinyjax.compile.kernel.indices import Index, index
from tinyjax.compile.kernel.kernel_ir import Buffer, IfLast, PrivateArray, item_index, statements_of
from tinyjax.compile.kernel.rules import Position
from tinyjax.compile.schedules.group_builder import padded, run_of, share
from tinyjax.compile.schedules.reductions import ReductionBuilder, operand
from tinyjax.core.jaxpr import JaxprEqn


class SplitReduction(ReductionBuilder):
    """A block is what the accumulators take in at once."""

    def whole(self) -> tuple[int, Sequence[Buffer]]:
        form, target = self.form, self.target
        total = form.combined
        unrolled = self.unrolled if self.width > 1 else target.accumulators
        block_size = unrolled * self.width
        blocks = total // block_size
        grain = max(1, target.reduction_grain // block_size)
        items, run = share(blocks, grain, target.reduction_items)
        item_count = padded(items, target)
        item = item_index(item_count)
        partial = [
            Buffer(f"partial{n}", self.sum_dtype(eqn), form.results * item_count, "scratch")
            for n, eqn in enumerate(self.reductions)
        ]
        ticket = Buffer("ticket", np.dtype("int32"), 1, "scratch")
        with self.loop(0, form.results, form.results - 1) as result:
            sums = [self.accumulators(eqn, unrolled) for eqn in self.reductions]
            with self.loop(*run_of(item, run, blocks), blocks - 1) as block:
                for number in range(unrolled):
                    chunk = block * unrolled + number
                    with self.vectorized_from(chunk * self.width, total) as at:
                        self._add(result, at, sums, number)
            # Padding work-items have an empty run, and leave the identity.
            for eqn, accumulators, buffer in zip(self.reductions, sums, partial):
                with statements_of(eqn):
                    value = self.all_combined(eqn, accumulators)
                    self.store(buffer, result * item_count + item, value)
        with self.block() as finish:
            with self.loop(0, form.results, form.results - 1) as result:
                self._finish(result, partial, item_count, blocks * block_size)
        self.body.append(IfLast(ticket, finish))
        return items, [*partial, ticket]

    def _add(self, result: Index, at: Index, sums: list[list[PrivateArray]], number: int) -> None:
        for eqn, accumulators in zip(self.reductions, sums):
            with statements_of(eqn):
                value = self.element(eqn.invars[0], self._element_place(eqn, result, at))
                self.combine(self.rule(eqn), accumulators[number], index(0), value)

    def _element_place(self, eqn: JaxprEqn, result: Index, at: Index) -> Position:
        """The place of an operand's element."""
        shape = eqn.invars[0].aval.shape
        if self.form.inner == 1:
            return self.place(operand(eqn), result, at)
        sizes = tuple(shape[axis] for axis in eqn.params["axes"])
        combined = dict(zip(eqn.params["axes"], Position(sizes, flat=at).coords))
        kept = iter(Position(eqn.outvars[0].aval.shape, flat=result).coords)
        coords = [combined[axis] if axis in combined else next(kept) for axis in range(len(shape))]
        return Position(shape, coords)

    def _finish(self, result: Index, partial: list[Buffer], items: int, done: int) -> None:
        """Combines the partial results, and the elements that fill no block."""
        self.width, width = 1, self.width
        sums = [self.accumulators(eqn, 1) for eqn in self.reductions]
        with self.loop(0, items, items - 1) as other:
            for eqn, (total,), buffer in zip(self.reductions, sums, partial):
                with statements_of(eqn):
                    value = self.load("t", buffer, result * items + other)
                    self.combine(self.rule(eqn), total, index(0), value)
        if done < self.form.combined:
            with self.loop(done, self.form.combined, self.form.combined - 1) as rest:
                self._add(result, rest, sums, 0)
        for eqn, (total,) in zip(self.reductions, sums):
            with statements_of(eqn):
                self.know(eqn, result, self.load("t", total, index(0)))
        for v in self.outputs:
            self.store_output(v, Position(v.aval.shape, flat=result))
        self.width = width
