"""The compiler's passes as a page's data: the changes of each, line by line, and the reasons.

Passes that change and decide nothing are omitted. Each kernel begins with its naive loop nest, which has the
directives that were left out; those that were applied follow.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from tinyjax.compile.explain import python_text
from tinyjax.compile.kernel.kernel_ir import Kernel
from tinyjax.compile.passes.pipeline import KEYS, PASSES
from tinyjax.compile.record import Event, PassRecord
from tinyjax.compile.schedules.directive import Directive, LoopDirective

NEST = "loop nest"
DOES = {each.name: each.does for each in (KEYS, *PASSES)} | {
    "fusion": "which values are stored in memory, and which equations each kernel computes",
    NEST: "the kernel before any directive: one work-item computes one element after the other",
}


def _does(name: str) -> str:
    """A description of a pass; for a directive, the first sentence of its class's docstring."""
    classes = [*Directive.__subclasses__(), *LoopDirective.__subclasses__()]
    directives = {c.__module__.rpartition(".")[2]: c.__doc__ or "" for c in classes}
    text = " ".join(directives.get(name, "").split())
    return DOES.get(name) or text.partition(". ")[0].removesuffix(".")


def passes_data(records: Sequence[PassRecord]) -> list[dict[str, Any]]:
    """The records as JSON."""
    return [_record_data(record) for record in _changing(records)]


def _changing(records: Sequence[PassRecord]) -> Iterator[PassRecord]:
    """The passes that changed or decided something, in order; a kernel's loop nest before its directives."""
    for kernel, some in groupby(records, lambda r: isinstance(r.before, Kernel) and r.subject):
        if not kernel:
            yield from (record for record in some if record.events or any(record.diff()))
            continue
        first, *others = some
        left_out = [e for r in (first, *others) if not _is_applied(r) for e in r.events]
        yield PassRecord(NEST, first.subject, None, first.before, left_out)
        yield from filter(_is_applied, (first, *others))


def _is_applied(record: PassRecord) -> bool:
    """Whether a directive changed its kernel, once at least."""
    return any(event.change == "applied" for event in record.events)


def _label(record: PassRecord) -> tuple[str, str]:
    """Name and details in the list: a directive's class and axes, or a loop nest's kernel and operations."""
    if record.name == NEST:  # k2_body_0 mul add
        number, operations = re.findall(r"(k\d+(?:_[a-z]+\d*_\d+)*)_?(.*)", record.subject)[0]
        return number, operations.replace("_", " ")
    if not isinstance(record.before, Kernel):
        return record.name, record.subject and f"of {record.subject}"
    first_arguments = re.findall(r"\w+\((\(.*?\)|'\w*'|)", " ".join(e.about for e in record.events))
    axes = dict.fromkeys(re.findall(r"\w+", " ".join(first_arguments)))
    return record.events[0].about.partition("(")[0], ", ".join(axes)


def _record_data(record: PassRecord) -> dict[str, Any]:
    """The record as JSON. Neighbouring events of one change and reason are one. Reasons and lines of Python
    are stored once in `texts`; events have their numbers."""
    texts: dict[str, int] = {}

    def number(text: str) -> int:
        return texts.setdefault(text, len(texts))

    def event_data(events: Sequence[Event]) -> dict[str, Any]:
        lines = (python_text(getattr(event.origin, "source_info", None)) for event in events)
        shared = {"why": number(events[0].why), "sources": [*map(number, dict.fromkeys(lines))]}
        abouts = dict.fromkeys(event.about for event in events)
        about = ("\n" if " " in "".join(abouts) else ", ").join(abouts)  # equations, or names
        return {"about": about, "change": events[0].change, **shared}

    alike = groupby(record.events, lambda event: (event.change, event.why))
    return {
        "name": record.name,
        "subject": record.subject,
        "label": _label(record),
        "does": _does(record.name),
        "language": "c" if isinstance(record.after, Kernel) else "jaxpr",
        "lines": [[line[0], line[2:]] for line in record.diff()],
        "events": [event_data(list(events)) for _, events in alike],
        "texts": list(texts),
    }


def changes_text(records: Sequence[PassRecord]) -> str:
    """The passes that changed or decided something, as text."""
    return "\n\n".join(map(str, _changing(records)))
