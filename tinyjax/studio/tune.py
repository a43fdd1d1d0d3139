"""Tuning: a search for faster schedules, which measures what it tries.

It begins with a kernel's naive nest and the compiler's schedule. In each round, each of the few fastest
schedules so far gets one more directive, or two that belong together. Directives that can't be applied are
dropped; the other schedules are compiled and timed (a *beam search*). The search ends with a round that finds
nothing faster.

    schedules = tune(jax.jit(f), x)
    lowered = jax.jit(f).lower(x)
    for kernel, schedule in schedules.items():
        lowered = lowered.with_schedule(kernel, schedule)
    compiled = lowered.compile()

Source: L. Zheng et al., "Ansor: generating high-performance tensor programs", 2020, for such searches
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tinyjax.compile.kernel.kernel_ir import For, Kernel
from tinyjax.compile.kernel.substitution import every_statement
from tinyjax.compile.schedules.dependences import iterations
from tinyjax.compile.schedules.directive import Directive, axis_of, loops_of
from tinyjax.compile.schedules.fuse import Fuse
from tinyjax.compile.schedules.parallelize import Parallelize
from tinyjax.compile.schedules.partition import Partition
from tinyjax.compile.schedules.reorder import Reorder
from tinyjax.compile.schedules.schedule import MAX_STATEMENTS, scheduled
from tinyjax.compile.schedules.split import Split
from tinyjax.compile.schedules.unroll_and_jam import UnrollAndJam
from tinyjax.compile.schedules.vectorize import Vectorize
from tinyjax.core.tree_util.pytrees import tree_leaves

Schedule = tuple[Directive, ...]
BEAM = 3  # schedules that go on to the next round
ENOUGH = 0.97  # of the time: smaller gains are noise


def tune(
    f: Any,
    *args: Any,
    seconds: float = 5.0,
    beam: int = BEAM,
    timer: Callable[..., float] | None = None,
) -> dict[str, list[Directive]]:
    """The schedules that are faster than the compiler's, by the names of the kernels of the jitted function
    `f`, called with `args`. Each kernel gets its part of the seconds. Prints each schedule that was tried and
    how long the call then took: `timer(lowered, *args)`, in seconds."""
    if not hasattr(f, "lower"):
        raise TypeError("tune takes a jitted function: call tune(jax.jit(f), *args)")
    lowered, timer = f.lower(*args), timer or seconds_of
    kernels = [k for k in lowered.compiler_ir("kernel") if k.naive is not None]
    if not kernels:
        print("no kernel has a schedule: see lower(...).as_text('schedule')")
    found: dict[str, list[Directive]] = {}
    for kernel in kernels:
        print(f"{kernel.name}:")
        search = _Search(lowered, kernel, args, timer, time.monotonic() + seconds / len(kernels))
        if schedule := search.best(beam):
            found[kernel.name] = list(schedule)
            lowered = lowered.with_schedule(kernel.name, schedule)
    return found


def seconds_of(lowered: Any, *args: Any) -> float:
    """The least time that a call of the built program takes."""
    compiled = lowered.compile()
    times: list[float] = []
    until = time.monotonic() + 0.1
    while len(times) < 3 or (time.monotonic() < until and len(times) < 100):
        start = time.perf_counter()
        for leaf in tree_leaves(compiled(*args)):
            leaf.block_until_ready()
        times.append(time.perf_counter() - start)
    return min(times[1:])


class _Search:
    """The search for one kernel's schedule, with everything tried so far."""

    def __init__(
        self, lowered: Any, kernel: Kernel, args: tuple, timer: Callable[..., float], until: float
    ):
        assert kernel.naive is not None
        self.lowered, self.kernel, self.naive = lowered, kernel, kernel.naive
        self.args, self.timer, self.until = args, timer, until
        self.seen: set[str] = set()  # kernels, as text
        self.times: dict[Schedule, float] = {}

    def best(self, beam: int) -> Schedule:
        """The fastest schedule; none if that is the compiler's."""
        chosen = tuple(d for d in self.kernel.schedule if isinstance(d, Directive))
        self._try(chosen, "the compiler's: ")
        self._try(())
        fastest = -1.0
        while fastest != min(self.times.values()) and time.monotonic() < self.until:
            fastest = min(self.times.values())
            for schedule in sorted(self.times, key=self.times.__getitem__)[:beam]:
                for more in moves(scheduled(self.naive, schedule)):
                    if time.monotonic() < self.until:
                        self._try((*schedule, *more))
        schedule = min(self.times, key=self.times.__getitem__)
        return schedule if self.times[schedule] < ENOUGH * self.times[chosen] else ()

    def _try(self, schedule: Schedule, whose: str = "") -> None:
        """Measures a schedule that can be applied, and whose kernel is new and small enough."""
        try:
            kernel = scheduled(self.naive, schedule)
        except (ValueError, AssertionError):
            return
        if str(kernel) in self.seen or len(every_statement(kernel.body)) > MAX_STATEMENTS:
            return
        self.seen.add(str(kernel))
        lowered = self.lowered.with_schedule(self.kernel.name, schedule)
        self.times[schedule] = found = self.timer(lowered, *self.args)
        written = ", ".join(map(str, schedule)) or "the naive nest"
        print(f"{found * 1e6:12,.1f} us  {whose}{written}")


# ---- what to try next ----


def moves(kernel: Kernel) -> Iterator[Sequence[Directive]]:
    """The directives to try next on a schedule; some of them may not be applicable."""
    loops = loops_of(kernel.body)
    for loop in reversed(loops):  # inner ones first
        axis, count = axis_of(loop), iterations(loop)
        yield from ([Vectorize(axis, width)] for width in (16, 8))
        yield from ([Parallelize(axis, items)] for items in (8, 64) if items <= count)
        yield from ([UnrollAndJam(axis, several)] for several in (4, 2) if several <= count)
        yield [Partition(axis)]
        yield from ([Split(axis, factor)] for factor in (32, 256) if factor < count)
    for outer in loops:
        for inner in (s for s in outer.body if isinstance(s, For)):
            yield [Reorder(axis_of(inner), (axis_of(outer),))]
            yield [Fuse((axis_of(outer), axis_of(inner)))]
