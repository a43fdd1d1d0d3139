"""What the schedules of loops share: how many arrays a kernel may have, and whether one launch is enough.

After this file you can say which carry of a loop stays in memory between launches, and why. elementwise_loop
and sequential_loop build on it. Builds on naive_loop, loop_cost and resumable.
"""

from __future__ import annotations

from collections.abc import Sequence

from tinyjax.compile.codegen.codegen import Target
from tinyjax.compile.fusion.cost_model import MAX_BUFFERS
from tinyjax.compile.kernel.kernel_ir import Kernel
from tinyjax.compile.kernel.loop_bodies import BodyBuilder
from tinyjax.compile.kernel.naive_loop import LoopNest
from tinyjax.compile.kernel.private_arrays import NoKernel
from tinyjax.compile.passes.loops import Branches, Loop
from tinyjax.compile.schedules.loop_cost import LAUNCH_WORK
from tinyjax.compile.schedules.resumable import Resumable
from tinyjax.compile.schedules.schedule import scheduled
from tinyjax.core.jaxpr import DropVar, JaxprEqn, Var


class ScheduledLoop(LoopNest):
    """The nest of a loop that is launched again and again, if it may run long."""

    launch_work = 0  # the operations of an iteration, if there are several launches

    def __init__(
        self, found: Loop | Branches, before: Sequence[JaxprEqn], names: dict[Var, str],
        b: BodyBuilder, target: Target,
    ):  # fmt: skip
        self.target = target
        self.length = found.length if isinstance(found, Loop) else 1
        self.carry_count = len(found.carry) if isinstance(found, Loop) else 0
        super().__init__(found, before, names, b)
        if len(self.inputs) + len(self.outputs) > MAX_BUFFERS:
            raise NoKernel(f"it reads and makes more than {MAX_BUFFERS} arrays")

    def share_out(self, operations: int, has_inner: bool = False) -> None:
        """Decides whether there are several launches; `operations` are those of an iteration, which may have
        loops of unknown length inside."""
        if self.length is None or has_inner or self.length * operations > LAUNCH_WORK:
            self.launch_work = operations

    def role(self, number: int, v: Var) -> str:
        """That of a result's buffer: a carry that nothing reads is only for the next launch."""
        return "kept" if number < self.carry_count and isinstance(v, DropVar) else "out"

    def is_stored(self, v: Var) -> bool:
        """Whether a carry is stored at the end: that which nothing reads only for the next launch."""
        return not isinstance(v, DropVar) or self.has_main_loop()

    def has_main_loop(self) -> bool:
        return self.launch_work > 0

    def kernel(self, items: int, form: str) -> Kernel:
        """The kernel of all that was written."""
        buffers = [*self.inputs.values(), *self.outputs]
        kernel = Kernel(self.eqn.primitive.name, buffers, items, self.b.body, None, form)
        if not self.launch_work:
            return kernel
        why = "it may run long, and a kernel that runs can't be stopped"
        return scheduled(kernel, [Resumable(self.b.main_axis, self.launch_work, why=why)])
