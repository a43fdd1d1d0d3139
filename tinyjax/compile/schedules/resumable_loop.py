"""Resumable loops, which all kernels of loops are: the iterations of one launch, and how the next goes on.

After this file you can say what a launch of a loop's kernel reads and leaves behind: its carry stays in
the buffers of the results between launches, and `iterations` says from where to where (see
kernel_ir.Iterations). Builds on loop_bodies and loop_cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tinyjax.compile.codegen.codegen import Target
from tinyjax.compile.fusion.cost_model import MAX_BUFFERS
from tinyjax.compile.kernel.indices import index
from tinyjax.compile.kernel.kernel_ir import (
    Allocate,
    Buffer,
    Const,
    If,
    Iterations,
    Kernel,
    PrivateArray,
    Scalar,
    Statement,
    Store,
)
from tinyjax.compile.kernel.memref import MemRef
from tinyjax.compile.passes.loops import Branches, Loop
from tinyjax.compile.schedules.loop_bodies import BOOL, INT32, BodyBuilder
from tinyjax.compile.schedules.loop_cost import LAUNCH_WORK
from tinyjax.compile.schedules.private_arrays import NoKernel, Source, work_item_target
from tinyjax.core.jaxpr import Atom, DropVar, JaxprEqn, Literal, Var


@dataclass(frozen=True)
class LoopKernel:
    """A loop's kernel. Its buffers are one for each of `inputs`, then one for each of the equation's
    outvars, then scratch."""

    kernel: Kernel
    inputs: list[Var]


class ResumableLoop:
    """What both schedules share: buffers, where a loop starts and stops, and how it is launched again."""

    def __init__(
        self, found: Loop | Branches, before: Sequence[JaxprEqn], names: dict[Var, str],
        target: Target,
    ):  # fmt: skip
        """`before` are equations that the kernel computes before the loop."""
        self.eqn = eqn = found.equation()
        self.before = before
        self.computed = {v: e for e in before for v in e.outvars}
        self.target = target
        self.inner_target = work_item_target(target)
        read = dict.fromkeys(v for e in (eqn, *before) for v in e.invars)
        self.inputs = {
            v: Buffer(f"{names[v]}_in", v.aval.dtype, v.aval.size, "in")
            for v in read
            if isinstance(v, Var) and v not in self.computed
        }
        if len(self.inputs) + len(eqn.outvars) > MAX_BUFFERS:
            raise NoKernel(f"it reads and makes more than {MAX_BUFFERS} arrays")
        self.scratch: list[Buffer] = []
        self.length = found.length if isinstance(found, Loop) else 1
        self.carry_count = len(found.carry) if isinstance(found, Loop) else 0
        self.outputs = [
            Buffer(f"out{number}", v.aval.dtype, v.aval.size, self._role(number, v))
            for number, v in enumerate(eqn.outvars)
        ]
        self.iterations: Iterations | None = None

    def share_out(self, operations: int, has_inner: bool = False) -> None:
        """Decides whether there are several launches; `operations` are those of an iteration."""
        if self.length is None or has_inner or self.length * operations > LAUNCH_WORK:
            self.iterations = Iterations(self.length, operations, has_inner)
            self.scratch.append(Buffer("iterations", INT32, 4, "scratch"))

    def iteration_range(self, b: BodyBuilder) -> tuple[Scalar, Scalar]:
        """The first iteration of this launch, and where it stops."""
        buffer = self.scratch[0]
        start, stop = (b.load(name, buffer, index(n)) for n, name in enumerate(("start", "stop")))
        return start, stop

    def begin(
        self,
        b: BodyBuilder,
        initial: list[Statement],
        carry: Sequence[MemRef],
        kept: Sequence[MemRef],
    ) -> None:
        """Before the first iteration: `initial` sets the carry. In all launches but the first, it is where
        the launch before left it."""
        if self.iterations is None:
            b.body += initial
            return
        self.start, self.stop = self.iteration_range(b)
        again = b.let("gt", (self.start, Const(INT32.type(0), INT32)), BOOL)
        with b.block() as body:
            for place, source in zip(carry, kept):
                b.copy(source, place, self._size(place))
        b.body.append(If(again, body, initial))

    def run_iterations(
        self, b: BodyBuilder, loop: Loop, sources: Sequence[Source], carry: Sequence[MemRef],
        ys: Sequence[MemRef],
    ) -> Scalar | None:  # fmt: skip
        """The iterations of this launch, from and to `carry`. Gives whether a while_loop has to go on, if
        that is known."""
        consts = len(loop.condition_consts) + len(loop.consts)
        sources = [
            b.read(source, index(0))
            if n < consts and v.aval.size == 1 and isinstance(source, MemRef)
            else source
            for n, (source, v) in enumerate(zip(sources, loop.variables))
        ]
        if self.iterations is None:
            b.for_loop(loop, sources, [*carry, *ys], 0, self.length or 0)
            return None
        start, stop = self.start, self.stop
        if self.length is not None:
            first, last = (
                b.clamped_index(start, self.length),
                b.clamped_index(stop, self.length + 1),
            )
            b.for_loop(loop, sources, [*carry, *ys], first, last)
            return None
        counter = PrivateArray(b.fresh("count"), INT32, 1)
        count = MemRef(counter)
        b.body.append(Allocate(counter, None))
        b.write(count, index(0), start)
        b.while_loop(loop, sources, carry, count, stop)
        more = b.let("ge", (b.read(count, index(0)), stop), BOOL)
        unfinished = Store(self.scratch[0], index(2), Const(INT32.type(1), INT32))
        b.body.append(If(more, [unfinished]))
        return more

    def store_carry(
        self, b: BodyBuilder, carry: Sequence[MemRef], outs: Sequence[MemRef], more: Scalar | None
    ) -> None:
        """What nothing reads is stored only if another launch goes on from there."""
        always, to_go_on = [], []
        for v, place, out in zip(self.eqn.outvars, carry, outs):
            if not isinstance(v, DropVar):
                always.append((place, out))
            elif self.iterations is not None:
                to_go_on.append((place, out))
        for place, out in always:
            b.copy(place, out, self._size(place))
        with b.block() as body:
            for place, out in to_go_on:
                b.copy(place, out, self._size(place))
        if body:
            b.body += body if more is None else [If(more, body)]

    def _role(self, number: int, v: Var) -> str:
        """That of a result's buffer: a carry that nothing reads is only for the next launch."""
        return "kept" if number < self.carry_count and isinstance(v, DropVar) else "out"

    def _size(self, place: MemRef) -> int:
        return place.memory.size if isinstance(place.memory, PrivateArray) else 1

    def source(self, v: Atom) -> Source:
        """Where an operand is that is not computed in the kernel."""
        if isinstance(v, Literal):
            return Const(np.asarray(v.val, v.aval.dtype)[()], v.aval.dtype)
        return MemRef(self.inputs[v])

    def know_operands(self, b: BodyBuilder) -> None:
        """What is computed before the loop can be asked for."""
        b.producer.update(self.computed)
        b.places.update((v, MemRef(buffer)) for v, buffer in self.inputs.items())

    def finished(self, b: BodyBuilder, items: int, form: str) -> LoopKernel:
        buffers = [*self.inputs.values(), *self.outputs, *self.scratch]
        name = self.eqn.primitive.name
        return LoopKernel(
            Kernel(name, buffers, items, b.body, self.iterations, form), list(self.inputs)
        )
