"""The compiler's passes as a page's data: the changes of each, line by line, and the reasons.

Passes that change and decide nothing are omitted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tinyjax.compile.explain import python_text
from tinyjax.compile.passes.pipeline import KEYS, PASSES
from tinyjax.compile.record import Event, PassRecord
from tinyjax.compile.schedules.directive import Directive, LoopDirective
from tinyjax.core.jaxpr import ClosedJaxpr

DOES = {each.name: each.does for each in (KEYS, *PASSES)} | {
    "fusion": "values get memory, and equations a kernel"
}


def _does(name: str) -> str:
    """A description of a pass; for a directive, the first sentence of its class's docstring."""
    classes = [*Directive.__subclasses__(), *LoopDirective.__subclasses__()]
    directives = {c.__module__.rpartition(".")[2]: c.__doc__ or "" for c in classes}
    text = " ".join(directives.get(name, "").replace("`", "").split())
    return DOES.get(name) or text.partition(". ")[0].removesuffix(".")


def passes_data(records: Sequence[PassRecord]) -> list[dict[str, Any]]:
    """The records as JSON."""
    return [_record_data(record) for record in _changing(records)]


def _changing(records: Sequence[PassRecord]) -> Iterator[PassRecord]:
    """The passes that changed or decided something, in the order in which they ran."""
    return (record for record in records if record.events or any(record.diff()))


def _record_data(record: PassRecord) -> dict[str, Any]:
    """The record as JSON. Reasons and lines of Python are stored once in `texts`; events have their
    numbers."""
    texts: dict[str, int] = {}

    def number(text: str) -> int:
        return texts.setdefault(text, len(texts))

    def event_data(event: Event) -> dict[str, Any]:
        line = python_text(getattr(event.origin, "source_info", None))
        shared = {"why": number(event.why), "line": number(line)}
        return {"about": event.about, "change": event.change, **shared}

    return {
        "name": record.name,
        "subject": record.subject,
        "does": _does(record.name),
        "language": "jaxpr" if isinstance(record.after, ClosedJaxpr) else "c",
        "lines": [[line[0], line[2:]] for line in record.diff()],
        "events": list(map(event_data, record.events)),
        "texts": list(texts),
    }


def changes_text(records: Sequence[PassRecord]) -> str:
    """The passes that changed or decided something, as text."""
    return "\n\n".join(map(str, _changing(records)))
