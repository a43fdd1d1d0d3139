"""Records of compiler passes: the program before and after each pass, and each change with its reason.

A pass is a function from a jaxpr, groups or a kernel to another of these. `run_pass` runs it, and it calls
`event` for each change or decision. Outside of `recording()` neither records anything. A record prints its
events, and the difference line by line: + is new, - is gone.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from tinyjax.core.jaxpr import ClosedJaxpr, JaxprEqn, Literal, Var
from tinyjax.core.pretty_printer import jaxpr_lines, variable_names

# ---- what is recorded ----


@dataclass(frozen=True)
class Event:
    """One decision of a pass: `about` is the object, `change` the action, `why` the reason, such as a rewrite
    rule or a cost. `origin` is the equation concerned, if any."""

    about: str
    change: str
    why: str = ""
    origin: Any = None

    def __str__(self) -> str:
        reason = f"  # {self.why}" if self.why else ""
        return f"{self.about}: {self.change}{reason}"


@dataclass(repr=False)
class PassRecord:
    """One run of a pass. `subject` names the kernel or loop body that it worked on; else it is empty."""

    name: str
    subject: str
    before: Any
    after: Any = None
    events: list[Event] = field(default_factory=list)

    @property
    def title(self) -> str:
        """Name and subject: "vectorize of k0_mul_add"."""
        return f"{self.name} of {self.subject}" if self.subject else self.name

    @cached_property
    def names(self) -> Mapping[Var, str]:
        """The variables' names in the text before the pass, and in the text after it."""
        return variable_names(self.before.jaxpr) if isinstance(self.before, ClosedJaxpr) else {}

    def diff(self) -> Iterator[str]:
        """The changed lines after "+ " or "- "; after "  " the lines around them, and the first lines of the
        loops and bodies that they are in. All lines if the object's kind differs."""
        import difflib

        if self.before is self.after:
            return
        before, after = (lines(x, self.names) for x in (self.before, self.after))
        if type(self.before) is not type(self.after):
            yield from ("  " + line for line in after)
            return
        # A line that is only indented otherwise is no change.
        old, new = ([line.strip() for line in text] for text in (before, after))
        shown, indents = 0, [len(line) - len(line.lstrip()) for line in after]
        for changes in difflib.SequenceMatcher(None, old, new).get_grouped_opcodes(2):
            first = changes[0][3]
            inside = (min(indents[n + 1 : first + 1], default=0) for n in range(shown, first))
            heads = [n for n, indent in zip(range(shown, first), inside) if indents[n] < indent]
            for number in (*heads, first):
                if number > shown:
                    yield "  ..."
                if number < first:
                    yield f"  {after[number]}"
                shown = number + 1
            for kind, start, stop, new_start, shown in changes:
                if kind != "equal":
                    yield from (f"- {line}" for line in before[start:stop])
                yield from (f"{' +'[kind != 'equal']} {line}" for line in after[new_start:shown])

    def __str__(self) -> str:
        diff = list(self.diff()) or ["  nothing to change"]
        return "\n".join([self.title, *(f"  {event}" for event in self.events), *diff])

    def __repr__(self) -> str:
        return f"<pass {self.title}: {len(self.events)} events>"


# ---- as text ----


def lines(thing: Any, names: Mapping[Var, str]) -> list[str]:
    """The input or output of a pass as text: a jaxpr with these names, a list with its items one by one."""
    if isinstance(thing, ClosedJaxpr):
        return jaxpr_lines(thing.jaxpr, names)
    if isinstance(thing, (list, tuple)):
        return [line for item in thing for line in lines(item, names)]
    return str(thing).splitlines()


def short_text(thing: Any, names: Mapping[Var, str]) -> str:
    """An equation like d = mul b c, a name or a number. A list is joined by commas, a tuple by spaces."""
    if isinstance(thing, JaxprEqn):
        right = " ".join([thing.primitive.name, *(short_text(v, names) for v in thing.invars)])
        return f"{short_text(thing.outvars, names)} = {right}" if thing.outvars else right
    if isinstance(thing, (list, tuple)):
        separator = ", " if isinstance(thing, list) else " "
        return separator.join(short_text(item, names) for item in thing)
    if isinstance(thing, Var):
        return names.get(thing, "_")
    return str(thing.val if isinstance(thing, Literal) else thing)


# ---- recording ----


class _Recorder(threading.local):
    records: list[PassRecord] | None = None  # of all passes so far, in starting order
    running: tuple[PassRecord, ...] = ()


_recorder = _Recorder()


def is_recording() -> bool:
    """Whether passes are recorded in this thread: a cached result would leave no record."""
    return _recorder.records is not None


def records_so_far() -> list[PassRecord]:
    """The records of the enclosing `recording()` block; empty outside of one."""
    return _recorder.records or []


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
    """work(before, *args), recorded as a pass of that name: in its last record if it ran just before."""
    records = _recorder.records
    if records is None:
        return work(before, *args)
    record = records[-1] if records else None
    if not record or (record.name, record.subject) != (name, subject) or record.after is not before:
        record = PassRecord(name, subject, before)
        records.append(record)
    outer, _recorder.running = _recorder.running, (*_recorder.running, record)
    try:
        record.after = work(before, *args)
    finally:
        _recorder.running = outer
    return record.after


def give_name(old: str, new: str) -> None:
    """Renames the subject `old` in the records, once a kernel has its name. They come last: loops are
    scheduled before fusion, which decides whether a loop's kernel is used."""
    records = records_so_far()
    records.sort(key=lambda record: record.subject == old)
    for record in records:
        if record.subject == old:
            record.subject = new
            record.before = replace(record.before, name=new)
            record.after = replace(record.after, name=new)


def subject_of_pass() -> str:
    """The subject of the current pass, if it is recorded."""
    return _recorder.running[-1].subject if _recorder.running else ""


def event(about: Any, change: Any, why: str = "", origin: Any = None) -> None:
    """Adds an event to the current pass. Only if passes are recorded is it turned into text, with the
    variables' names before the pass: see short_text."""
    if _recorder.running:
        record = _recorder.running[-1]
        about, change = (short_text(thing, record.names) for thing in (about, change))
        record.events.append(Event(about, change, why, origin))
