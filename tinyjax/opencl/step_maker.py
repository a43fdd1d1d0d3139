"""From a plan to steps: the kernels are built, and every group becomes something that can run.

After this file you can say which program a kernel is built in, and which step a group became. Builds on
lowered, schedule, loops, fast.inline_policy, fast.launch_fusion and compilation_cache.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tinyjax.devices import Device
from tinyjax.fast.inline_policy import inline_stretches
from tinyjax.fast.launch_fusion import OneLaunch, function_text, launches_of, one_launch
from tinyjax.jaxpr import Var
from tinyjax.opencl import compilation_cache
from tinyjax.opencl.codegen import kernel_text, program_text
from tinyjax.opencl.groups import HostGroup, KernelGroup
from tinyjax.opencl.kernel_ir import Buffer, Kernel
from tinyjax.opencl.loops import RoundsStep, loop_step
from tinyjax.opencl.lowered import Lowered
from tinyjax.opencl.matmul_step import MatmulStep
from tinyjax.opencl.memory import Memory
from tinyjax.opencl.memory_plan import MemoryPlan, bytes_of
from tinyjax.opencl.plan import Plan
from tinyjax.opencl.runtime import SharedMemoryQueue
from tinyjax.opencl.schedule import EmptyStep, HostStep, KernelStep, Output, Routine


class StepMaker:
    """Makes the routines of a program, whose kernels are built at once: those that run inline as one
    OpenCL program, all others as another."""

    def __init__(self, lowered: Lowered, queue: Any):
        self.name = lowered.name
        self.queue = queue
        self.local_size = lowered.target.local_size if lowered.target else 1
        self.inline: dict[int, set[int]] = {}  # by the plan's id: numbers of groups
        self.stretches: dict[int, list[OneLaunch]] = {}  # by the plan's id
        self.kernels: dict[bool, dict[str, Kernel | OneLaunch]] = {False: {}, True: {}}
        for plan, memory in plans_and_memory(lowered.plan, lowered.memory):
            self._share_out(plan, memory, lowered.device)
        self.built: dict[tuple[str, bool], Any] = {}
        self.new_entries: dict[Path, Any] = {}
        for inline, kernels in self.kernels.items():
            if kernels:
                text = text_of(list(kernels.values()))
                for name, kernel in zip(kernels, self._build(lowered.name, text, inline)):
                    self.built[name, inline] = kernel

    def _share_out(self, plan: Plan, memory: MemoryPlan, device: Device) -> None:
        """Says in which program, and with which others, each kernel of a plan is built."""
        stretches: list[list[int]] = []
        if self.queue.runs_inline:
            stretches = inline_stretches(plan, device.cl_device.max_compute_units)
        self.inline[id(plan)] = {number for numbers in stretches for number in numbers}
        self.stretches[id(plan)] = []
        for numbers in (run for stretch in stretches for run in launches_of(plan, stretch)):
            name = f"stretch{len(self.kernels[True])}_{plan.kernels[numbers[0]].name}"
            stretch = one_launch(name, plan, memory, numbers)
            self.stretches[id(plan)].append(stretch)
            self.kernels[True][name] = stretch
        in_stretches = {n for stretch in self.stretches[id(plan)] for n in stretch.numbers}
        for number, kernel in plan.kernels.items():
            if number not in in_stretches:
                self.kernels[number in self.inline[id(plan)]][kernel.name] = kernel

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
        routine = Routine(plan, self.queue, made_bytes(plan), self.name)
        routine.overwrites = memory.overwritten(plan)
        outvars = {v for v in plan.closed.jaxpr.outvars if isinstance(v, Var)}

        def output(v: Var) -> Output:
            taken = routine.slot(memory.takes_over[v]) if v in memory.takes_over else None
            is_result = of_program and v in outvars
            return Output(routine.slot(v), v.aval.shape, v.aval.dtype, is_result, taken)

        stretches = {stretch.numbers[0]: stretch for stretch in self.stretches[id(plan)]}
        number = 0
        while number < len(plan.groups):
            numbers = stretches[number].numbers if number in stretches else [number]
            dying = [v for n in numbers for v in memory.given_back.get(n, ())]
            if number in stretches:
                stretch = stretches[number]
                outputs = list(map(output, stretch.outputs))
                dies = [routine.slot(v) for v in dying if v not in stretch.temporaries]
                routine.add(self._stretch_step(stretch, memory, routine, outputs, dies), numbers)
            else:
                outputs = list(map(output, plan.groups[number].outputs))
                dies = list(map(routine.slot, dying))
                routine.add(self._step(plan, memory, number, routine, outputs, dies), numbers)
            number = numbers[-1] + 1
        return routine

    def _stretch_step(
        self,
        stretch: OneLaunch,
        memory: MemoryPlan,
        routine: Routine,
        outputs: list[Output],
        dies: list[int],
    ) -> KernelStep:
        """Its temporaries are memory that stays: launches of other threads wait for its end."""
        held: dict[Var, Memory] = {}
        for v in stretch.temporaries:
            if v in memory.takes_over:
                held[v] = held[memory.takes_over[v]].viewed(v.aval.shape, v.aval.dtype)
            else:
                held[v] = self.queue.allocate(v.aval.shape, v.aval.dtype)
        arguments = [
            *map(routine.slot, stretch.inputs),
            *map(routine.hold, held.values()),
            *(output.slot for output in outputs),
            *self._scratch(stretch.scratch, routine),
        ]
        built = self.built[stretch.name, True]
        return KernelStep(built, 1, self.local_size, True, arguments, outputs, dies)

    def _scratch(self, buffers: Sequence[Buffer], routine: Routine) -> list[int]:
        """Slots with memory for a kernel's work: zeros at first."""
        return [routine.hold(self.queue.writable(np.zeros(b.size, b.dtype))) for b in buffers]

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
            scratch = self._scratch(buffers, routine)
            arguments = [*inputs, *(output.slot for output in outputs), *scratch]
            inline = number in self.inline[id(plan)]
            built = self.built[kernel.name, inline]
            step = KernelStep(
                built, kernel.items, self.local_size, inline, arguments, outputs, dies
            )
            if kernel.rounds is None:
                return step
            control = [buffer.name for buffer in buffers].index("rounds")
            return RoundsStep(step, kernel.rounds, scratch[control])
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


