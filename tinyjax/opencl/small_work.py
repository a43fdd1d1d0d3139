"""Which kernels are small work: run by the thread that launches them, as a function is called.

After this file you can say where a kernel runs. To hand it to the device's threads and to wait for them
costs some 30 microseconds, and the threads share the work out; run in the calling thread it costs one or
two. It is chosen before a program is built, by an estimate of its work, and for a whole stretch of
kernels: a change from one to the other would wait. The bits of results do not depend on it, as the
kernels are the same. Builds on loop_work and plan.
"""

from __future__ import annotations

from tinyjax.opencl.codegen import Target
from tinyjax.opencl.fuse import KernelGroup
from tinyjax.opencl.loop_work import eqn_work
from tinyjax.opencl.plan import Plan

# Operations of a stretch of kernels, up to which one thread is as fast as several that must be woken.
MAX_INLINE_WORK = 2**19


def inline_groups(plan: Plan, target: Target) -> set[int]:
    """The numbers of the groups whose kernels the calling thread runs."""
    inline: set[int] = set()
    for stretch in _stretches(plan):
        if sum(_group_work(plan, number, target) for number in stretch) <= MAX_INLINE_WORK:
            inline.update(stretch)
    return inline


def _stretches(plan: Plan) -> list[list[int]]:
    """Numbers of groups that run as kernels, one after the other, with nothing in between that waits."""
    stretches: list[list[int]] = [[]]
    for number in range(len(plan.groups)):
        if number in plan.kernels:
            stretches[-1].append(number)
        else:
            stretches.append([])
    return stretches


def _group_work(plan: Plan, number: int, target: Target) -> float:
    """About how many operations a kernel is. A loop that may go on for ever is never small: it can be
    interrupted only while another thread runs it."""
    group, rounds = plan.groups[number], plan.kernels[number].rounds
    if isinstance(group, KernelGroup):
        return sum(eqn_work(eqn, target) for eqn in group.eqns)
    if rounds is not None and (rounds.length is None or rounds.has_inner):
        return float("inf")
    return eqn_work(group.eqn, target)
