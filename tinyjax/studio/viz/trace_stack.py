"""Draw the path of one bind through the stack of traces.

    viz.trace_stack(jax.vmap(jax.grad(f)), jnp.arange(3.0))

It shows which traces process an operation under nested transformations, and in which order: the current
trace, then each one below it with the remaining operations; last NumPy, or a jaxpr.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tinyjax.core.tree_util.pytrees import tree_leaves, tree_map
from tinyjax.numpy.creation import asarray
from tinyjax.studio.viz import style
from tinyjax.studio.viz.drawing import Note, label
from tinyjax.studio.viz.events import EventValue, RecordedEvent
from tinyjax.studio.viz.output import Graph
from tinyjax.studio.viz.record import Recorder

# What a trace does with a primitive.
_WORK = {
    "JVPTrace": "applies the jvp rule",
    "BatchTrace": "applies the batch rule",
    "LinearizeTrace": "computes what is known, and writes the rest down",
    "JaxprTrace": "writes an equation",
    "EvalTrace": "runs NumPy",
}
Trace = tuple[str, ...]  # the names of the traces, the outermost first

_RULES = ("jvp rule", "linearize rule", "batch rule", "partial eval rule")
_ENDS = {"impl": ("EvalTrace",), "equation": ("JaxprTrace",)}
_LONGEST_VALUE = 40
_MOST = 6  # boxes drawn below one box


def trace_stack(f: Callable[..., Any], *args: Any) -> Graph:
    """Call `f` and draw the path of one bind: of the binds that depend on the arguments, the first with the
    most traces below it.

    A frame is a trace, the current one at the top; a box is a primitive bound there. Raises ValueError if `f`
    binds no primitive, or only ones traced before."""
    args = tree_map(_as_array, args)
    recorder = Recorder()
    with recorder.at_work():
        given = {recorder.values.describe(x).id for x in tree_leaves(args)}
        f(*args)
    events = recorder.recording.events
    binds = [event for event in events if event.stage == "bind"]
    if not binds:
        raise ValueError(
            "trace_stack found no bind: the function applies no primitive, or was compiled before "
            "(jax.clear_caches() forgets that)"
        )
    first = max(_on_arguments(binds, given) or binds, key=lambda event: len(event.trace))
    return _Stack(events, first).graph


def _as_array(x: Any) -> Any:
    """A float as an array, so that it is recognized as an operand; an int may be a size."""
    return asarray(x) if isinstance(x, float | complex) else x


def _on_arguments(binds: Sequence[RecordedEvent], given: set[int]) -> list[RecordedEvent]:
    """The binds that depend on the given values, on their tracers, or on results of these."""
    found = []
    known, constants = set(given), set()
    for event in binds:
        operands = event.operands
        if any(x.id in known or (x.kind == "tracer" and x.id not in constants) for x in operands):
            found.append(event)
            known |= {value.id for value in event.results}
        else:
            constants |= {value.id for value in event.results}
    return found


class _Stack:
    """Builds the picture: the boxes of each trace, innermost trace first, and the arrows."""

    def __init__(self, events: Sequence[RecordedEvent], first: RecordedEvent):
        self.events = events
        self.first = first
        self.graph = Graph(graph_attr=style.GRAPH, node_attr=style.NODE, edge_attr=style.EDGE)
        self.boxes: dict[Trace, list[RecordedEvent]] = {
            first.trace[:depth]: [] for depth in range(len(first.trace), 0, -1)
        }
        self.place(first, first.trace)
        for trace, boxes in self.boxes.items():
            self.frame(trace, boxes)

    def place(self, event: RecordedEvent, trace: Trace) -> None:
        """Draw the event's box in the frame of a trace, and arrows to the boxes it leads to."""
        self.boxes.setdefault(trace, []).append(event)
        found = list(self.below(event, trace, ""))
        for rule, inner, below in found[:_MOST]:
            self.graph.edge(self.name(event), self.name(inner), f" {rule} " if rule else None)
            self.place(inner, below)
        if len(found) > _MOST:
            rest = f"{self.name(event)}_rest"
            self.graph.node(rest, f"and {len(found) - _MOST} more", **style.LITERAL.attributes)
            self.graph.edge(self.name(event), rest)

    def below(
        self, event: RecordedEvent, trace: Trace, rule: str
    ) -> Iterator[tuple[str, RecordedEvent, Trace]]:
        """The events caused by an event, each with its rule and trace.

        An operation that a trace passes on unchanged has no bind in the next one: only its rule or its end is
        recorded."""
        for inner in self.events:
            if inner.parent != event.number:
                continue
            at = _ENDS.get(inner.stage, inner.trace)
            if inner.stage in _RULES:
                at = trace[: len(inner.trace) + 1]
            if inner.stage == "bind" or (at != trace and inner.stage in (*_ENDS, *_RULES)):
                yield rule, inner, at
            else:
                yield from self.below(inner, trace, inner.stage if inner.stage in _RULES else rule)

    def name(self, event: RecordedEvent) -> str:
        return f"n{event.number - self.first.number}"

    def frame(self, trace: Trace, events: list[RecordedEvent]) -> None:
        """A trace with its boxes."""
        if not events:
            return
        kind = trace[-1]
        same = sorted([t for t in self.boxes if t[-1] == kind and self.boxes[t]], key=len)
        number = f" {1 + same.index(trace)}" if len(same) > 1 else ""
        title = f"{kind}{number}: {_WORK.get(kind, 'a trace')}"
        with self.graph.frame(f"cluster_{len(trace)}_{kind}", title) as frame:
            for event in events:
                lines = [f"<b>{event.name}</b>"]
                notes = [Note(_values(event.operands)), Note(f"gives {_values(event.results)}")]
                frame.node(self.name(event), label(lines, notes), **_style_of(kind).attributes)


def _style_of(kind: str) -> style.NodeStyle:
    """The style of a primitive in a trace of this kind."""
    styles = {
        "JVPTrace": style.JVP_TRACE,
        "BatchTrace": style.BATCH_TRACE,
        "LinearizeTrace": style.LINEARIZE_TRACE,
        "JaxprTrace": style.JAXPR_TRACE,
        "EvalTrace": style.EVAL_TRACE,
    }
    return styles.get(kind, style.EQUATION)


def _values(values: Sequence[EventValue]) -> str:
    text = ", ".join(value.text for value in values)
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + "…"
