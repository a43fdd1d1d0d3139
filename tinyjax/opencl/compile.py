"""From a jaxpr to something that runs: all stages in order, the schedule, and the call.

After this file you can follow `jit(f)(x)` from f's jaxpr to the result. `lower_jaxpr` needs no device
to be opened: it makes the text of every stage, and the schedule, a list of steps (launch a kernel, or
run a primitive on the host). `Lowered.compile` builds the kernels; calling the Executable walks the
schedule. A call does not wait: reading a result does. Builds on all files of this folder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tinyjax import core
from tinyjax.array import ArrayImpl, ShapedArray
from tinyjax.devices import Device, warn_without_opencl
from tinyjax.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from tinyjax.opencl.codegen import CPU, GPU, Target, program_text
from tinyjax.opencl.fuse import Group, HostGroup, KernelGroup, fuse, groups_text
from tinyjax.opencl.kernel_ir import Kernel
from tinyjax.opencl.lower import lower_group, variable_names
from tinyjax.opencl.runtime import Memory, OutOfDeviceMemory, named_error, queue_of
from tinyjax.opencl.simplify import simplify

# ---- lowering ----


@dataclass
class Lowered:
    """A jaxpr on its way to a device: what each stage made of it."""

    name: str
    closed: ClosedJaxpr  # as simplified
    out_avals: list[ShapedArray]
    device: Device
    groups: list[Group]
    kernels: dict[int, Kernel]  # by the number of their group
    names: dict[Var, str]

    def as_text(self, stage: str | None = None) -> str:
        """One stage as text: 'jaxpr', 'groups', 'kernel', 'opencl' or 'schedule'; by default the
        OpenCL C and the schedule.

        Raises ValueError for another stage."""
        stages = {
            "jaxpr": lambda: str(self.closed),
            "groups": lambda: groups_text(self.groups, self.names),
            "kernel": lambda: "\n".join(map(str, self.kernels.values())),
            "opencl": lambda: program_text(list(self.kernels.values())),
            "schedule": lambda: schedule_text(self),
            None: lambda: (self.as_text("opencl") + "\n" + self.as_text("schedule")).lstrip(),
        }
        if stage not in stages:
            known = ", ".join(repr(s) for s in stages if s)
            raise ValueError(f"no stage {stage!r}: the stages are {known}")
        return stages[stage]()

    def compile(self) -> Executable:
        """Builds the kernels."""
        return Executable(self)


def lower_jaxpr(closed: ClosedJaxpr, device: Device, name: str = "jitted") -> Lowered:
    """Takes a jaxpr through all stages for `device`."""
    simplified = simplify(closed)
    names = variable_names(simplified.jaxpr)
    if device.cl_device is None:
        warn_without_opencl()
        groups: list[Group] = [HostGroup(e, "there is no OpenCL device") for e in simplified.eqns]
    else:
        groups = fuse(simplified.jaxpr, target_of(device))
    kernels = {
        number: lower_group(group, _kernel_name(number, group), names, target_of(device))
        for number, group in enumerate(groups)
        if isinstance(group, KernelGroup) and group.outputs[0].aval.size > 0
    }
    return Lowered(name, simplified, closed.out_avals, device, groups, kernels, names)


def target_of(device: Device) -> Target:
    return CPU if device.platform == "cpu" else GPU


def _kernel_name(number: int, group: KernelGroup) -> str:
    """Says what is inside; begins so that it is no word of OpenCL C."""
    primitives = dict.fromkeys(eqn.primitive.name for eqn in group.eqns)
    return "_".join([f"k{number}", *primitives])[:60]


def compile_jaxpr(closed: ClosedJaxpr, device: Device, name: str = "jitted") -> Executable:
    """The executable of a jaxpr on `device`.

    Raises OutOfDeviceMemory if its arrays can't fit, KernelBuildError if the driver fails."""
    return lower_jaxpr(closed, device, name).compile()


# ---- the schedule ----


