"""From a plan to steps: the kernels are built, and every group becomes something that can run.

Kernels that run inline are one OpenCL program, all others another. Each group becomes a step.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tinyjax.compile.codegen.program import program_text
from tinyjax.compile.fusion.cost_record import bytes_of_all
from tinyjax.compile.fusion.groups import HostGroup, KernelGroup
from tinyjax.compile.kernel.kernel_ir import STOP
from tinyjax.compile.lowered import LoweredProgram
from tinyjax.compile.passes.loops import loop_of
from tinyjax.compile.plan import Launch, Plan
from tinyjax.core.jaxpr import Var
from tinyjax.runtime import compilation_cache
from tinyjax.runtime.loops import BranchStep, LoopStep, StoppableStep
from tinyjax.runtime.matmul_step import MatmulStep
from tinyjax.runtime.memory import MIN_BYTES, aligned_zeros
from tinyjax.runtime.numpy_queue import NumpyQueue
from tinyjax.runtime.queues import SharedMemoryQueue
from tinyjax.runtime.step_program import HostStep, KernelStep, Output, StepProgram

# Kind of a host group -> (builder, eqn, operands, outputs) -> its step on a device that works in
# the host's memory.
host_steps: dict[str, Callable[..., Any]] = {"matmul": lambda builder, *step: MatmulStep(*step)}


class StepProgramBuilder:
    """Makes the step programs of a program, whose kernels are built at once: those that run inline as one
    OpenCL program, all others as another."""

    def __init__(self, lowered: LoweredProgram, queue: Any):
        self.name = lowered.name
        self.queue = queue
        self.local_size = lowered.target.local_size if lowered.target else 1
        self.kernels: dict[bool, dict[str, Launch]] = {False: {}, True: {}}
        for plan in lowered.plan.all_plans():
            for launch in plan.launches:
                self.kernels[launch.inline][launch.kernel.name] = launch
        self.built: dict[tuple[str, bool], Any] = {}
        self.new_entries: dict[Path, Any] = {}  # programs, by the files to keep them in
        for inline, launches in self.kernels.items():
            if launches:
                for name, kernel in zip(launches, self._build(list(launches.values()), inline)):
                    self.built[name, inline] = kernel

    def _build(self, launches: Sequence[Launch], inline: bool) -> list[Any]:
        """The kernels of a program, which may be in the compilation cache."""
        if isinstance(self.queue, NumpyQueue):  # of a device of another kind
            return self.queue.load([launch.kernels[0] for launch in launches])
        text, names = text_of(launches), [launch.kernel.name for launch in launches]
        if not compilation_cache.is_enabled():
            return self.queue.build(text, names, inline)
        path = compilation_cache.entry_path(self.name, text, *self.queue.build_target(inline))
        binary = compilation_cache.read_entry(path)
        built = self.queue.build(text, names, inline, binary)
        if binary is None:
            self.new_entries[path] = built[0].program
        return built

    def warm_up(self, launch: Launch, built: Any) -> None:
        """Makes the driver finish compiling a kernel: it runs on zeros. Its loops, which then may never end,
        are stopped at once."""
        kernel, local_size = launch.kernel, launch.local_size(self.local_size)
        filled = [(b.size * b.dtype.itemsize, -1 if b.name == STOP else 0) for b in kernel.buffers]
        self.queue.warm_up(built, kernel.items, local_size, filled, launch.inline)

    def write_entries(self, began: float) -> None:
        """Writes the programs that the compilation cache lacks, whose build began at this time."""
        for path, program in self.new_entries.items():
            compilation_cache.write_entry(path, program, time.perf_counter() - began)
        self.new_entries.clear()

    def build(self, plan: Plan, of_program: bool = False) -> StepProgram:
        """The steps of a plan. The results of the program's own are new memory for each call."""
        nbytes = bytes_of_all([v for group in plan.groups for v in group.outputs])
        step_program = StepProgram(plan, self.queue, nbytes, self.name)
        memory, outvars = plan.memory, {v for v in plan.closed.jaxpr.outvars if isinstance(v, Var)}

        def output(v: Var) -> Output:
            before = memory.reuses_buffer_of.get(v)
            taken = None if before is None else step_program.slot(before)
            is_result = of_program and v in outvars
            return Output(step_program.slot(v), v.aval.shape, v.aval.dtype, is_result, taken)

        launches = {launch.numbers[0]: launch for launch in plan.launches}
        arenas: dict[int, int] = {}  # the slots of shared work memory, by the run's first group
        jaxpr = plan.closed.jaxpr
        stored: set[Var] = {*jaxpr.constvars, *jaxpr.invars}
        number = 0
        while number < len(plan.groups):
            launch = launches.get(number)
            numbers = launch.numbers if launch else [number]
            made = launch.outputs if launch else plan.groups[number].outputs
            stored.update(made)
            dying = [v for n in numbers for v in memory.freed_after.get(n, ()) if v in stored]
            outputs, last_uses = list(map(output, made)), list(map(step_program.slot, dying))
            if launch:
                step = self._launch_step(launch, step_program, outputs, last_uses, arenas)
                step_program.add(step, numbers, last_uses)
            elif isinstance(plan.groups[number], KernelGroup):
                step_program.add_empty(outputs)
            else:
                step = self._step(plan, number, step_program, outputs)
                step_program.add(step, numbers, last_uses)
            number = numbers[-1] + 1
        return step_program

    def _launch_step(
        self, launch: Launch, step_program: StepProgram, outputs: list[Output], last_uses: list[int],
        arenas: dict[int, int],
    ) -> KernelStep | StoppableStep:  # fmt: skip
        """A launch's scratch memory is zero at first and persists: launches from other threads wait for its
        end. So does the work memory of a single launch, if it, or the launch, is small; else it is one of
        the outputs of a run's first launch, freed after the last.
        """
        made, work = [output.slot for output in outputs], []
        run = launch.run or launch.numbers
        is_first, is_last = launch.numbers[0] == run[0], launch.numbers[-1] == run[-1]
        for b in launch.work:
            is_small = launch.inline or b.size * b.dtype.itemsize < MIN_BYTES
            if is_small and is_first and is_last:
                work.append(step_program.hold(self.queue.allocate((b.size,), b.dtype)))
                continue
            if is_first:
                arenas[run[0]] = step_program.hold(None)
                outputs.append(Output(arenas[run[0]], (b.size,), b.dtype, False))
            work.append(arenas[run[0]])
            if is_last:
                last_uses.append(work[-1])
        zeros = [self.queue.writable(aligned_zeros(b.size, b.dtype)) for b in launch.scratch]
        scratch = list(map(step_program.hold, zeros))
        arguments = [*map(step_program.slot, launch.inputs), *made, *work, *scratch]
        built, items = self.built[launch.kernel.name, launch.inline], launch.kernel.items
        local_size = launch.local_size(self.local_size)
        step = KernelStep(built, items, local_size, launch.inline, arguments, outputs)
        for slot, buffer in zip(scratch, launch.scratch):
            if buffer.name == STOP:
                return StoppableStep(step, slot, launch.operations, self._by_threads(launch, step))
        return step

    def _by_threads(self, launch: Launch, step: KernelStep) -> Callable[[], KernelStep]:
        """Builds the step that does the same as an inline launch's on the device's threads: few programs
        need it."""

        def make() -> KernelStep:
            if (other := launch.by_threads) is None:
                return step
            sizes = [[b.size for b in each.kernel.buffers] for each in (launch, other)]
            assert sizes[0] == sizes[1], "both run on the same memory"
            began = time.perf_counter()
            (kernel,) = self._build([other], inline=False)
            if self.new_entries:
                self.warm_up(other, kernel)
                self.write_entries(began)
            items, local_size = other.kernel.items, other.local_size(self.local_size)
            return replace(step, kernel=kernel, items=items, local_size=local_size, inline=False)

        return make

    def _step(
        self, plan: Plan, number: int, step_program: StepProgram, outputs: list[Output]
    ) -> Any:
        """The step of the host, a loop or a branch."""
        group: Any = plan.groups[number]
        operands = [step_program.slot(v) for v in group.eqn.invars]
        if isinstance(group, HostGroup) and isinstance(self.queue, SharedMemoryQueue):
            if group.kind in host_steps:
                return host_steps[group.kind](self, group.eqn, operands, outputs)
        if isinstance(group, HostGroup):
            return HostStep(group.eqn, operands, [output.slot for output in outputs])
        bodies = {label: self.build(body) for label, body in plan.bodies[number].items()}
        loop = loop_of(group.eqn)
        if loop is None:
            return BranchStep(list(bodies.values()), operands, outputs)
        return LoopStep(loop, bodies, operands, outputs)


def text_of(launches: Sequence[Launch]) -> str:
    """The program of these launches."""
    return program_text([launch.kernel for launch in launches])
