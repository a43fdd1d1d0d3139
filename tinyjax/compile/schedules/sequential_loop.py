"""Sequential loops: one work-item runs all iterations, in private memory, if the arrays are small.

After this file you can say when a whole recurrent network is one kernel: where launching the kernels of
each iteration would take longer than a single work-item takes for the work. Builds on scheduled_loop,
loop_invariants and layout_transform.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tinyjax.compile.codegen.codegen import Target
from tinyjax.compile.fusion.cost_record import jaxpr_cost
from tinyjax.compile.kernel.indices import index
from tinyjax.compile.kernel.kernel_ir import (
    Allocate,
    If,
    Let,
    PrivateArray,
    Statement,
    Value,
    inner_bodies,
    item_index,
)
from tinyjax.compile.kernel.loop_bodies import BOOL
from tinyjax.compile.kernel.memref import MemRef
from tinyjax.compile.kernel.naive_loop import LoopKernel
from tinyjax.compile.kernel.private_arrays import NoKernel, Source
from tinyjax.compile.passes.loops import Branches, Loop, has_unknown_length
from tinyjax.compile.schedules.advance_together import FastBodyBuilder, work_item_target
from tinyjax.compile.schedules.group_builder import padded
from tinyjax.compile.schedules.layout_transform import with_transposed_weights
from tinyjax.compile.schedules.loop_cost import (
    ITERATION_WORK,
    MAX_ITERATION_WORK,
    MAX_PRIVATE,
)
from tinyjax.compile.schedules.loop_invariants import cheap_equations
from tinyjax.compile.schedules.scheduled_loop import ScheduledLoop
from tinyjax.core.jaxpr import JaxprEqn, Var


class SequentialLoop(ScheduledLoop):
    """One work-item does it all; carries are private arrays."""

    def __init__(
        self, found: Loop | Branches, producer: Mapping[Var, JaxprEqn], names: dict[Var, str],
        target: Target,
    ):  # fmt: skip
        before: list[JaxprEqn] = []
        if isinstance(found, Loop):
            before = _equations_of_carry(found, producer, target)
        builder = FastBodyBuilder(dict(names), work_item_target(target))
        super().__init__(found, before, names, builder, target)

    def made(self) -> LoopKernel:
        bodies = self.found.bodies.values()
        operations = sum(jaxpr_cost(body.jaxpr, self.b.target).work for body in bodies)
        most = MAX_ITERATION_WORK[self.target.name]
        if operations > most:
            raise NoKernel(
                f"an iteration has {operations} operations, too many for one work-item (> {most})"
            )
        if isinstance(self.found, Loop):
            has_inner = any(has_unknown_length(e) for body in bodies for e in body.eqns)
            self.share_out(operations + ITERATION_WORK, has_inner)
        self.write()
        private = sum(array.size for array in _private(self.b.body))
        if private > MAX_PRIVATE:
            raise NoKernel(
                f"an iteration has {private} elements, too many for one work-item (> {MAX_PRIVATE})"
            )
        items = padded(1, self.target)
        kernel = self.kernel(items, f"sequential: an iteration has {private} elements")
        if items > 1:  # the others of its group have nothing to do
            is_first = Value("is_first", BOOL)
            test = Let(is_first, "eq", (item_index(items), index(0)))
            kernel = replace(kernel, body=[test, If(is_first, kernel.body)])
        return LoopKernel(kernel, list(self.inputs))

    def prepared(self, loop: Loop, sources: list[Source]) -> tuple[Loop, list[Source]]:
        """Transposes weights that would be read by columns."""
        b = self.b
        if self.target.accumulators == 1:
            return loop, sources
        loop, transposed = with_transposed_weights(loop, b.names)
        for number, v in transposed:
            number += len(loop.condition_consts)
            source, place = sources[number], b.private(v)
            assert isinstance(source, MemRef)
            rows, columns = v.aval.shape
            with b.loop(0, rows, rows - 1) as i, b.loop(0, columns, columns - 1) as j:
                b.write(place, i * columns + j, b.read(source, j * rows + i))
            sources[number] = place
        return loop, sources


def _equations_of_carry(
    loop: Loop, producer: Mapping[Var, JaxprEqn], target: Target
) -> list[JaxprEqn]:
    """The cheap equations of the initial carry, as far as nothing else of the loop reads that."""
    stored = {*loop.condition_consts, *loop.consts, *loop.xs}
    kept = {v: e for v, e in producer.items() if v not in stored}
    return cheap_equations(loop.carry, kept, target)


def _private(body: Sequence[Statement]) -> Iterator[PrivateArray]:
    """All private arrays of a kernel."""
    for statement in body:
        if isinstance(statement, Allocate):
            yield statement.array
        for inner in inner_bodies(statement):
            yield from _private(inner)
