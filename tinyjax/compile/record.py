"""What each pass of the compiler did: a program before and after it, and each change with its reason.

After this file you can ask any stage what it looked at, what it changed and why. A pass is a function from
a printable thing to another (a jaxpr, groups, a kernel). It is called by way of `run_pass`, and calls
`event` for each change or decision. Outside of `recording()` both do nothing but the work. Builds on nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Event:
    """One decision of a pass. `about` is what it looked at, `change` what it did, `why` the reason: a line of
    the table of rewrite rules, say, or a cost. `origin` is the equation that it concerns, if it is one."""

    about: str
    change: str
    why: str = ""
    origin: Any = None

    def __str__(self) -> str:
        reason = f"  # {self.why}" if self.why else ""
        return f"{self.about}: {self.change}{reason}"


@dataclass
class PassRecord:
    """One run of a pass. `subject` names the kernel or loop body that it worked on, and is empty for the
    whole program."""

    name: str
    subject: str
    before: Any
    after: Any = None
    events: list[Event] = field(default_factory=list)

    @property
    def title(self) -> str:
        """Name and subject: "vectorize of k0_mul_add"."""
        return f"{self.name} of {self.subject}" if self.subject else self.name


class _Recorder(threading.local):
    records: list[PassRecord] | None = None  # of all passes so far, those that have begun first
    running: tuple[PassRecord, ...] = ()


_recorder = _Recorder()


def is_recording() -> bool:
    """Whether passes are recorded in this thread: a cached result would leave no record."""
    return _recorder.records is not None


@contextmanager
def recording() -> Iterator[list[PassRecord]]:
    """Within the block, passes that run in this thread are recorded in the list that is given."""
    before, records = _recorder.records, list[PassRecord]()
    _recorder.records = records
    try:
        yield records
    finally:
        _recorder.records = before


def run_pass(
    name: str, work: Callable[..., Any], before: Any, *args: Any, subject: str = ""
) -> Any:
    """work(before, *args), recorded as a pass of that name."""
    if _recorder.records is None:
        return work(before, *args)
    record = PassRecord(name, subject, before)
    _recorder.records.append(record)
    outer, _recorder.running = _recorder.running, (*_recorder.running, record)
    try:
        record.after = work(before, *args)
    finally:
        _recorder.running = outer
    return record.after


def subject_of_pass() -> str:
    """What the pass that runs works on, if it is recorded."""
    return _recorder.running[-1].subject if _recorder.running else ""


def event(about: Any, change: Any, why: str = "", origin: Any = None) -> None:
    """Adds an event to the pass that runs; the arguments become text only if it is recorded."""
    if _recorder.running:
        record = _recorder.running[-1]
        record.events.append(Event(str(about), str(change), why, origin))