def schedule_text(lowered: Lowered) -> str:
    """The steps of a call: which kernel or host step makes which arrays from which."""
    names = lowered.names
    lines = [f"schedule of {lowered.name} on {lowered.device!r} ({lowered.device.device_kind})"]
    for number, group in enumerate(lowered.groups):
        made = ", ".join(f"{names[v]}:{v.aval.str_short(short_dtypes=True)}" for v in group.outputs)
        read = ", ".join(names[v] for v in group.inputs)
        if isinstance(group, HostGroup):
            step = f"host    {group.eqn.primitive}({read}) -> {made}  # {group.reason}"
        elif number in lowered.kernels:
            kernel = lowered.kernels[number]
            step = f"launch  {kernel.name}({read}) -> {made}  # work-items: {kernel.items}"
        else:
            step = f"nothing to compute -> {made}"
        lines.append(f"  {number}: {step}")
    outvars = lowered.closed.jaxpr.outvars
    outs = [str(v.val) if isinstance(v, Literal) else names[v] for v in outvars]
    return "\n".join([*lines, f"  results: {', '.join(outs)}"])


@dataclass
class KernelStep:
    """Launches a kernel on the memory of `slots`: its inputs, then its outputs, then its scratch."""

    kernel: Any
    items: int
    local_size: int
    inputs: list[int]
    outputs: list[tuple[int, tuple[int, ...], np.dtype, bool]]  # slot, shape, dtype, is a result
    scratch: list[Memory]
    dies: list[int]  # scratch slots that nothing reads after this step

    def run(self, queue: Any, slots: list[Memory]) -> Any:
        for slot, shape, dtype, is_result in self.outputs:
            slots[slot] = (queue.allocate if is_result else queue.scratch)(shape, dtype)
        memories = [slots[slot] for slot in self.inputs]
        memories += [slots[output[0]] for output in self.outputs]
        return queue.launch(self.kernel, self.items, self.local_size, memories + self.scratch)


@dataclass
class HostStep:
    """Runs a primitive's impl rule on the host; waits for the device if it reads results of it."""

    eqn: JaxprEqn
    inputs: list[int | np.ndarray]  # slots, and the values of literals
    outputs: list[int]
    dies: list[int]

    def run(self, queue: Any, slots: list[Memory]) -> None:
        args = [slots[i].read() if isinstance(i, int) else i for i in self.inputs]
        primitive, params = self.eqn.primitive, self.eqn.params
        if primitive.takes_arrays:
            arrays = [ArrayImpl(a, v.aval) for a, v in zip(args, self.eqn.invars)]
            out = core.impl_rules[primitive](*arrays, **params)
        else:
            with np.errstate(all="ignore"):
                out = core.impl_rules[primitive](*args, **params)
        for slot, value in zip(self.outputs, out if primitive.multiple_results else [out]):
            slots[slot] = queue.upload(np.asarray(value))


class EmptyStep:
    """Makes outputs without elements."""

    def __init__(self, outputs: list[tuple[int, tuple[int, ...], np.dtype, bool]]):
        self.outputs = outputs
        self.dies: list[int] = []

    def run(self, queue: Any, slots: list[Memory]) -> None:
        for slot, shape, dtype, _ in self.outputs:
            slots[slot] = queue.upload(np.empty(shape, dtype))


# ---- the executable ----


