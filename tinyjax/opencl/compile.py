"""From a jaxpr to something that runs: all stages in order, and the call.

After this file you can follow `jit(f)(x)` from f's jaxpr to the result. `lower_jaxpr` needs no device
to be opened: it makes the text of every stage, and the plan. `Lowered.compile` builds the kernels of
the plan and of all loops' bodies, as one program, and makes their steps; calling the Executable walks
through those. A call does not wait: reading a result does. Builds on all files of this folder.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tinyjax.array import ArrayImpl
from tinyjax.compile_log import compiling_logger, log_level, logged_time
from tinyjax.devices import Device, warn_without_opencl
from tinyjax.dtypes import key_dtype
from tinyjax.errors import JaxRuntimeError
from tinyjax.jaxpr import ClosedJaxpr, Var
from tinyjax.opencl import compilation_cache
from tinyjax.opencl.codegen import CPU, GPU, Target, program_text
from tinyjax.opencl.cost import cost_lines, plan_cost
from tinyjax.opencl.device_errors import OutOfDeviceMemory, named_error
from tinyjax.opencl.explain import explain_lines, mapping
from tinyjax.opencl.groups import HostGroup, KernelGroup
from tinyjax.opencl.kernel_ir import Kernel
from tinyjax.opencl.key_words import UINT32, is_key, with_key_words
from tinyjax.opencl.loops import RoundsStep, loop_step
from tinyjax.opencl.matmul_step import MatmulStep
from tinyjax.opencl.memory import LAUNCHED, Memory
from tinyjax.opencl.memory_plan import (
    MemoryPlan,
    memory_lines,
    plan_memory,
    usable_donations,
    with_memory,
)
from tinyjax.opencl.plan import Plan, groups_lines, make_plan, schedule_lines
from tinyjax.opencl.runtime import SharedMemoryQueue, queue_of
from tinyjax.opencl.schedule import EmptyStep, HostStep, KernelStep, Output, Routine
from tinyjax.opencl.simplify import simplify
from tinyjax.opencl.small_work import inline_groups

# ---- lowering ----


@dataclass
class Lowered:
    """A jaxpr on its way to a device: what each stage made of it."""

    name: str
    closed: ClosedJaxpr
    device: Device
    plan: Plan
    memory: MemoryPlan
    donated: tuple[bool, ...]  # which arguments can't be used after a call

    def as_text(self, stage: str | None = None) -> str:
        """One of STAGES as text; by default the OpenCL C and the schedule.

        Raises ValueError for another stage."""
        if stage is None:
            return (self.as_text("opencl") + "\n" + self.as_text("schedule")).lstrip()
        return _stage(stage).text(self)

    def result(self, stage: str) -> Any:
        """What a stage made, itself: see STAGES.

        Raises ValueError for another stage."""
        return _stage(stage).result(self)

    def compile(self) -> Executable:
        """Builds the kernels, or takes them from the compilation cache."""
        began = time.perf_counter()
        executable = Executable(self)
        if executable.new_entries:
            executable.warm_up()  # what is kept is all of it
            seconds = time.perf_counter() - began
            for path, program in executable.new_entries.items():
                compilation_cache.write_entry(path, program, seconds)
        return executable


@dataclass(frozen=True)
class Stage:
    """What it made of a program, itself and as text."""

    result: Callable[[Lowered], Any]
    text: Callable[[Lowered], str]


STAGES = {
    "jaxpr": Stage(lambda it: it.closed, lambda it: str(it.closed)),
    "simplified": Stage(lambda it: it.plan.closed, lambda it: str(it.plan.closed)),
    "groups": Stage(lambda it: it.plan.groups, lambda it: "\n".join(groups_lines(it.plan))),
    "kernel": Stage(
        lambda it: it.plan.all_kernels(), lambda it: "\n".join(map(str, it.plan.all_kernels()))
    ),
    "opencl": Stage(
        lambda it: program_text(it.plan.all_kernels()),
        lambda it: program_text(it.plan.all_kernels()),
    ),
    "explain": Stage(
        lambda it: mapping(it.plan), lambda it: "\n".join(explain_lines(it.plan)).lstrip("\n")
    ),
    "memory": Stage(lambda it: it.memory, lambda it: "\n".join(memory_lines(it.plan, it.memory))),
    "cost": Stage(lambda it: plan_cost(it.plan), lambda it: "\n".join(cost_lines(it.plan))),
    "schedule": Stage(lambda it: it.plan, lambda it: schedule_text(it)),
}


def _stage(name: str) -> Stage:
    if name not in STAGES:
        raise ValueError(f"unknown dialect: {name!r}; there are {', '.join(map(repr, STAGES))}")
    return STAGES[name]


def lower_jaxpr(
    closed: ClosedJaxpr, device: Device, name: str = "jitted", donated: Sequence[bool] = ()
) -> Lowered:
    """Takes a jaxpr through all stages for `device`. `donated` says which arguments' memory is free for
    results; warns of those that are of no use for it."""
    donated = usable_donations(closed, donated) if any(donated) else ()
    simplified = simplify(with_key_words(closed))
    if device.cl_device is None:
        warn_without_opencl()
    target = None if device.cl_device is None else target_of(device)
    plan = make_plan(simplified, target)
    memory = plan_memory(plan, donated)
    return Lowered(name, closed, device, with_memory(plan, memory), memory, tuple(donated))


def target_of(device: Device) -> Target:
    return CPU if device.platform == "cpu" else GPU


def schedule_text(lowered: Lowered) -> str:
    """The steps of a call, with those of loops' bodies indented."""
    head = f"schedule of {lowered.name} on {lowered.device!r} ({lowered.device.device_kind})"
    return "\n".join([head, *("  " + line for line in schedule_lines(lowered.plan))])


