"""From a plan to steps: the kernels are built, and every group becomes something that can run.

After this file you can say which program a kernel is built in, and which step a group became. Builds on
lowered, schedule, loops, small_work and compilation_cache.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tinyjax.jaxpr import Var
from tinyjax.opencl import compilation_cache
from tinyjax.opencl.codegen import program_text
from tinyjax.opencl.groups import HostGroup, KernelGroup
from tinyjax.opencl.kernel_ir import Kernel
from tinyjax.opencl.loops import RoundsStep, loop_step
from tinyjax.opencl.lowered import Lowered
from tinyjax.opencl.matmul_step import MatmulStep
from tinyjax.opencl.memory_plan import MemoryPlan
from tinyjax.opencl.plan import Plan
from tinyjax.opencl.runtime import SharedMemoryQueue
from tinyjax.opencl.schedule import EmptyStep, HostStep, KernelStep, Output, Routine
from tinyjax.opencl.small_work import inline_groups


class StepMaker:
    """Makes the routines of a program, whose kernels are built at once: those that run inline as one
    OpenCL program, all others as another."""

    def __init__(self, lowered: Lowered, queue: Any):
        self.name = lowered.name
        self.queue = queue
        self.local_size = lowered.target.local_size if lowered.target else 1
        self.inline: dict[int, set[int]] = {}  # by the plan's id: numbers of groups
        self.kernels: dict[bool, dict[str, Kernel]] = {False: {}, True: {}}
        for plan in lowered.plan.all_plans():
            cores = lowered.device.cl_device.max_compute_units if queue.runs_inline else 0
            groups = inline_groups(plan, cores) if queue.runs_inline else set()
            self.inline[id(plan)] = groups
            for number, kernel in plan.kernels.items():
                self.kernels[number in groups][kernel.name] = kernel
        self.built: dict[tuple[str, bool], Any] = {}
        self.new_entries: dict[Path, Any] = {}
        for inline, kernels in self.kernels.items():
            if kernels:
                text = program_text(list(kernels.values()))
                for name, kernel in zip(kernels, self._build(lowered.name, text, inline)):
                    self.built[name, inline] = kernel

    def _build(self, name: str, text: str, inline: bool) -> list[Any]:
        """The kernels of a program, which may be in the compilation cache."""
        names = list(self.kernels[inline])
        if not compilation_cache.is_enabled():
            return self.queue.build(text, names, inline)
        path = compilation_cache.entry_path(name, text, *self.queue.build_target(inline))
        binary = compilation_cache.read_entry(path)
        built = self.queue.build(text, names, inline, binary)
        if binary is None:
            self.new_entries[path] = built[0].program
        return built

    def routine(self, plan: Plan, memory: MemoryPlan, of_program: bool = False) -> Routine:
        """The steps of a plan. The results of the program's own are new memory for each call."""
        routine = Routine(plan, self.queue, stored_bytes(plan), self.name)
        routine.overwrites = memory.overwritten(plan)
        outvars = {v for v in plan.closed.jaxpr.outvars if isinstance(v, Var)}
        for number, group in enumerate(plan.groups):
            outputs = [
                Output(
                    routine.slot(v),
                    v.aval.shape,
                    v.aval.dtype,
                    of_program and v in outvars,
                    routine.slot(memory.takes_over[v]) if v in memory.takes_over else None,
                )
                for v in group.outputs
            ]
            dies = [routine.slot(v) for v in memory.given_back.get(number, ())]
            routine.steps.append(self._step(plan, memory, number, routine, outputs, dies))
        return routine

    def _step(
        self,
        plan: Plan,
        memory: MemoryPlan,
        number: int,
        routine: Routine,
        outputs: list[Output],
        dies: list[int],
    ) -> Any:
        group = plan.groups[number]
        if number in plan.kernels:
            kernel = plan.kernels[number]
            written_over = [i for i, _ in memory.in_place.get(number, ())]
            inputs = [routine.slot(v) for i, v in enumerate(group.inputs) if i not in written_over]
            buffers = [buffer for buffer in kernel.buffers if buffer.role == "scratch"]
            scratch = [self.queue.writable(np.zeros(b.size, b.dtype)) for b in buffers]
            inline = number in self.inline[id(plan)]
            step = KernelStep(
                self.built[kernel.name, inline],
                kernel.items,
                self.local_size,
                inline,
                inputs,
                outputs,
                scratch,
                dies,
            )
            if kernel.rounds is None:
                return step
            control = [buffer.name for buffer in buffers].index("rounds")
            return RoundsStep(step, kernel.rounds, control)
        if isinstance(group, KernelGroup):
            return EmptyStep(outputs, dies)
        operands = [routine.slot(v) for v in group.eqn.invars]
        if (
            isinstance(group, HostGroup)
            and group.by_blas
            and isinstance(self.queue, SharedMemoryQueue)
        ):
            return MatmulStep(group.eqn, operands, outputs, dies)
        if isinstance(group, HostGroup):
            return HostStep(group.eqn, operands, [output.slot for output in outputs], dies)
        bodies = [
            self.routine(body, memory.bodies[number][label])
            for label, body in plan.bodies[number].items()
        ]
        return loop_step(
            group.eqn.primitive.name, group.eqn.params, bodies, operands, outputs, dies
        )


# ---- memory ----


def stored_variables(plan: Plan) -> set[Var]:
    """The arrays that are in memory during a run of the plan."""
    jaxpr = plan.closed.jaxpr
    return {*jaxpr.constvars, *jaxpr.invars, *(v for group in plan.groups for v in group.outputs)}


def stored_bytes(plan: Plan) -> int:
    return sum(v.aval.size * v.aval.dtype.itemsize for v in stored_variables(plan))
