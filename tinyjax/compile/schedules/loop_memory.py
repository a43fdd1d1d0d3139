"""The memory of a loop's kernel: its buffers, where its operands are, and what is computed before it.

After this file you can say which buffers the kernel of a loop has, and when it is launched more than once.
elementwise_loop and sequential_loop share this. Builds on loop_bodies, loop_cost and resumable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tinyjax.compile.codegen.codegen import Target
from tinyjax.compile.fusion.cost_model import MAX_BUFFERS
from tinyjax.compile.kernel.indices import index
from tinyjax.compile.kernel.kernel_ir import Buffer, Const, Kernel
from tinyjax.compile.kernel.memref import MemRef
from tinyjax.compile.passes.loops import Branches, Loop
from tinyjax.compile.schedules.loop_bodies import BodyBuilder
from tinyjax.compile.schedules.loop_cost import LAUNCH_WORK
from tinyjax.compile.schedules.private_arrays import NoKernel, Source, work_item_target
from tinyjax.compile.schedules.resumable import Resumable
from tinyjax.compile.schedules.schedule import scheduled
from tinyjax.core.jaxpr import Atom, DropVar, JaxprEqn, Literal, Var


@dataclass(frozen=True)
class LoopKernel:
    """A loop's kernel. Its buffers are one for each of `inputs`, then one for each of the equation's
    outvars, then scratch."""

    kernel: Kernel
    inputs: list[Var]


class LoopMemory:
    """What both schedules share."""

    def __init__(
        self, found: Loop | Branches, before: Sequence[JaxprEqn], names: dict[Var, str],
        target: Target,
    ):  # fmt: skip
        """`before` are equations that the kernel computes before the loop."""
        self.eqn = eqn = found.equation()
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
        self.length = found.length if isinstance(found, Loop) else 1
        self.carry_count = len(found.carry) if isinstance(found, Loop) else 0
        self.outputs = [
            Buffer(f"out{number}", v.aval.dtype, v.aval.size, self._role(number, v))
            for number, v in enumerate(eqn.outvars)
        ]
        self.launch_work = 0  # the operations of an iteration, if there are several launches

    def share_out(self, operations: int, has_inner: bool = False) -> None:
        """Decides whether there are several launches; `operations` are those of an iteration, which may have
        loops of unknown length inside."""
        if self.length is None or has_inner or self.length * operations > LAUNCH_WORK:
            self.launch_work = operations

    def run_loop(
        self, b: BodyBuilder, loop: Loop, sources: Sequence[Source], carry: Sequence[MemRef],
        ys: Sequence[MemRef],
    ) -> None:  # fmt: skip
        """All iterations, from and to `carry`. Constants of one element are read once."""
        consts = len(loop.condition_consts) + len(loop.consts)
        sources = [
            b.read(source, index(0))
            if n < consts and v.aval.size == 1 and isinstance(source, MemRef)
            else source
            for n, (source, v) in enumerate(zip(sources, loop.variables))
        ]
        if loop.length is None:
            b.while_loop(loop, sources, carry)
        else:
            b.for_loop(loop, sources, [*carry, *ys], self.launch_work > 0)

    def is_stored(self, v: Var) -> bool:
        """Whether a carry is stored at the end: that which nothing reads only for the next launch."""
        return not isinstance(v, DropVar) or self.launch_work > 0

    def _role(self, number: int, v: Var) -> str:
        """That of a result's buffer: a carry that nothing reads is only for the next launch."""
        return "kept" if number < self.carry_count and isinstance(v, DropVar) else "out"

    def source(self, v: Atom) -> Source:
        """Where an operand is that is not computed in the kernel."""
        if isinstance(v, Literal):
            return Const(np.asarray(v.val, v.aval.dtype)[()], v.aval.dtype)
        return MemRef(self.inputs[v])

    def know_operands(self, b: BodyBuilder) -> None:
        """What is computed before the loop can be asked for."""
        b.producer.update(self.computed)
        b.places.update((v, MemRef(buffer)) for v, buffer in self.inputs.items())

    def kernel(self, b: BodyBuilder, items: int, form: str) -> Kernel:
        """The kernel of all that was written: launched again and again, if it may run long."""
        buffers = [*self.inputs.values(), *self.outputs]
        kernel = Kernel(self.eqn.primitive.name, buffers, items, b.body, None, form)
        if not self.launch_work:
            return kernel
        why = "it may run long, and a kernel that runs can't be stopped"
        return scheduled(kernel, [Resumable(b.main_axis, self.launch_work, why=why)])
