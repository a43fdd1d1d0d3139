"""The choice of kernels that run inline: in the launching thread, like a function call.

It saves: a jitted sum(sin(x)) of 1,000 elements takes 12 us instead of 65, a training step of an MLP
(64-64-64-10, batch 16) 126 instead of 386.

To wake the device's threads, and to be woken by them, takes some 30 microseconds; then they share the work.
In the calling thread, a kernel takes one or two microseconds besides its work. The choice is made before a
program is built, by an estimate of the time that threads would save, and for a whole stretch of kernels:
switching between the two would wait. The bits of results do not depend on it, as the kernels are the same.

A loop of unknown length begins in the calling thread if one iteration is small. It ends when waking the
threads would have saved time, and they run it from its start: solving 300 equations by conjugate gradients
takes 70 us instead of 185, a while_loop of a few numbers 8 instead of 100.

The numbers were measured on one core of an AMD EPYC with AVX-512; other CPUs are within a factor of two.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinyjax.compile.cost import group_cost
from tinyjax.compile.fusion.cost_record import bytes_of, eqn_cost
from tinyjax.compile.fusion.groups import KernelGroup, LoopGroup
from tinyjax.compile.passes.loops import Loop, control_flow, has_unknown_length
from tinyjax.compile.plan import Plan
from tinyjax.fast.fused_steps import can_be_fused

# ---- the choice ----

# From the launch on the device's threads to the end of waiting, without the work; and for every further
# kernel of a stretch, which the threads share.
WAKING_SECONDS = 30e-6
KERNEL_SECONDS = 1e-6
# What other threads must save of a kernel to be worth sharing it with them: they must be notified, and fetch
# what it reads from another core's cache.
SHARING_SECONDS = 6e-6
PAUSE_SECONDS = 50e-9  # of an Intel processor: others pause for less
# What threads must save for a launch to be worth cores.py's care of other processes.
LENDING_SECONDS = 1e-3
# Up to this long, Ctrl-C may be delayed.
LONG_SECONDS = 0.1
# Python's other threads wait at most this long: a thread that runs a kernel holds the GIL. Python itself lets
# them wait for 5 ms. The device's threads may share their cores with other processes.
MAX_INLINE_SECONDS = 2e-3


def may_run_long(plan: Plan, numbers: Sequence[int], cores: int) -> bool:
    """Whether a user may want to interrupt the loops among these groups."""
    loops = [n for n in numbers if isinstance(plan.groups[n], LoopGroup)]
    return sum(_work(plan, number, cores)[0] for number in loops) > LONG_SECONDS


def lends_cores(plan: Plan, numbers: Sequence[int], cores: int) -> bool:
    """Whether the threads that run these groups take care of cores that other processes use."""
    return sum(_work(plan, number, cores)[1] for number in numbers) > LENDING_SECONDS


def is_inline(plan: Plan, stretch: Sequence[int], cores: int) -> bool:
    """Whether the calling thread runs the groups of a stretch itself, on a device of `cores` cores. Their
    work counts together, as they run one after the other; one iteration counts of loops of unknown length.
    """
    seconds, saved = _once(plan, stretch, cores)
    return is_small(seconds, saved)


def inline_operations(plan: Plan, numbers: Sequence[int], cores: int) -> int:
    """How many operations the loops of unknown length among these groups may take inline: until threads would
    have saved what it takes to wake them."""
    seconds, saved = _once(plan, numbers, cores)
    worth_waking = WAKING_SECONDS * seconds / saved if saved > 0 else math.inf
    return int(min(MAX_INLINE_SECONDS, worth_waking) / SECONDS_PER_LOOP_WORK)


def iteration_operations(plan: Plan, number: int) -> int:
    """The operations of an iteration of a loop: as many as a thread does in its time."""
    seconds, _ = _once(plan, [number], 1)
    return 1 + int(min(seconds, LONG_SECONDS) / SECONDS_PER_LOOP_WORK)


def _once(plan: Plan, numbers: Sequence[int], cores: int) -> tuple[float, float]:
    """About how long one thread takes for these groups, with one iteration of each loop of unknown length,
    and how much of that several threads would save."""
    seconds, saved, kernels = sum(_work(plan, number, cores, 1) for number in numbers)
    return seconds, saved - KERNEL_SECONDS * (kernels - 1)


def patience(plan: Plan, number: int, cores: int) -> int:
    """How many pauses the leader of a fused kernel waits for others that share the kernel of a group: several
    times as long as a work-item of it takes. 0 if it is too short to be shared."""
    seconds, items = _seconds(plan, number), plan.kernels[number].items
    if _saved(seconds, items, cores) < SHARING_SECONDS:
        return 0
    return 2000 + int(4 * min(seconds / items, LONG_SECONDS) / PAUSE_SECONDS)


def is_small(seconds: float, saved: float) -> bool:
    """Whether to run work of `seconds` inline, if the device's threads would save `saved` of them."""
    return seconds <= MAX_INLINE_SECONDS and saved <= WAKING_SECONDS


