"""The profiler's recorder of compiled functions: each step and launch, with its times.

Times of kernels are the driver's (OpenCL's profiling events), those of host steps a clock's. The queues
report each step and each launch to `ProfileRecorder`.

Source: OpenCL 1.2, section 5.12 (clGetEventProfilingInfo)
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from tinyjax.compile.fusion.groups import KernelGroup, LoopGroup
from tinyjax.lax.transfer import block_until_ready
from tinyjax.runtime.devices import Device
from tinyjax.runtime.numpy_queue import is_listened
from tinyjax.runtime.queues import listen
from tinyjax.runtime.step_program import StepProgram

MOST_CALLS = 100  # calls of step_times if one is too short for the clock


@dataclass(frozen=True)
class Event:
    """A timed event; all times are microseconds since the trace began.

    `kind` is "kernel" (a launch), "host" (a step that NumPy computes), "loop" (a step that runs others,
    which have events of their own) or "annotation". `name` is the kernel's or the primitive's,
    `executable` the jitted function's, `lines` the numbers of the lines of its schedule (several, if they
    are one launch; for the steps of a loop's body, the body's), and `loops` those of the loops around it.
    `nbytes` is the size of the kernel's arguments, the least that it reads and writes. `queued` and
    `submitted` are the times when the driver received it and sent it to the device."""

    kind: str
    name: str
    start: float
    end: float
    executable: str = ""
    lines: tuple[int, ...] = ()
    loops: tuple[int, ...] = ()
    primitives: tuple[str, ...] = ()
    nbytes: int = 0
    device: Device | None = None
    queued: float | None = None
    submitted: float | None = None
    arguments: tuple[tuple[str, Any], ...] = ()  # of an annotation
    thread: int = 0

    @property
    def microseconds(self) -> float:
        return self.end - self.start


def own_thread() -> int:
    """The system's number of this thread; where there is none, as in a browser, Python's."""
    return getattr(threading, "get_native_id", threading.get_ident)()


class _CurrentStep(threading.local):
    """A thread's current step and the loops around it."""

    step: dict[str, Any]
    loops: tuple[int, ...] = ()


class ProfileRecorder:
    """Records the steps of all queues; `finished` returns the events."""

    def __init__(self) -> None:
        self.began = time.perf_counter_ns()
        self.events: list[Event] = []
        # A launch's OpenCL event, the time of its report, and its description.
        self.launches: list[tuple[Any, int, dict[str, Any]]] = []
        self.current = _CurrentStep()

    def now(self) -> float:
        return (time.perf_counter_ns() - self.began) / 1e3

    def on_step(self, step_program: StepProgram, step: Any, slots: list) -> None:
        """Run a step and record it."""
        plan, queue = step_program.plan, step_program.queue
        numbers = next(
            n for known, n in zip(step_program.steps, step_program.numbers) if known is step
        )
        number = numbers[0]
        group = plan.groups[number]
        groups = [plan.groups[n] for n in numbers]
        eqns = [eqn for g in groups for eqn in g.eqns]
        what: dict[str, Any] = {
            "executable": step_program.name,
            "lines": tuple(numbers),
            "loops": self.current.loops,
            "primitives": tuple(dict.fromkeys(eqn.primitive.name for eqn in eqns)),
            "device": queue.device,
        }
        launch = next((x for x in plan.launches if x.numbers[0] == number), None)
        if launch is not None:  # possibly of several kernels
            buffers = [
                b for kernel in launch.kernels for b in kernel.buffers if b.role != "scratch"
            ]
            what["nbytes"] = sum(b.size * b.dtype.itemsize for b in buffers)
            what["name"] = ", ".join(kernel.name for kernel in launch.kernels)
            self.current.step = what
            step.run(queue, slots)
        elif isinstance(group, KernelGroup):  # of arrays without elements
            step.run(queue, slots)
        else:
            queue.finish()  # so that no earlier launch counts for this step
            start = self.now()
            self.current.loops += (number,)
            try:
                step.run(queue, slots)
            finally:
                self.current.loops = what["loops"]
            kind = "loop" if isinstance(group, LoopGroup) else "host"
            name = group.eqn.primitive.name
            thread = own_thread()
            self.events.append(Event(kind, name, start, self.now(), thread=thread, **what))

    def on_launch(self, kernel: Any, event: Any) -> None:
        self.launches.append((event, time.perf_counter_ns(), self.current.step))

    def finished(self) -> list[Event]:
        """All events by start. All launches must be done."""
        kernels = []
        # The driver's clock differs from Python's. A launch is reported just after it was queued, so the
        # smallest difference of the two clocks is the best estimate of their offset.
        offsets: dict[Device, int] = {}
        for event, heard, what in self.launches:
            offset = heard - event.profile.queued
            offsets[what["device"]] = min(offset, offsets.get(what["device"], offset))
        for event, _, what in self.launches:
            times = event.profile
            begin = self.began - offsets[what["device"]]
            queued, submitted, start, end = (
                (t - begin) / 1e3 for t in (times.queued, times.submit, times.start, times.end)
            )
            kernels.append(
                Event("kernel", start=start, end=end, queued=queued, submitted=submitted, **what)
            )
        return sorted(self.events + kernels, key=lambda event: event.start)


