"""Kernels that run one after the other in the calling thread, as one kernel: a call costs one launch.

It buys, on top of inline_policy.py: a training step of an MLP (64-64-64-10, batch 16) takes 53 us for 126, an
attention of 32 by 16 takes 13 for 24.

A launch takes some five microseconds, which is as much as a small kernel; so the kernels of a stretch become
functions in C, and one kernel calls them in turn, each for all its work-items. Arrays that only live within
the stretch are memory of the step, for one launch ends before the next begins.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from tinyjax.compile.codegen.codegen import FusedKernel
from tinyjax.compile.codegen.program import program_text
from tinyjax.compile.kernel.kernel_ir import Buffer
from tinyjax.compile.launches import launch_of, launches_of
from tinyjax.compile.memory_plan import MemoryPlan
from tinyjax.compile.plan import Launch, Plan
from tinyjax.core.jaxpr import Var
from tinyjax.core.shortcuts import shortcut_for
from tinyjax.fast.inline_policy import inline_stretches
from tinyjax.runtime.devices import Device

# ---- which kernels ----

# Of a launch: a driver takes longer for a kernel of very many calls than for several.
MAX_KERNELS = 64
# Devices promise 1024 bytes for a kernel's parameters.
MAX_PARAMETERS = 1024 // 8


@shortcut_for(launches_of)
def inline_and_fused(
    plain: Callable, plan: Plan, memory: MemoryPlan, device: Device
) -> list[Launch]:
    """The launches of a plan: small kernels inline, several kernels at once."""
    if device.inline_device is None:
        return plain(plan, memory, device)
    stretches = inline_stretches(plan, device.cl_device.max_compute_units)
    launches = {number: launch_of(plan, memory, number) for number in plan.kernels}
    for stretch in stretches:
        for number in stretch:
            launches[number].inline = True
        for numbers in fused(plan, stretch):
            launches[numbers[0]] = fused_launch(plan, memory, numbers)
            for number in numbers[1:]:
                del launches[number]
    return list(launches.values())


def fused(plan: Plan, stretch: Sequence[int]) -> list[list[int]]:
    """The groups of an inline stretch that are launched together; a group that is alone, or launched
    several times or works in groups, is none of these."""
    launches: list[list[int]] = [[]]
    parameters: set[Any] = set()  # of the last one
    for number in stretch:
        group, kernel = plan.groups[number], plan.kernels[number]
        if kernel.iterations is not None or kernel.local_size > 1:
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


# ---- several kernels as one ----


def fused_launch(plan: Plan, memory: MemoryPlan, numbers: Sequence[int]) -> Launch:
    """The launch that runs those of the groups `numbers`, in this order."""
    single = [launch_of(plan, memory, number) for number in numbers]
    made = [v for launch in single for v in launch.outputs]
    temporaries = temporaries_of(plan, memory, numbers)
    arrays: dict[Var, Buffer] = {}
    scratch: list[Buffer] = []
    calls: list[list[Buffer]] = []
    for number, launch in zip(numbers, single):
        variables = [*launch.inputs, *launch.outputs]
        for v, buffer in zip(variables, launch.kernel.buffers):
            if v not in arrays:  # numbered, as all results that nothing reads are called "_"
                arrays[v] = replace(buffer, name=f"{plan.names[v]}_{len(arrays)}")
        own = [replace(buffer, name=f"{buffer.name}_of_{number}") for buffer in launch.scratch]
        scratch += own
        calls.append([*(arrays[v] for v in variables), *own])
    inputs = [v for v in arrays if v not in made]
    outputs = [v for v in made if v not in temporaries]
    buffers = [*(arrays[v] for v in [*inputs, *temporaries, *outputs]), *scratch]
    kernels = [plan.kernels[number] for number in numbers]
    kernel = FusedKernel("fused", buffers, list(zip(kernels, calls)))
    # Launches of a program have one name if they are one kernel.
    digest = zlib.crc32(program_text([kernel]).encode())
    kernel = replace(kernel, name=f"fused_{digest:08x}_{kernels[0].name}")
    return Launch(kernel, numbers, kernels, inputs, temporaries, outputs, inline=True)


def temporaries_of(plan: Plan, memory: MemoryPlan, numbers: Sequence[int]) -> list[Var]:
    """The arrays whose memory is of use to the groups `numbers` alone."""
    owner: dict[Var, Var] = {}  # of what these groups make, in whose memory it is
    for number in numbers:
        for v in plan.groups[number].outputs:
            before = memory.reuses_buffer_of.get(v, v)
            owner[v] = owner.get(before, before)
    free = [v for number in numbers for v in memory.freed_after.get(number, ()) if v in owner]
    owned = {owner[v] for v in free} & owner.keys()
    return [v for v in owner if owner[v] in owned]