def stretches(plan: Plan) -> list[list[int]]:
    """Runs of consecutive group numbers without a wait in between: kernels, and loops and branches that can
    be part of one."""
    found: list[list[int]] = [[]]
    for number in range(len(plan.groups)):
        if number in plan.kernels or number in plan.bodies and can_be_fused(plan, number):
            found[-1].append(number)
        else:
            found.append([])
    return [stretch for stretch in found if stretch]


# ---- the estimate ----

SECONDS_PER_FLOP = 0.02e-9
SECONDS_PER_FUNCTION = 1e-9
SECONDS_PER_BYTE = 0.03e-9  # from a cache and to it
SECONDS_PER_LOOP_WORK = 0.1e-9


def _work(plan: Plan, number: int, cores: int, unknown: float = math.inf) -> Any:
    """An array: about how long one thread takes for a group, how much of that several threads would save, and
    how many kernels run. A loop of unknown length has `unknown` iterations.
    """
    if number in plan.kernels:
        seconds = _seconds(plan, number, unknown)
        return np.array([seconds, _saved(seconds, plan.kernels[number].items, cores), 1])
    found = control_flow(plan.groups[number].eqn)
    inside = [
        sum(_work(body, n, cores, unknown) for n in range(len(body.groups))) + np.zeros(3)
        for body in plan.bodies[number].values()
    ]
    if not isinstance(found, Loop):
        return max(inside, key=tuple)
    length = unknown if found.length is None else found.length
    return sum(inside) * length if length < math.inf else np.array([math.inf, 0, 1])


def _saved(seconds: float, items: int, cores: int) -> float:
    """How much of a kernel's time is saved by sharing its work-items: one core runs several, if not all."""
    return seconds * (1 - math.ceil(items / cores) / items)


def _seconds(plan: Plan, number: int, unknown: float = math.inf) -> float:
    """About how long one thread takes for a kernel. A loop of unknown length has `unknown` iterations."""
    group, cost = plan.groups[number], group_cost(plan, number)
    if isinstance(group, KernelGroup):
        in_order = eqn_cost(group.in_order).work if group.in_order is not None else 0
        return (
            SECONDS_PER_LOOP_WORK * in_order
            + SECONDS_PER_FLOP * cost.flops
            + SECONDS_PER_FUNCTION * cost.transcendentals
            + SECONDS_PER_BYTE * (cost.bytes - _untouched(plan, number))
        )
    times = unknown if has_unknown_length(group.eqn) else 1
    return SECONDS_PER_LOOP_WORK * (1 + cost.work) * times


def _untouched(plan: Plan, number: int) -> int:
    """Bytes of a kernel's arrays that it neither reads nor writes: all of an array updated in place, since
    the update is small; and the part of a gather's operand beyond the size of its result.
    """
    group, kernel = plan.groups[number], plan.kernels[number]
    total = 0
    if isinstance(group, KernelGroup) and group.updated is not None:
        in_place = (buffer for buffer in kernel.buffers if buffer.role == "inout")
        total += sum(2 * buffer.size * buffer.dtype.itemsize for buffer in in_place)
    for eqn in group.eqns:
        if eqn.primitive.name in ("gather", "dynamic_slice") and eqn.invars[0] in group.inputs:
            read, made = bytes_of(eqn.invars[0].aval), bytes_of(eqn.outvars[0].aval)
            total += max(0, read - made)
    return total
