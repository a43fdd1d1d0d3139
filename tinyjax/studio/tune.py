"""Tuning: a search for faster schedules, which measures what it tries.

It begins with a kernel's naive nest and the compiler's schedule. In each round, each of the few fastest
schedules so far gets one more directive. Directives that can't be applied are dropped; the other schedules
are compiled and timed (a *beam search*). The search ends with a round that finds nothing faster.

    schedules = tune(jax.jit(f), x)
    lowered = jax.jit(f).lower(x)
    for kernel, schedule in schedules.items():
        lowered = lowered.with_schedule(kernel, schedule)
    compiled = lowered.compile()

Source: L. Zheng et al., "Ansor: generating high-performance tensor programs", 2020, for such searches
"""

from __future__ import annotations

import math
import time
import timeit
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from tinyjax.compile.kernel.kernel_ir import For, Kernel
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
    `f`, called with `args`. Each kernel gets its part of the seconds. Prints each schedule that was tried,
    how long the call then took (`timer(lowered, *args)`, in seconds), and which one is the fastest."""
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
        if (schedule := search.best(beam)) is not None:
            found[kernel.name] = list(schedule)
            lowered = lowered.with_schedule(kernel.name, schedule)
    return found


def seconds_of(lowered: Any, *args: Any) -> float:
    """The least time that a call of the built program takes, from runs of calls that take 2 ms or more: a
    browser's clock moves each 0.1 ms."""
    compiled = lowered.compile()

    def call() -> None:
        for leaf in tree_leaves(compiled(*args)):
            leaf.block_until_ready()

    call()
    timer, calls = timeit.Timer(call), 1
    while (seconds := min(timer.repeat(3, calls))) < 0.002:
        calls *= 2
    return seconds / calls


class _Search:
    """The search for one kernel's schedule."""

    def __init__(
        self, lowered: Any, kernel: Kernel, args: tuple, timer: Callable[..., float], until: float
    ):
        assert kernel.naive is not None
        self.lowered, self.kernel, self.naive = lowered, kernel, kernel.naive
        self.args, self.timer, self.until = args, timer, until
        self.seen: set[str] = set()  # kernels, as text

    def best(self, beam: int) -> Schedule | None:
        """The fastest schedule; None if that is the compiler's."""
        chosen = tuple(d for d in self.kernel.schedule if isinstance(d, Directive))
        self.whose = {chosen: "the compiler's: "}
        has_time = lambda: time.monotonic() < self.until  # noqa: E731
        times = beam_search((chosen, ()), self._longer, self._measured, beam, has_time)
        as_fast = [s for s in times if ENOUGH * times[s] <= min(times.values())]
        found = min(as_fast, key=len)  # a difference that small is noise: the shortest one
        # The first calls of a process are slow: so the compiler's schedule is measured once more.
        own = min(times[chosen], self._time(chosen))
        if times[found] > ENOUGH * own:
            print(f"{own * 1e6:12,.1f} us  is the least: the compiler's schedule stays")
            return None
        faster = f"{own / times[found]:.2f} times as fast as the compiler's"
        print(f"{times[found] * 1e6:12,.1f} us  {faster}: [{_written(found)}]")
        return tuple(replace(d, why=d.why or "found by tune") for d in found)

    def _longer(self, schedule: Schedule) -> Iterator[Schedule]:
        for more in moves(scheduled(self.naive, schedule)):
            yield (*schedule, *more)

    def _measured(self, schedule: Schedule) -> float:
        """How long a call takes; infinity if the schedule can't be applied, or makes no new kernel, or one
        that is too large."""
        try:
            kernel = scheduled(self.naive, schedule)
        except (ValueError, AssertionError):
            return math.inf
        if str(kernel) in self.seen or len(kernel.statements) > MAX_STATEMENTS:
            return math.inf
        self.seen.add(str(kernel))
        found = self._time(schedule)
        written = _written(schedule) or "the naive nest"
        print(f"{found * 1e6:12,.1f} us  {self.whose.get(schedule, '')}{written}")
        return found

    def _time(self, schedule: Schedule) -> float:
        return self.timer(self.lowered.with_schedule(self.kernel.name, schedule), *self.args)


def _written(schedule: Schedule) -> str:
    return ", ".join(map(str, schedule))


def beam_search(
    begin: Iterable[Schedule],
    longer: Callable[[Schedule], Iterable[Schedule]],
    measure: Callable[[Schedule], float],
    beam: int,
    has_time: Callable[[], bool],
) -> dict[Schedule, float]:
    """The schedules that were tried, each with its time: `measure(schedule)`, called once, which is infinity
    for one that can't be used.

    Those in `begin` are tried first, whatever the time. In each round, the `beam` fastest ones found before
    the round are extended, the fastest first: what `longer(schedule)` yields is tried, one after the other,
    while `has_time()`. Rounds end with the first one that finds nothing faster than all before it."""
    times = {schedule: measure(schedule) for schedule in dict.fromkeys(begin)}
    before = math.inf
    while min(times.values()) < before:
        before = min(times.values())
        usable = [schedule for schedule in times if times[schedule] < math.inf]
        for fast in sorted(usable, key=times.__getitem__)[:beam]:
            for schedule in longer(fast):
                if not has_time():
                    return times
                if schedule not in times:
                    times[schedule] = measure(schedule)
    return times


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
