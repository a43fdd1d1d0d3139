"""Kernels that run one after the other in the calling thread, as one kernel: a call costs one launch.

After this file you can say what a stretch of small work costs beside its work. A launch takes some five
microseconds, which is as much as a small kernel; so the kernels of a stretch become functions in C, and
one kernel calls them in turn, each for all its work-items. Arrays that only live within the stretch are
memory of the step, for one launch ends before the next begins. Builds on codegen, memory_plan and
inline_policy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tinyjax.devices import Device
from tinyjax.fast.inline_policy import inline_stretches
from tinyjax.jaxpr import Var
from tinyjax.opencl.codegen import index_type, kernel_text, parameter_text
from tinyjax.opencl.kernel_ir import Buffer, Kernel
from tinyjax.opencl.memory_plan import MemoryPlan
from tinyjax.opencl.plan import Plan


@dataclass(frozen=True)
class OneLaunch:
    """What a stretch of groups is as a kernel. Its arguments are arrays that it reads, then its
    `temporaries`, then arrays that it makes for others, then the kernels' scratch memory."""

    name: str
    numbers: Sequence[int]  # of its groups
    kernels: Sequence[Kernel]
    inputs: Sequence[Var]
    temporaries: Sequence[Var]
    outputs: Sequence[Var]
    scratch: Sequence[Buffer]
    buffers: Sequence[Buffer]
    calls: Sequence[Sequence[Buffer]]  # for each kernel, those of the buffers that it works on
    items = 1

    @property
    def text(self) -> str:
        """The kernel that calls the others, which are functions: see function_text."""
        parameters = ",\n    ".join(
            parameter_text(buffer, is_restricted=False) for buffer in self.buffers
        )
        lines = [f"__kernel void {self.name}(\n    {parameters}) {{"]
        for kernel, buffers in zip(self.kernels, self.calls):
            arguments = ", ".join(["item", *(buffer.name for buffer in buffers)])
            loop = f"for ({index_type(kernel)} item = 0; item < {kernel.items}; ++item)"
            lines.append(f"  {loop} {kernel.name}_item({arguments});")
        return "\n".join([*lines, "}"])


# Of a launch: a driver takes longer for a kernel of very many calls than for several.
MAX_KERNELS = 64
# Devices promise 1024 bytes for a kernel's parameters.
MAX_PARAMETERS = 1024 // 8


def launches_of(plan: Plan, stretch: Sequence[int]) -> list[list[int]]:
    """The groups of an inline stretch that are launched together; a group that is alone, or launched
    several times, is none of these."""
    launches: list[list[int]] = [[]]
    parameters: set[Any] = set()  # of the last one
    for number in stretch:
        group, kernel = plan.groups[number], plan.kernels[number]
        if kernel.rounds is not None:
            launches.append([])
            continue
        scratch = [(number, buffer) for buffer in kernel.buffers if buffer.role == "scratch"]
        own = {*group.inputs, *group.outputs, *scratch}
        parameters = parameters | own if launches[-1] else own
        if len(launches[-1]) == MAX_KERNELS or len(parameters) > MAX_PARAMETERS:
            launches.append([])
            parameters = own
        launches[-1].append(number)
    return [launch for launch in launches if len(launch) > 1]


def launches_lines(plan: Plan, device: Device) -> Iterator[str]:
    """A line for each launch of several kernels, of the plan and of the bodies within."""
    if device.inline_device is None:
        return
    for of in plan.all_plans():
        for stretch in inline_stretches(of, device.cl_device.max_compute_units):
            for numbers in launches_of(of, stretch):
                names = ", ".join(of.kernels[number].name for number in numbers)
                yield f"in one launch, run by the calling thread: {names}"


def one_launch(name: str, plan: Plan, memory: MemoryPlan, numbers: Sequence[int]) -> OneLaunch:
    """The kernel that runs those of the groups `numbers`, in this order."""
    kernels = [plan.kernels[number] for number in numbers]
    made = [v for number in numbers for v in plan.groups[number].outputs]
    temporaries = temporaries_of(plan, memory, numbers)
    arrays: dict[Var, Buffer] = {}
    scratch: list[Buffer] = []
    calls: list[list[Buffer]] = []
    for number, kernel in zip(numbers, kernels):
        group = plan.groups[number]
        over = [i for i, _ in memory.in_place.get(number, ())]
        variables = [v for i, v in enumerate(group.inputs) if i not in over] + list(group.outputs)
        for v, buffer in zip(variables, kernel.buffers):
            if v not in arrays:  # numbered, as all results that nothing reads are called "_"
                arrays[v] = replace(buffer, name=f"{plan.names[v]}_{len(arrays)}")
        own = [
            replace(buffer, name=f"{buffer.name}_of_{number}")
            for buffer in kernel.buffers[len(variables) :]
        ]
        scratch += own
        calls.append([*(arrays[v] for v in variables), *own])
    inputs = [v for v in arrays if v not in made]
    outputs = [v for v in made if v not in temporaries]
    ordered = [arrays[v] for v in [*inputs, *temporaries, *outputs]]
    return OneLaunch(
        name, numbers, kernels, inputs, temporaries, outputs, scratch, [*ordered, *scratch], calls
    )


def temporaries_of(plan: Plan, memory: MemoryPlan, numbers: Sequence[int]) -> list[Var]:
    """The arrays whose memory is of use to the groups `numbers` alone."""
    owner: dict[Var, Var] = {}  # of what these groups make, in whose memory it is
    for number in numbers:
        for v in plan.groups[number].outputs:
            before = memory.takes_over.get(v, v)
            owner[v] = owner.get(before, before)
    free = [v for number in numbers for v in memory.given_back.get(number, ()) if v in owner]
    owned = {owner[v] for v in free} & owner.keys()
    return [v for v in owner if owner[v] in owned]


def function_text(kernel: Kernel) -> str:
    """The kernel as a function that does the work of one work-item. It stays a function: equal layers of a
    network would else be compiled again for each, and all of them as one long function."""
    head, parameters = f"__kernel void {kernel.name}(", f"const {index_type(kernel)} item"
    function = f"static __attribute__((noinline)) void {kernel.name}_item(\n    {parameters},"
    text = kernel_text(kernel).replace(head, function, 1)
    text = text.replace(f"  {parameters} = get_global_id(0);\n", "", 1)
    return text.replace("get_global_size(0)", str(kernel.items))