def compile_jaxpr(
    closed: ClosedJaxpr, device: Device, name: str = "jitted", donated: Sequence[bool] = ()
) -> Executable:
    """The executable of a jaxpr on `device`.

    Raises OutOfDeviceMemory if its arrays can't fit, KernelBuildError if the driver fails."""
    types = ", ".join(aval.str_short() for aval in closed.in_avals)
    compiling_logger.log(log_level(), "Compiling jit(%s) for arguments (%s)", name, types)
    with logged_time(f"lowering jit({name}) to OpenCL C"):
        lowered = lower_jaxpr(closed, device, name, donated)
    with logged_time(f"building jit({name})"):
        return lowered.compile()


# ---- from the plan to steps ----


class _StepMaker:
    """Makes the routines of a program, whose kernels are built at once: those that run inline as one
    OpenCL program, all others as another."""

    def __init__(self, lowered: Lowered, queue: Any):
        self.name = lowered.name
        self.queue = queue
        self.local_size = target_of(lowered.device).local_size
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


# ---- the executable ----


class Executable:
    """A compiled jaxpr: `executable(args)` gives the results for a list of arrays of its avals."""

    def __init__(self, lowered: Lowered):
        self.lowered = lowered
        self.queue = queue_of(lowered.device)
        check_memory(lowered)
        maker = _StepMaker(lowered, self.queue)
        self._maker = maker
        self.new_entries = maker.new_entries  # programs by the files to keep them in
        self.routine = maker.routine(lowered.plan, lowered.memory, of_program=True)
        self.donated = [i for i, is_donated in enumerate(lowered.donated) if is_donated]
        self.out_avals = lowered.closed.out_avals
        in_avals = [v.aval for v in lowered.closed.jaxpr.invars]
        self.key_args = [i for i, aval in enumerate(in_avals) if is_key(aval)]
        self.key_results = [i for i, aval in enumerate(self.out_avals) if is_key(aval)]
        # Results that a call makes, and those of them that no other result is the same memory as.
        routine = self.routine
        self.fresh = [i for i, is_fresh in enumerate(routine.is_fresh) if is_fresh]
        owned = [i for i in self.fresh if routine.results.count(routine.results[i]) == 1]
        self.is_owned = [i in owned for i in range(len(self.out_avals))]

    def warm_up(self, until: Callable[[], bool] = lambda: False) -> None:
        """Has the driver finish its kernels now, which it else does at the first launch of each;
        no further one when `until()`."""
        local_size, kernels = self._maker.local_size, self._maker.kernels
        for (name, inline), built in self._maker.built.items():
            if until():
                return
            kernel = kernels[inline][name]
            sizes = [(buffer.size, buffer.dtype) for buffer in kernel.buffers]
            self.queue.warm_up(built, kernel.items, local_size, sizes, inline)

    def as_text(self, stage: str | None = None) -> str:
        """As Lowered.as_text."""
        return self.lowered.as_text(stage)

    def __call__(self, args: Sequence[ArrayImpl]) -> list[ArrayImpl]:
        """Starts the computation and gives its results, which wait when they are read."""
        queue = self.queue
        try:
            memories = [memory_of(arg, queue) for arg in args]
            for number in self.donated:
                memories[number] = donated_memory(number, args, memories)
            for number in self.key_args:
                memories[number] = word_memory(memories[number])
            try:
                results = self.routine.run(memories)
            except BaseException:
                queue.finish()  # kernels may be at work in the memory that is given up here
                raise
        except queue.driver_error as error:
            raise named_error(error, f"running {self.lowered.name}") from error
        for number in self.donated:
            args[number].delete()
        for number in self.fresh:
            results[number].event = queue.last_event
        for memory, is_owned in zip(results, self.is_owned):
            memory.has_one_owner = is_owned
        for number in self.key_results:
            results[number] = key_memory(results[number])
        device = self.lowered.device
        return [
            ArrayImpl(None, aval, memory, device) for aval, memory in zip(self.out_avals, results)
        ]


