"""Kernels that run one after the other, and the loops and branches around them, as one kernel.

It saves, on top of inline_policy.py: a training step of an MLP (64-64-64-10, batch 16) takes 53 us instead of
126, an attention of 32 by 16 takes 13 instead of 24, that of a CNN 2.9 ms instead of 5.1, and the gradient of
an LSTM of 100 steps a third of the time.

A launch takes some five microseconds, as much as a small kernel, and an iteration that Python runs a hundred.
So the kernels of a stretch become functions in C, and one kernel calls them in turn, each for all its
work-items: in the calling thread if that is small, else on the device's threads, which are woken only once.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby

import numpy as np

from tinyjax.compile.fusion.cost_record import bytes_of
from tinyjax.compile.kernel.kernel_ir import STOP, Buffer
from tinyjax.compile.launches import launch_of, launches_of
from tinyjax.compile.plan import Launch, Plan
from tinyjax.core.jaxpr import Var
from tinyjax.core.shortcuts import shortcut_for
from tinyjax.fast.fused_kernel import MAX_WORKERS, FusedKernel, calls_of, steps_text
from tinyjax.fast.fused_steps import StepWriter, can_be_fused
from tinyjax.fast.inline_policy import (
    inline_operations,
    is_inline,
    iteration_operations,
    lends_cores,
    may_run_long,
    patience,
    stretches,
)
from tinyjax.runtime.devices import Device

BYTE = np.dtype("uint8")

# ---- which kernels ----

# Of a launch: a driver takes longer for a kernel of very many calls than for several.
MAX_KERNELS = 64
# Of a stretch without loops: a driver compiles each launch for a tenth of a second, even if its kernels are
# those of other launches.
MAX_STRETCH = 4 * MAX_KERNELS
# Devices promise 1024 bytes for a kernel's parameters.
MAX_PARAMETERS = 1024 // 8 - 3  # arrays, beside the arena, the state and the flag


@shortcut_for(launches_of)
def inline_and_fused(plain: Callable, plan: Plan, device: Device) -> list[Launch]:
    """The launches of a plan: a stretch is one, unless it is very long, and a small one inline."""
    if device.inline_device is None:
        return plain(plan, device)
    cores = min(device.cl_device.max_compute_units, MAX_WORKERS)
    launches = {number: launch_of(plan, number) for number in plan.kernels}
    for stretch in stretches(plan):
        inline = is_inline(plan, stretch, cores)
        for number in stretch:
            if number in launches:
                launches[number].inline = bool(inline)
        has_loops = any(number in plan.bodies for number in stretch)
        if len(stretch) > MAX_STRETCH and not inline and not has_loops:
            continue
        for run in runs(plan, stretch):
            for launch in fused_launches(plan, run, 1 if inline else cores):
                launches[launch.numbers[0]] = launch
                for number in launch.numbers[1:]:
                    launches.pop(number, None)
    return [with_limit(plan, launch, cores) for launch in launches.values()]


def with_limit(plan: Plan, launch: Launch, cores: int) -> Launch:
    """The launch. If it is inline and its loops may run long, they end after some operations, and the
    device's threads run it from its start; if it overwrites what it reads, they run it at once."""
    if not launch.inline or all(buffer.name != STOP for buffer in launch.scratch):
        return launch
    by_threads, is_alone = replace(launch, inline=False), True
    if launch.run:
        of_run = fused_launches(plan, launch.run, cores)
        by_threads = replace(next(x for x in of_run if x.numbers == launch.numbers), inline=False)
        is_alone = len(of_run) == 1  # else it may overwrite what an earlier one left in the arena
    made = {v for number in launch.numbers for v in plan.groups[number].outputs}
    if not is_alone or not {plan.memory.reuses_buffer_of.get(v, v) for v in made} <= made:
        return by_threads
    operations = inline_operations(plan, launch.numbers, cores)
    return replace(launch, by_threads=by_threads, operations=operations)


def runs(plan: Plan, stretch: Sequence[int]) -> list[list[int]]:
    """The groups of a stretch that are launched together, without single kernels and kernels with
    work-groups."""
    found = [[*run] for fusible, run in groupby(stretch, partial(can_be_fused, plan)) if fusible]
    return [run for run in found if len(run) > 1 or run[0] in plan.bodies]