# ---- programs ----


def text_of(kernels: Sequence[Kernel | OneLaunch]) -> str:
    """The program of kernels, and of stretches of others."""
    stretches = [kernel for kernel in kernels if isinstance(kernel, OneLaunch)]
    single = [kernel for kernel in kernels if not isinstance(kernel, OneLaunch)]
    called = {kernel.name: kernel for stretch in stretches for kernel in stretch.kernels}
    texts = [*map(function_text, called.values()), *(stretch.text for stretch in stretches)]
    return program_text([*called.values(), *single], [*texts, *map(kernel_text, single)])


# ---- memory ----


def plans_and_memory(plan: Plan, memory: MemoryPlan) -> Iterator[tuple[Plan, MemoryPlan]]:
    """The plan and those of the bodies within, with what is known of their memory."""
    yield plan, memory
    for number, bodies in plan.bodies.items():
        for label, body in bodies.items():
            yield from plans_and_memory(body, memory.bodies[number][label])


def stored_variables(plan: Plan) -> set[Var]:
    """The arrays that are in memory during a run of the plan."""
    jaxpr = plan.closed.jaxpr
    return {*jaxpr.constvars, *jaxpr.invars, *(v for group in plan.groups for v in group.outputs)}


def stored_bytes(plan: Plan) -> int:
    return sum(bytes_of(v.aval) for v in stored_variables(plan))


def made_bytes(plan: Plan) -> int:
    return sum(bytes_of(v.aval) for group in plan.groups for v in group.outputs)
