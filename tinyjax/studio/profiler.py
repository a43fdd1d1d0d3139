"""Profile compiled functions: the time of each kernel launch and host step.

It shows each kernel's time and memory throughput:

    with jax.profiler.trace("/tmp/trace"):
        f(x).block_until_ready()
    print(jax.profiler.summary())     # a table, a line a kernel
    jax.profiler.events()             # the same as records
    jax.profiler.step_times(lambda: f(x))  # of each line of f's schedule

`trace` and its parts are JAX's, and write the same file as JAX: a Chrome trace for Perfetto
(https://ui.perfetto.dev) and TensorBoard. `events`, `summary` and `step_times` are tinyjax's own. Eager
operations, which run in NumPy, are not recorded. Without a trace, queues measure no times.

Source: https://docs.jax.dev/en/latest/profiling.html
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tinyjax.core.api_util import wraps
from tinyjax.runtime.queues import listen
from tinyjax.studio.recorder import Event as Event
from tinyjax.studio.recorder import ProfileRecorder, own_thread, time_text
from tinyjax.studio.recorder import step_times as step_times

# ---- tracing ----

_recorder: ProfileRecorder | None = None
_log_dir: str | os.PathLike | None = None
_perfetto = False  # whether to write a second file
_events: list[Event] = []  # of the last trace


def start_trace(log_dir: str | os.PathLike, create_perfetto_trace: bool = False) -> None:
    """Begins to record; `stop_trace` writes the file below `log_dir`.

    Args:
      create_perfetto_trace: whether to write the file a second time, as perfetto_trace.json.gz.
    Raises:
      RuntimeError: a trace has been started already."""
    global _recorder, _log_dir, _perfetto
    if _recorder is not None:
        raise RuntimeError(
            "Profile has already been started. Only one profile may be run at a time: end it with "
            "jax.profiler.stop_trace()"
        )
    _recorder, _log_dir, _perfetto = ProfileRecorder(), log_dir, create_perfetto_trace
    listen(_recorder.on_launch, _recorder.on_step)


def stop_trace() -> None:
    """Wait for all launches, and write <log_dir>/plugins/profile/<time>/<host>.trace.json.gz.

    Raises RuntimeError if no trace has been started."""
    global _recorder, _events
    if _recorder is None:
        raise RuntimeError("No profile started: begin with jax.profiler.start_trace(log_dir)")
    listen(None, None)
    recorder, _recorder = _recorder, None
    _events = recorder.finished()
    folder = Path(_log_dir or ".") / "plugins" / "profile" / time.strftime("%Y_%m_%d_%H_%M_%S")
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"{platform.node()}.trace.json.gz"] + ["perfetto_trace.json.gz"] * _perfetto
    for name in names:
        with gzip.open(folder / name, "wt") as file:
            json.dump(chrome_trace(_events), file)


@contextlib.contextmanager
def trace(log_dir: str | os.PathLike, create_perfetto_trace: bool = False) -> Iterator[None]:
    """Record within the block: start_trace, and stop_trace at the end."""
    start_trace(log_dir, create_perfetto_trace)
    try:
        yield
    finally:
        stop_trace()


def events() -> list[Event]:
    """The events of the last trace, by start. Not in JAX."""
    return list(_events)


# ---- one's own spans ----


class TraceAnnotation(contextlib.ContextDecorator):
    """`with TraceAnnotation("load"):` makes the block an event of the current trace, if any."""

    def __init__(self, name: str, **kwargs: Any):
        self.name = name
        self.arguments = tuple(kwargs.items())

    def __enter__(self) -> TraceAnnotation:
        self.start = None if _recorder is None else _recorder.now()
        return self

    def __exit__(self, *exc: object) -> None:
        if _recorder is None or self.start is None:
            return
        _recorder.events.append(
            Event(
                "annotation",
                self.name,
                self.start,
                _recorder.now(),
                arguments=self.arguments,
                thread=own_thread(),
            )
        )


class StepTraceAnnotation(TraceAnnotation):
    """`with StepTraceAnnotation("train", step_num=3):` marks the block as a training step."""


def annotate_function(func: Callable, name: str | None = None, **decorator_kwargs: Any) -> Callable:
    """A decorator that makes each call of `func` an event of the trace."""
    label = name or getattr(func, "__qualname__", None) or str(func)

    @wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with TraceAnnotation(label, **decorator_kwargs):
            return func(*args, **kwargs)

    return wrapper


# ---- the same as a table, and as a file ----


WIDTH = 100  # columns of the table
LONGEST = {0: 16, 1: 30}  # characters of a cell with functions or kernels


def summary(recorded: list[Event] | None = None) -> str:
    """The kernels and host steps of the last trace (or of `recorded`) as a table, the longest time first.
    GB/s counts each array that a kernel reads or writes once. Not in JAX."""
    lines: dict[tuple[str, str, str], list[Event]] = {}
    for event in _events if recorded is None else recorded:
        if event.kind in ("kernel", "host"):
            lines.setdefault((event.executable, event.name, event.kind), []).append(event)
    total = sum(e.microseconds for found in lines.values() for e in found) or 1.0
    rows = [("function", "kernel", "launches", "total", "mean", "share", "GB/s", "primitives")]
    by_time = sorted(lines.items(), key=lambda item: -sum(e.microseconds for e in item[1]))
    for (executable, name, kind), found in by_time:
        spent = sum(e.microseconds for e in found)
        moved = sum(e.nbytes for e in found)
        rows.append((
            executable,
            name if kind == "kernel" else f"{name} (host)",
            str(len(found)),
            time_text(spent),
            time_text(spent / len(found)),
            f"{spent / total:.1%}",
            f"{moved / spent / 1e3:.1f}" if moved and spent else "",
            " ".join(found[0].primitives),
        ))  # fmt: skip
    return "\n".join(_table(rows))


def _table(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Lines of at most WIDTH columns; only numbers are right-aligned."""
    rows = [tuple(_cut(cell, LONGEST.get(i, WIDTH)) for i, cell in enumerate(row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        cells = [
            cell.ljust(width) if i in (*LONGEST, len(row) - 1) else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths))
        ]
        yield _cut("  ".join(cells).rstrip(), WIDTH)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


HOST_PROCESS = 1  # in the file, the host and each device are processes


def chrome_trace(recorded: list[Event]) -> dict[str, Any]:
    """Events in the Trace Event Format: JSON that Perfetto, Chrome and TensorBoard read.

    Source: Trace Event Format, https://perfetto.dev/docs/getting-started/other-formats"""
    devices = list(dict.fromkeys(e.device for e in recorded if e.device is not None))
    processes = {device: HOST_PROCESS + 1 + i for i, device in enumerate(devices)}
    lines = [_process_name(HOST_PROCESS, "/host:CPU")]
    lines += [_process_name(number, f"/device:{d}") for d, number in processes.items()]
    for event in recorded:
        on_device = event.kind == "kernel" and event.device is not None
        process = processes[event.device] if on_device and event.device else HOST_PROCESS
        lines.append({
            "ph": "X",
            "pid": process,
            "tid": 1 if on_device else event.thread,
            "ts": event.start,
            "dur": event.microseconds,
            "name": event.name,
            "args": _arguments(event),
        })  # fmt: skip
    return {"displayTimeUnit": "ns", "metadata": {"highres-ticks": True}, "traceEvents": lines}


def _process_name(number: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "pid": number, "name": "process_name", "args": {"name": name}}


def _arguments(event: Event) -> dict[str, str]:
    """The details that a viewer shows for a selected event."""
    if event.kind == "annotation":
        return {name: str(value) for name, value in event.arguments}
    shown = {"jitted function": event.executable, "primitives": " ".join(event.primitives)}
    shown["line of the schedule"] = ", ".join(map(str, event.lines))
    if event.nbytes:
        shown["bytes"] = str(event.nbytes)
    if event.queued is not None:
        shown["waited, us"] = f"{event.start - event.queued:.1f}"
    return shown