def parts(plan: Plan, run: Sequence[int], in_arena: set[Var]) -> Iterator[Sequence[int]]:
    """The groups of each launch of a run: as many as its limits allow. What is `in_arena` is no parameter."""
    while run:
        count, parameters, end = 0, set[Var](), 0
        for number in run:
            group = plan.groups[number]
            count += kernel_count(plan, number)
            parameters |= {*group.inputs, *group.outputs} - in_arena
            if end and (count > MAX_KERNELS or len(parameters) > MAX_PARAMETERS):
                break
            end += 1
        yield run[:end]
        run = run[end:]


def kernel_count(plan: Plan, number: int) -> int:
    """How many kernels a group has."""
    bodies = plan.bodies.get(number, {}).values()
    return 1 + sum(kernel_count(body, n) for body in bodies for n in range(len(body.groups)))


# ---- several kernels as one ----


def fused_launches(plan: Plan, run: Sequence[int], workers: int = 1) -> list[Launch]:
    """The launches that run these groups in this order, with at most `workers` work-items each. They share
    an arena, which has the arrays that only they use."""
    temporaries = {*temporaries_of(plan, run)}
    writer = StepWriter(partial(patience, cores=workers), iteration_operations)
    in_arena: dict[Var, str] = {}
    launches = []
    for numbers in parts(plan, run, temporaries):
        writer.begin_launch(is_stoppable=may_run_long(plan, numbers, workers))
        launch = _fused_launch(plan, numbers, workers, writer, temporaries, in_arena)
        launches.append(replace(launch, run=run))
    for launch in launches:  # the arena is as large as the last one needs
        buffers = launch.kernel.buffers
        buffers[buffers.index(launch.work[0])] = _arena(writer)
    return launches


def _arena(writer: StepWriter) -> Buffer:
    return Buffer("arena", BYTE, max(writer.sizes["arena"], 1), "work")


def _fused_launch(
    plan: Plan, numbers: Sequence[int], workers: int, writer: StepWriter, temporaries: set[Var],
    in_arena: dict[Var, str],
) -> Launch:  # fmt: skip
    """A launch of a run. `in_arena` has the pointers to arrays in the arena; it adds those that it makes."""
    parts = [launch_of(plan, n) if n in plan.kernels else plan.groups[n] for n in numbers]
    made = [v for part in parts for v in part.outputs]
    arrays: dict[Var, Buffer] = {}
    for part in parts:
        for v, role in [(v, "in") for v in part.inputs] + [(v, "out") for v in part.outputs]:
            if v not in arrays and v not in temporaries:
                name = writer.fresh(v, plan.names)
                arrays[v] = Buffer(name, BYTE, bytes_of(v.aval), role)
    inputs = [v for v in arrays if v not in made]
    outputs = [v for v in made if v not in temporaries]
    where = in_arena | {v: buffer.name for v, buffer in arrays.items()}
    steps = [*writer.steps(plan, numbers, where)]
    in_arena.update((v, where[v]) for v in made if v in temporaries)
    items = workers if any(call.patience for call in calls_of(steps)) else 1
    state = Buffer("state", BYTE, writer.sizes["state"], "scratch")
    buffers = [*(arrays[v] for v in [*inputs, *outputs]), _arena(writer), state]
    if writer.is_stoppable:
        buffers.append(Buffer(STOP, np.dtype("int32"), 1, "scratch"))
    lends = items > 1 and lends_cores(plan, numbers, workers)
    kernel = FusedKernel("fused", buffers, [*writer.places, *steps], items, lends)
    # Launches of a program have one name if they are one kernel.
    digest = zlib.crc32(steps_text(kernel).encode())
    kernels = [call.kernel for call in calls_of(steps)]
    name = "_".join([f"fused_{digest:08x}", *(called.name for called in kernels[:1])])
    kernel = replace(kernel, name=name)
    return Launch(kernel, numbers, kernels, inputs, outputs, inline=workers == 1)


def temporaries_of(plan: Plan, numbers: Sequence[int]) -> list[Var]:
    """The arrays whose memory only the groups `numbers` use."""
    memory = plan.memory
    owner: dict[Var, Var] = {}  # each result of these groups -> the array whose memory it has
    for number in numbers:
        for v in plan.groups[number].outputs:
            before = memory.reuses_buffer_of.get(v, v)
            owner[v] = owner.get(before, before)
    free = [v for number in numbers for v in memory.freed_after.get(number, ()) if v in owner]
    owned = {owner[v] for v in free} & owner.keys()
    return [v for v in owner if owner[v] in owned]
