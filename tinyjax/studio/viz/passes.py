"""The passes of the compiler as a page's data: what changed in each, line by line, and why.

After this file you can say what the passes' view has to work with. It keeps the order in which the passes
ran; those that ran in vain are there too. Builds on compile.record.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinyjax.compile.explain import python_text
from tinyjax.compile.passes.pipeline import KEYS, PASSES
from tinyjax.compile.record import Event, PassRecord
from tinyjax.compile.schedules.directive import Directive, LoopDirective
from tinyjax.core.jaxpr import ClosedJaxpr

DOES = {each.name: each.does for each in (KEYS, *PASSES)} | {
    "fusion": "values get memory, and equations a kernel",
}


def _does(name: str) -> str:
    """What a pass does, in a line; of a directive, what its class says first."""
    classes = [*Directive.__subclasses__(), *LoopDirective.__subclasses__()]
    directives = {c.__module__.rpartition(".")[2]: c.__doc__ or "" for c in classes}
    return DOES.get(name) or directives.get(name, "").partition("\n")[0].replace("`", "")


def passes_data(records: Sequence[PassRecord]) -> list[dict[str, Any]]:
    """The records as JSON has them."""
    return [
        {
            "name": record.name,
            "subject": record.subject,
            "does": _does(record.name),
            "language": "jaxpr" if isinstance(record.after, ClosedJaxpr) else "c",
            "lines": [[line[0], line[2:]] for line in record.diff()],
            "events": [_event_data(event) for event in record.events],
        }
        for record in records
    ]


def _event_data(event: Event) -> dict[str, str]:
    line = python_text(getattr(event.origin, "source_info", None))
    return {"about": event.about, "change": event.change, "why": event.why, "line": line}


def changes_text(records: Sequence[PassRecord]) -> str:
    """The passes that changed or decided something, one after the other."""
    return "\n\n".join(str(record) for record in records if record.events or any(record.diff()))