class Executable:
    """A compiled jaxpr: `executable(args)` gives the results for a list of arrays of its avals."""

    def __init__(self, lowered: Lowered):
        self.lowered = lowered
        self.queue = queue_of(lowered.device)
        jaxpr = lowered.closed.jaxpr
        self._bytes = check_memory(lowered)
        variables = [*jaxpr.constvars, *jaxpr.invars, *(v for e in jaxpr.eqns for v in e.outvars)]
        self._slot = {v: slot for slot, v in enumerate(variables)}
        self._steps = self._make_steps()
        self._template: list[Any] = [None] * len(variables)
        for v, value in zip(jaxpr.constvars, lowered.closed.consts):
            host = np.array(core.to_numpy(value, v.aval))  # a copy: NumPy arrays can be changed
            self._template[self._slot[v]] = self.queue.upload(host)
        self._results = [self._result(v, aval) for v, aval in zip(jaxpr.outvars, lowered.out_avals)]
        self._first_arg = len(jaxpr.constvars)

    def as_text(self, stage: str | None = None) -> str:
        """As Lowered.as_text."""
        return self.lowered.as_text(stage)

    def __call__(self, args: Sequence[ArrayImpl]) -> list[ArrayImpl]:
        """Starts the computation and gives its results, which wait when they are read."""
        queue, slots = self.queue, list(self._template)
        try:
            with queue.lock:
                for slot, arg in enumerate(args, self._first_arg):
                    slots[slot] = memory_of(arg, queue)
                try:
                    self._run_steps(slots)
                except BaseException:
                    queue.finish()  # kernels may be at work in the memory that is given up here
                    raise
        except queue.driver_error as error:
            raise named_error(error, f"running {self.lowered.name}") from error
        device = self.lowered.device
        return [
            ArrayImpl(None, aval, slots[where], device) if isinstance(where, int) else where
            for where, aval in self._results
        ]

    def _run_steps(self, slots: list[Any]) -> None:
        queue, event = self.queue, None
        for step in self._steps:
            event = step.run(queue, slots) or event
            for slot in step.dies:
                queue.recycle(slots[slot])
        if event is not None:
            queue.keep(event, (self, slots), self._bytes)  # self has the scratch memory

    def _result(self, v: Var | Literal, aval: ShapedArray) -> tuple[Any, ShapedArray]:
        """Where a result is found after the steps: its slot, or the array itself for a literal."""
        if isinstance(v, Literal):
            return ArrayImpl(core.to_numpy(v.val, v.aval), v.aval), aval
        return self._slot[v], aval

    def _make_steps(self) -> list[Any]:
        lowered = self.lowered
        kernels = list(lowered.kernels.values())
        text = program_text(kernels)
        built = dict(zip(lowered.kernels, self.queue.build(text, [k.name for k in kernels])))
        results = {v for v in lowered.closed.jaxpr.outvars if isinstance(v, Var)}
        last_reader = {v: n for n, group in enumerate(lowered.groups) for v in group.inputs}
        kernel_made = {v for g in lowered.groups if isinstance(g, KernelGroup) for v in g.outputs}
        steps: list[Any] = []
        for number, group in enumerate(lowered.groups):
            dies = [
                self._slot[v]
                for v in dict.fromkeys(group.inputs)
                if last_reader[v] == number and v in kernel_made - results and v.aval.size
            ]
            if isinstance(group, HostGroup):
                steps.append(self._host_step(group, dies))
                continue
            outputs = [
                (self._slot[v], v.aval.shape, v.aval.dtype, v in results) for v in group.outputs
            ]
            if number not in built:
                steps.append(EmptyStep(outputs))
                continue
            kernel, inputs = lowered.kernels[number], [self._slot[v] for v in group.inputs]
            scratch = [
                self.queue.zeros(buffer.size, buffer.dtype)
                for buffer in kernel.buffers
                if buffer.role == "scratch"
            ]
            local_size = target_of(lowered.device).local_size
            steps.append(
                KernelStep(built[number], kernel.items, local_size, inputs, outputs, scratch, dies)
            )
        return steps

    def _host_step(self, group: HostGroup, dies: list[int]) -> HostStep:
        inputs = [
            np.asarray(v.val, v.aval.dtype) if isinstance(v, Literal) else self._slot[v]
            for v in group.eqn.invars
        ]
        return HostStep(group.eqn, inputs, [self._slot[v] for v in group.outputs], dies)


def memory_of(array: ArrayImpl, queue: Any) -> Memory:
    """The array's memory on the queue's device; it is brought there once, and stays."""
    memory: Any = array.buffer
    if memory is None or memory.queue is not queue:
        memory = array.buffer = queue.upload(array._value)
    return memory


def check_memory(lowered: Lowered) -> int:
    """The bytes that a call needs. Raises OutOfDeviceMemory, before anything is allocated, for what
    can't fit."""
    device = lowered.device.cl_device
    if device is None:
        return 0
    total = 0
    for v in _stored(lowered.closed.jaxpr, lowered.groups):
        size = v.aval.size * v.aval.dtype.itemsize
        total += size
        if size > device.max_mem_alloc_size:
            raise OutOfDeviceMemory(
                f"RESOURCE_EXHAUSTED: an array {v.aval.str_short(short_dtypes=True)} takes {_gib(size)}, "
                f"{lowered.device.device_kind} allows {_gib(device.max_mem_alloc_size)} for one array"
            )
    if total > device.global_mem_size:
        raise OutOfDeviceMemory(
            f"RESOURCE_EXHAUSTED: the arrays of {lowered.name} take {_gib(total)}, "
            f"{lowered.device.device_kind} has {_gib(device.global_mem_size)}"
        )
    return total


def _stored(jaxpr: Jaxpr, groups: Sequence[Group]) -> set[Var]:
    return {*jaxpr.constvars, *jaxpr.invars, *(v for group in groups for v in group.outputs)}


def _gib(size: int) -> str:
    return f"{size / 2**30:.3g} GiB"
