"""Which kernels run inline: in the thread that launches them, as a function is called.

It buys: a jitted sum(sin(x)) of 1,000 elements takes 12 us for 65, a training step of an MLP (64-64-64-10,
batch 16) 126 for 386.

To wake the device's threads and to be woken by them takes some 30 microseconds, and then they share the work;
run in the calling thread a kernel costs one or two beside its work. It is chosen before a program is built,
by an estimate of what the threads would save, and for a whole stretch of kernels: a change from one to the
other would wait. The bits of results do not depend on it, as the kernels are the same.

The numbers were measured on one core of an AMD EPYC with AVX-512; other CPUs are within a factor of two.
"""

from __future__ import annotations

import math

from tinyjax.compile.cost import group_cost
from tinyjax.compile.fusion.cost_record import bytes_of, eqn_cost
from tinyjax.compile.fusion.groups import KernelGroup
from tinyjax.compile.passes.loops import has_unknown_length
from tinyjax.compile.plan import Plan

# ---- the choice ----

# From the first launch on the device's threads to the end of waiting, without the work; and for every
# further kernel of a stretch, which all threads begin anew.
WAKING_SECONDS = 30e-6
KERNEL_SECONDS = 10e-6
# Longer than this Python's other threads are not kept waiting: a thread that runs a kernel holds the GIL.
MAX_INLINE_SECONDS = 200e-6


def inline_stretches(plan: Plan, cores: int) -> list[list[int]]:
    """The numbers of the groups whose kernels the calling thread runs, on a device of so many cores:
    together those that run one after the other."""
    inline = []
    for stretch in filter(None, _stretches(plan)):
        seconds = [_seconds(plan, number) for number in stretch]
        shares = [1 / min(plan.kernels[number].items, cores) for number in stretch]
        saved = sum(all_of_it * (1 - share) for all_of_it, share in zip(seconds, shares))
        if is_small(sum(seconds), saved - KERNEL_SECONDS * (len(stretch) - 1)):
            inline.append(stretch)
    return inline


def is_small(seconds: float, saved: float) -> bool:
    """Whether work of so many seconds, of which the device's threads would save some, is done inline."""
    return seconds <= MAX_INLINE_SECONDS and saved <= WAKING_SECONDS


def _stretches(plan: Plan) -> list[list[int]]:
    """Numbers of groups that run as kernels, one after the other, with nothing in between that waits."""
    stretches: list[list[int]] = [[]]
    for number in range(len(plan.groups)):
        if number in plan.kernels:
            stretches[-1].append(number)
        else:
            stretches.append([])
    return stretches


# ---- the estimate ----

SECONDS_PER_FLOP = 0.02e-9
SECONDS_PER_FUNCTION = 1e-9
SECONDS_PER_BYTE = 0.03e-9  # from a cache and to it
SECONDS_PER_LOOP_WORK = 0.1e-9


def _seconds(plan: Plan, number: int) -> float:
    """About how long one thread takes for a kernel. Of a loop without a known end that is for ever, as it can
    be interrupted only while other threads run it; but one work-item is launched for a few iterations at
    a time, if these end."""
    group, cost = plan.groups[number], group_cost(plan, number)
    kernel = plan.kernels[number]
    if kernel.items == 1 and kernel.iterations and not kernel.iterations.has_inner:
        return SECONDS_PER_LOOP_WORK * kernel.iterations.work * (kernel.iterations.length or 1)
    if isinstance(group, KernelGroup):
        in_order = eqn_cost(group.in_order).work if group.in_order is not None else 0
        return (
            SECONDS_PER_LOOP_WORK * in_order
            + SECONDS_PER_FLOP * cost.flops
            + SECONDS_PER_FUNCTION * cost.transcendentals
            + SECONDS_PER_BYTE * (cost.bytes - _untouched(plan, number))
        )
    return math.inf if has_unknown_length(group.eqn) else SECONDS_PER_LOOP_WORK * cost.work


def _untouched(plan: Plan, number: int) -> int:
    """Bytes of a kernel's arrays that it neither reads nor writes: all of what an update changes in place, as
    that is little; and of what a gather reads, as far as its result is smaller."""
    group, kernel = plan.groups[number], plan.kernels[number]
    total = 0
    if isinstance(group, KernelGroup) and group.is_update:
        in_place = (buffer for buffer in kernel.buffers if buffer.role == "inout")
        total += sum(2 * buffer.size * buffer.dtype.itemsize for buffer in in_place)
    for eqn in group.eqns:
        if eqn.primitive.name in ("gather", "dynamic_slice") and eqn.invars[0] in group.inputs:
            read, made = bytes_of(eqn.invars[0].aval), bytes_of(eqn.outvars[0].aval)
            total += max(0, read - made)
    return total