def call_events(run: Callable[[], Any]) -> list[Event]:
    """What happens in a call of `run`, which gives results to wait for, by start: launches and host steps.

    Raises RuntimeError while a trace is recorded. Not in JAX."""
    if is_listened():
        raise RuntimeError(
            "a trace is recorded: end it by jax.profiler.stop_trace(), and ask again"
        )
    recorder = ProfileRecorder()
    listen(recorder.on_launch, recorder.on_step)
    try:
        block_until_ready(run())
    finally:
        listen(None, None)
    return recorder.finished()


def shortest_call(run: Callable[[], Any], calls: int = 5) -> list[Event]:
    """The events of the shortest of some calls of `run`; each event's mean over many calls, if the clock is
    too coarse to see it, as a browser's is. Not in JAX."""
    found = [call_events(run) for _ in range(calls)]
    shortest = min(found, key=call_time)
    if all(event.microseconds for event in shortest):
        return shortest
    found += [call_events(run) for _ in range(MOST_CALLS - calls)]
    alike = [events for events in found if len(events) == len(shortest)]
    return [
        replace(event, start=fmean(e.start for e in same), end=fmean(e.end for e in same))
        for event, same in zip(shortest, zip(*alike))
    ]


def call_time(events: Sequence[Event]) -> float:
    """The microseconds from the first start to the last end."""
    starts, ends = [event.start for event in events], [event.end for event in events]
    return max(ends) - min(starts) if events else 0.0


def times_of_steps(events: Sequence[Event]) -> dict[tuple[int, ...], float]:
    """The microseconds of each step in one call, by the numbers of its lines in the schedule."""
    times: dict[tuple[int, ...], float] = {}
    for event in events:
        if event.lines and not event.loops:  # a loop's time includes that of its steps
            times[event.lines] = times.get(event.lines, 0.0) + event.microseconds
    return times


def time_text(microseconds: float) -> str:
    """A time in the unit that fits it: 8.0 µs, 146 µs, 18.9 ms, 2.50 s."""
    size, unit = microseconds, "µs"
    for larger in ("ms", "s"):
        if size < 999.5:
            break
        size, unit = size / 1000, larger
    digits = 0 if size >= 99.95 else 1 if size >= 9.995 or unit == "µs" else 2
    return f"{size:,.{digits}f} {unit}"


def step_times(run: Callable[[], Any], repeat: int = 5) -> dict[tuple[int, ...], float]:
    """For each step of a schedule, by the numbers of its lines, the microseconds that it takes: the least
    of `repeat` calls of `run`, which calls one compiled function and gives its results; the mean of many, if
    the clock is too coarse to see it, as a browser's is. What other threads call meanwhile is counted too.

    Raises RuntimeError while a trace is recorded. Not in JAX."""
    times: dict[tuple[int, ...], list[float]] = {}
    for calls in range(max(repeat, MOST_CALLS)):
        if calls >= repeat and all(map(min, times.values())):
            break
        for lines, spent in times_of_steps(call_events(run)).items():
            times.setdefault(lines, []).append(spent)
    return {lines: min(found) or sum(found) / len(found) for lines, found in sorted(times.items())}
