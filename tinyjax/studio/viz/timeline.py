"""A recording as the page's data: events, their values and places, and the sources of all lines.

Shared data is written once, and events refer to it by number: 2,000 events take about 300 kB.
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from tinyjax.core.bind import Trace
from tinyjax.core.jaxpr import SourceLine
from tinyjax.studio.viz.arrays.thumbnail import thumbnail
from tinyjax.studio.viz.event_text import short_file
from tinyjax.studio.viz.events import CodeLine, EventValue, RecordedEvent
from tinyjax.studio.viz.flow import flow, leaves
from tinyjax.studio.viz.output import DotNotFound, inline_svg
from tinyjax.studio.viz.record import Recorder, Recording
from tinyjax.studio.viz.sources import function_around

MAX_EVENTS = 2_000  # as many as a page can show and a reader can follow

STAGES = {
    "bind": "an operation is called; the current trace decides what becomes of it",
    "impl": "NumPy computes it",
    "abstract eval": "from the operands' types follows the result's",
    "jvp rule": "forward mode: the value, and how fast it moves",
    "batch rule": "vmap: one operation for the whole batch",
    "transpose rule": "reverse mode: what comes in at the result goes out at the operands",
    "linearize rule": "the value now, and a linear function of its tangent for later",
    "partial eval rule": "what is known is computed, what is unknown is written down",
    "equation": "it is written down as an equation of a jaxpr",
    "trace": "a whole function is run to find out what it does",
    "compile": "a stage of the compiler",
    "launch": "compiled code runs",
}


def recorded(f: Callable[..., Any], args: Sequence[Any]) -> Recording:
    """Record a call of `f`, with pictures of the arrays."""
    recorder = Recorder(MAX_EVENTS, thumbnail)
    with recorder.at_work():
        f(*args)
    return recorder.recording


def timeline(recording: Recording, here: SourceLine | None) -> dict[str, Any]:
    """The recording as JSON. `here` is the line that requested the page, which isn't shown as the user's."""
    return _Timeline(recording, here).data


class _Shared:
    """Numbers equal things, so that each is written once."""

    def __init__(self, written: Callable[[Any], Any]):
        self.written = written
        self.numbers: dict[Hashable, int] = {}
        self.data: list[Any] = []

    def number(self, thing: Hashable) -> int:
        if thing not in self.numbers:
            self.numbers[thing] = len(self.data)
            self.data.append(None)  # reserve its number, as others may be added meanwhile
            self.data[self.numbers[thing]] = self.written(thing)
        return self.numbers[thing]


class _Timeline:
    """Converts one recording for the page."""

    def __init__(self, recording: Recording, here: SourceLine | None):
        self.here = here
        self.values = _Shared(lambda v: dict(zip(("aval", "text", "kind", "id", "picture"), v)))
        self.stacks = _Shared(list)
        self.sources = _Shared(_source)
        self.places = _Shared(self.place)
        events = list(map(self.event, recording.events))
        names = {name for stack in self.stacks.data for name in stack}
        pictures, remark = _pictures(recording.events)
        self.data = {
            "events": events,
            "values": self.values.data,
            "stacks": self.stacks.data,
            "places": self.places.data,
            "sources": self.sources.data,
            "stages": STAGES,
            "traces": {name: text for name, text in _trace_texts().items() if name in names},
            "missed": recording.missed,
            "graph": pictures,
            "graphRemark": remark,
        }

    def event(self, event: RecordedEvent) -> dict[str, Any]:
        is_here = event.line is not None and self.here == tuple(event.line)
        return {
            "parent": event.parent,
            "stage": event.stage,
            "name": event.name,
            "stack": self.stacks.number(event.trace),
            "operands": self.numbered(event.operands),
            "results": self.numbered(event.results),
            "params": event.params,
            "rule": self.place_number(event.rule),
            "line": None if is_here else self.place_number(event.line),
            "error": event.error,
        }

    def numbered(self, values: Sequence[EventValue]) -> list[list[Any]]:
        """The number and the role of each."""
        return [
            [self.values.number((v.aval, v.text, v.kind, v.id, v.picture)), v.role] for v in values
        ]

    def place_number(self, place: CodeLine | None) -> int | None:
        return None if place is None else self.places.number(place)

    def place(self, place: CodeLine) -> dict[str, int]:
        file, numbers, name = function_around(place.file, place.line)
        return {"source": self.sources.number((file, numbers, name)), "line": place.line}


def _source(function: tuple[str, range, str]) -> dict[str, Any]:
    file, numbers, name = function
    lines = [linecache.getline(file, number).rstrip() for number in numbers]
    return {"file": short_file(file), "name": name, "first": numbers.start, "lines": lines}


def _trace_texts() -> dict[str, str]:
    """A description of each kind of trace: the first sentence of its docstring."""
    texts, pending = {}, [Trace]
    while pending:
        kind = pending.pop()
        pending += kind.__subclasses__()
        words = " ".join((kind.__doc__ or "").split())
        texts[kind.__name__] = re.sub(r"\.( .*)?$", "", words).replace("`", "")
    return texts


def _pictures(events: Sequence[RecordedEvent]) -> tuple[list[str], str]:
    """The graph as SVG, in parts if it is large, and a remark."""
    if not leaves(events):
        return [], "Nothing was computed or written down."
    try:
        return [inline_svg(part) for part in flow(events)], ""
    except DotNotFound as error:
        return [], str(error)