def memory_of(array: ArrayImpl, queue: Any) -> Memory:
    """The array's memory on the queue's device; it is brought there once, and stays."""
    memory: Any = array.buffer
    if memory is None or memory.queue is not queue:
        memory = array.buffer = queue.upload(array._value)
    return memory


def donated_memory(number: int, args: Sequence[ArrayImpl], memories: list[Memory]) -> Memory:
    """Memory that steps may write to, with what argument `number` holds: its own, unless somebody else
    may see that, who has read the array or shares it.

    Raises JaxRuntimeError if the same array is another argument too."""
    array, memory = args[number], memories[number]
    check_donated(number, args)
    if memory.has_one_owner and array.is_unread:
        memory.event = LAUNCHED
        return memory
    return memory.queue.copy(memory) if memory.nbytes else memory


def check_donated(number: int, args: Sequence[ArrayImpl]) -> None:
    """Raises JaxRuntimeError if argument `number`, which is donated, is another argument too."""
    array = args[number]
    if any(other is array for at, other in enumerate(args) if at != number):
        raise JaxRuntimeError(
            f"INVALID_ARGUMENT: argument {number} is donated, and the same array is another argument as "
            "well: f(donate(a), a). Give a copy, such as jnp.copy(a)"
        )


# ---- keys at the border ----


def word_memory(keys: Memory) -> Memory:
    """The same memory as words."""
    host = None if keys.host is None else keys.host["fry"]
    return Memory(keys.queue, keys.cl, host, (*keys.shape, 2), UINT32, keys.event)


def key_memory(words: Memory) -> Memory:
    """The same memory as keys."""
    shape, host = words.shape[:-1], words.host
    if host is not None:  # in order already, unless NumPy computed it
        host = np.ascontiguousarray(host).view(key_dtype).reshape(shape)
    return Memory(words.queue, words.cl, host, shape, key_dtype, words.event)


# ---- memory ----


def check_memory(lowered: Lowered) -> None:
    """Raises OutOfDeviceMemory, before anything is allocated, for what can't fit."""
    device, kind = lowered.device.cl_device, lowered.device.device_kind
    if device is None:
        return
    total = stored_bytes(lowered.plan)
    for plan in lowered.plan.all_plans():
        # What a body takes is memory that is counted already; what it makes is not.
        made = {v for group in plan.groups for v in group.outputs}
        if plan is not lowered.plan:
            total += sum(v.aval.size * v.aval.dtype.itemsize for v in made)
        for v in made.union(plan.closed.jaxpr.invars):
            size = v.aval.size * v.aval.dtype.itemsize
            if size > device.max_mem_alloc_size:
                raise OutOfDeviceMemory(
                    f"RESOURCE_EXHAUSTED: an array {v.aval.str_short(short_dtypes=True)} takes "
                    f"{_gib(size)}, {kind} allows {_gib(device.max_mem_alloc_size)} for one array"
                )
    if total > device.global_mem_size:
        raise OutOfDeviceMemory(
            f"RESOURCE_EXHAUSTED: the arrays of {lowered.name} take {_gib(total)}, {kind} has "
            f"{_gib(device.global_mem_size)}"
        )


def stored_variables(plan: Plan) -> set[Var]:
    """The arrays that are in memory during a run of the plan."""
    jaxpr = plan.closed.jaxpr
    return {*jaxpr.constvars, *jaxpr.invars, *(v for group in plan.groups for v in group.outputs)}


def stored_bytes(plan: Plan) -> int:
    return sum(v.aval.size * v.aval.dtype.itemsize for v in stored_variables(plan))


def _gib(size: int) -> str:
    return f"{size / 2**30:.3g} GiB"
