"""A recorded program as a graph: the values that each value was made from.

A node is an event that computes (by NumPy or a kernel) or writes an equation; an arrow is a value; a frame is
the tracing of one function.
"""

from __future__ import annotations

import html
from collections.abc import Sequence

from tinyjax.studio.viz import style
from tinyjax.studio.viz.events import EventValue, RecordedEvent
from tinyjax.studio.viz.output import Graph

MAX_NODES = 120  # of one picture: more don't help, and take long to lay out

_LONGEST = 16
_STAGES = ("impl", "equation", "launch")


def leaves(events: Sequence[RecordedEvent]) -> list[RecordedEvent]:
    """The events that compute or write something themselves, not by events within them."""
    doing = [event for event in events if event.stage in _STAGES]
    parent = {event.number: event.parent for event in events}
    around: set[int] = set()
    for event in doing:
        number = event.parent
        while number is not None and number not in around:
            around.add(number)
            number = parent[number]
    return [event for event in doing if event.number not in around]


def flow(events: Sequence[RecordedEvent]) -> list[Graph]:
    """Draw the events that compute or write something, at most MAX_NODES in one graph. In the SVG, the node
    of event 7 has the id "event-7", and arrows to it have the class "to-7"."""
    shown = leaves(events)
    starts = range(0, len(shown), MAX_NODES)
    return [_Flow(events, shown[start : start + MAX_NODES]).graph for start in starts]


class _Flow:
    """Builds a graph of some of the events."""

    def __init__(self, events: Sequence[RecordedEvent], shown: Sequence[RecordedEvent]):
        self.events = {event.number: event for event in events}
        self.graph = Graph(graph_attr=style.GRAPH, node_attr=style.NODE, edge_attr=style.EDGE)
        self.makers: dict[int, str] = {}  # a value's node, by the value's id
        self.inputs = {v.id for event in events if event.parent is None for v in event.operands}
        self.frames(self.graph, None, shown)
        for event in shown:
            self.arrows(event)
        drawn = {event.stage for event in shown}
        styles = [_style_of(stage) for stage in _STAGES if stage in drawn]
        self.graph.attr(label=style.legend(styles, ""), labelloc="t", labeljust="l")

    def frames(self, graph: Graph, around: int | None, shown: Sequence[RecordedEvent]) -> None:
        """Draw nodes, those of a traced function within a frame."""
        inside: dict[int | None, list[RecordedEvent]] = {}
        for event in shown:
            inside.setdefault(self.frame_of(event, around), []).append(event)
        for number, events in inside.items():
            if number == around:
                for event in events:
                    self.node(graph, event)
                continue
            assert number is not None
            with graph.frame(f"cluster_{number}", self.events[number].name) as frame:
                self.frames(frame, number, events)

    def frame_of(self, event: RecordedEvent, around: int | None) -> int | None:
        """The outermost function trace around an event, within the one numbered `around`."""
        frame, number = around, event.parent
        while number is not None and number != around:
            if self.events[number].stage == "trace":
                frame = number
            number = self.events[number].parent
        return frame

    def node(self, graph: Graph, event: RecordedEvent) -> None:
        name = f"event-{event.number}"
        lines = [f"<b>{html.escape(event.name)}</b>"]
        lines += [f'<font point-size="9">{_text(value)}</font>' for value in event.results[:1]]
        graph.node(name, f"<{'<br/>'.join(lines)}>", id=name, **_style_of(event.stage).attributes)
        for value in event.results:
            self.makers.setdefault(value.id, name)

    def arrows(self, event: RecordedEvent) -> None:
        for value in event.operands:
            if value.kind == "other" and value.id not in self.inputs:
                continue  # a literal number
            if value.id not in self.makers:
                self.makers[value.id] = f"value-{value.id}"
                self.graph.node(
                    self.makers[value.id], f"<{_text(value)}>", **style.INPUT.attributes
                )
            to = {"class": f"to-{event.number}"}
            self.graph.edge(self.makers[value.id], f"event-{event.number}", **to)


def _style_of(stage: str) -> style.NodeStyle:
    """The style of an event that computes or writes something."""
    styles = {
        "impl": style.IMPL_EVENT,
        "equation": style.EQUATION_EVENT,
        "launch": style.LAUNCH_EVENT,
    }
    return styles[stage]


def _text(value: EventValue) -> str:
    """A short value's text, else its type."""
    text = value.text if value.text and len(value.text) <= _LONGEST else value.aval
    return html.escape(text or value.aval or "?")
