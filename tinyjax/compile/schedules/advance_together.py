"""Sums in a loop's body, as they are fast: the elements of a product advance together.

After this file you can say why a recurrent network in one work-item reads its weights in the order in which
they lie in memory: not one element of `W @ h` after the other is summed up, but each takes its next terms in
turn, and the sums are an array. Arrays are one loop, not one an axis, where no index is found by division
then. Builds on loop_bodies.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence

from tinyjax.compile.codegen.codegen import Target
from tinyjax.compile.kernel.indices import Index, index
from tinyjax.compile.kernel.kernel_ir import Allocate, Const, PrivateArray, Scalar, statements_of
from tinyjax.compile.kernel.loop_bodies import BodyBuilder
from tinyjax.compile.kernel.memref import MemRef
from tinyjax.compile.kernel.naive_loop import LoopKernel, LoopNest
from tinyjax.compile.kernel.private_arrays import sums_up
from tinyjax.compile.kernel.rules import (
    LoweringRuleContext,
    Position,
    Reduction,
    lowering_of,
    sum_dtype,
)
from tinyjax.compile.passes.loops import Branches, Loop
from tinyjax.compile.schedules.collapse import divisions
from tinyjax.compile.schedules.layout_transform import with_transposed_weights
from tinyjax.core.jaxpr import JaxprEqn, Var

UNROLLED = 8  # terms of a reduction that are added before the sum goes back to memory


def work_item_target(target: Target) -> Target:
    """The target of code that one work-item runs by itself: nothing is shared out, and sums are stored."""
    return dataclasses.replace(
        target, name="work-item", group=1, reduction_grain=2**62, stores_reductions=True
    )


class FastBodyBuilder(BodyBuilder):
    """Writes the bodies of loops for one work-item."""

    def each(self, shape: Sequence[int], body: Callable[[Position], None]) -> None:
        """A loop over all places of an array; one for each axis if the coordinates are needed."""
        size = math.prod(shape)
        with self.block() as flat, self.loop(0, size, size - 1) as i:
            body(Position(shape, flat=i))
        if len(shape) > 1 and any(True for _ in divisions(flat)):
            with self.block() as flat:
                self._nest(shape, (), 1, lambda _, coords: body(Position(shape, coords)))
        self.body += flat

    def store_at_once(self, v: Var, place: MemRef) -> None:
        """A sum that is stored."""
        if sums_up(self.producer[v], self.target):
            with statements_of(self.producer[v]):
                self._stored_reduction(v, place)

    def _stored_reduction(self, v: Var, place: MemRef) -> None:
        """All elements of the result advance together, so that contiguous memory is read."""
        eqn, rule = self.producer[v], lowering_of(self.producer[v], self.target)
        assert isinstance(rule, Reduction)
        dtype = sum_dtype(v.aval.dtype)
        sums = place
        if not isinstance(place.memory, PrivateArray) or place.memory.dtype != dtype:
            accumulators = PrivateArray(self.fresh("acc"), dtype, v.aval.size)
            self.body.append(Allocate(accumulators, None))
            sums = MemRef(accumulators)
        with self.loop(0, v.aval.size, v.aval.size - 1) as i:
            self.write(sums, i, Const(rule.identity(dtype), dtype))
        *outer, last = sizes = rule.sizes(eqn)

        def add_terms(coords: tuple[Index, ...], lasts: Sequence[Index]) -> None:
            def add(position: Position) -> None:
                ctx = LoweringRuleContext(self, eqn, v, position)
                so_far: Scalar = self.read(sums, position.flat)
                for k in lasts:
                    term = self.term(ctx, eqn, rule, Position(sizes, (*coords, k)))
                    so_far = self.let(rule.op, (so_far, self.converted(term, dtype)), dtype)
                self.write(sums, position.flat, so_far)

            self.each(v.aval.shape, add)

        def along_last(_: Index, coords: Sequence[Index]) -> None:
            blocks = last // UNROLLED
            with self.loop(0, blocks, blocks - 1) as block:
                add_terms(tuple(coords), [block * UNROLLED + i for i in range(UNROLLED)])
            if last % UNROLLED:
                add_terms(tuple(coords), [index(k) for k in range(blocks * UNROLLED, last)])

        self._nest(outer, (), 1, along_last)
        if sums is not place:
            with self.loop(0, v.aval.size, v.aval.size - 1) as i:
                self.write(place, i, self.converted(self.read(sums, i), v.aval.dtype))
        self.places[v] = place


class SequentialNest(LoopNest):
    """The nest of a loop or branch for one work-item, as it is fast."""

    def prepared(self, loop: Loop, consts: list) -> tuple[Loop, list]:
        """Transposes weights that would be read by columns."""
        b = self.b
        if b.target.accumulators == 1:
            return loop, consts
        loop, transposed = with_transposed_weights(loop, b.names)
        for number, v in transposed:
            number += len(loop.condition_consts)
            source, place = consts[number], b.private(v)
            assert isinstance(source, MemRef)
            rows, columns = v.aval.shape
            with b.loop(0, rows, rows - 1) as i, b.loop(0, columns, columns - 1) as j:
                b.write(place, i * columns + j, b.read(source, j * rows + i))
            consts[number] = place
        return loop, consts


def sequential_nest(
    found: Loop | Branches, before: Sequence[JaxprEqn], names: dict[Var, str], target: Target
) -> LoopKernel:
    """The nest of a loop or a branch."""
    with statements_of(found.eqn):
        builder = FastBodyBuilder(dict(names), work_item_target(target))
        nest = SequentialNest(found, before, names, builder)
        nest.write()
    return nest.made()
