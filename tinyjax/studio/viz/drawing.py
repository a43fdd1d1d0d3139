"""The drawing language that all pictures of programs share.

A box is an equation, written as in the printed jaxpr: results, primitive, operands. An arrow goes from a
value's producer to its use. A frame is a jaxpr inside an equation; the inputs of a loop or branch are a row
at the top of its frame, its outputs a row at the bottom. Inputs, results, constants and literals have
distinct shapes and colours.

Other kinds of drawings fill `notes`, which adds lines to a value's node, and `threads`, which changes a
value's arrows, or override `style_of`, which styles an equation's box.

Each box has a class in the SVG: `eqn-2` marks equation 2 of the jaxpr's text (`printed_eqns` counts them);
`from-2` marks boxes made from equation 2 of the function before its transformation.
"""

import contextlib
import html
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import graphviz

from tinyjax.compile.passes.loops import bodies_of
from tinyjax.core.argument_names import result_paths
from tinyjax.core.debug_info import DebugInfo
from tinyjax.core.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, subjaxprs
from tinyjax.core.pretty_printer import literal_text, variable_names
from tinyjax.many_devices.sharding.traffic import cut_texts, mesh_text, traffic_of
from tinyjax.studio.viz import style
from tinyjax.studio.viz.fold import FoldedEqn, all_eqns, folded
from tinyjax.studio.viz.long_edges import long_edges
from tinyjax.studio.viz.output import Graph
from tinyjax.studio.viz.provenance import mark_of, printed_eqns
from tinyjax.studio.viz.ref_order import RefOrder
from tinyjax.studio.viz.style import NodeStyle

_LONGEST_PARAMETER = 48
_BAR = '<table border="0" cellborder="1" cellspacing="0" cellpadding="4">'
_LONGEST_OPERANDS = 24  # characters of a literal written in a box
_MOST_RESULTS = 6  # operands written in a box
_MANY = 3  # this many arrows from one node to a folded equation are drawn as one


class Note(NamedTuple):
    """A line in a node, below its title; `colour` paints a patch behind it."""

    text: str
    fill: str = ""


# The role of values that enter or leave a frame: a word and a colour.
Part = tuple[str, Sequence[Atom], NodeStyle]

# Draws the equations of a jaxpr whose inputs come from these nodes; returns the outputs' nodes.
Body = Callable[[Graph, Jaxpr, dict[Var, str]], list[str]]
Bodies = Mapping[str, tuple[Jaxpr, Body]]

# Functions that draw a branch or a loop, by primitive name, added by control.py.
draw_control_flow: dict[str, Callable[..., list[str]]] = {}


class Drawing:
    """Builds one picture: the graph, and the names of its nodes and values so far."""

    def __init__(
        self,
        jaxpr: Jaxpr,
        names: Mapping[Var, str] | None = None,
        numbers: Mapping[JaxprEqn, int] | None = None,
        places: Sequence[Any] = (),
    ):
        self.graph = Graph(graph_attr=style.GRAPH, node_attr=style.NODE, edge_attr=style.EDGE)
        self.names = names or variable_names(jaxpr)
        self.numbers = numbers or {eqn: n for n, (_, eqn) in enumerate(printed_eqns(jaxpr))}
        self.traffic = traffic_of(jaxpr, places)
        self.long_edges = long_edges(jaxpr)
        self.top = ""  # an input of the whole program, drawn above all frames
        self.alone: set[str] = set()  # nodes that show only a value's name
        self.several: set[str] = set()  # boxes with several results, whose arrows are labelled
        self.titles: dict[Var, str] = {}  # the inputs' names in the function
        self.result_titles: list[str] = []  # the results' paths in the function's result
        self.notes: dict[Var, list[Note]] = {}
        self.threads: dict[Var, NodeStyle] = {}
        self.equation_style = style.EQUATION
        self.upwards = False
        self.open_calls = True  # otherwise a call is a box
        self.remark = ""
        self.ref_order = RefOrder()
        self.fresh: Iterator[str] = (f"n{i}" for i in itertools.count())
        self.legend_styles: list[NodeStyle] = []  # those that the legend explains

    def finished(self) -> Graph:
        """The graph, with its legend."""
        if self.long_edges or self.remark:
            self.graph.attr(**style.LARGE)
        legend = style.legend(self.legend_styles, self.remark)
        if legend:
            self.graph.attr(label=legend, labelloc="t", labeljust="l")
        return self.graph

    def name_ends(self, jaxpr: Jaxpr, debug_info: DebugInfo | None) -> None:
        """Name the program's inputs and results as in the function."""
        if debug_info is None:
            return
        names, paths = debug_info.arg_names, result_paths(debug_info)
        if len(names) == len(jaxpr.invars):
            self.titles |= dict(zip(jaxpr.invars, names))
        if len(paths) == len(jaxpr.outvars) and paths != ["result"]:
            self.result_titles = [path.removeprefix("result") for path in paths]

    # ---- a jaxpr ----

    def whole(self, jaxpr: Jaxpr) -> None:
        """Draw inputs, equations and outputs; a very large program is folded first."""
        drawn, self.remark = folded(jaxpr)
        self.long_edges = long_edges(drawn)
        with self.graph.subgraph(graph_attr={"rank": "source"}) as top:
            sources = self.inputs(top, drawn, style.INPUT)
        self.top = next(iter(sources.values()), "")
        outputs = dict(zip(drawn.outvars, self.body(self.graph, drawn, sources)))
        numbered = [f"out {i}" for i in range(len(jaxpr.outvars))]
        titles = self.result_titles or (numbered if len(numbered) > 1 else ["out"])
        for title, value in zip(titles, jaxpr.outvars):
            if value in outputs:
                title = html.escape(title, quote=False)
                self.outputs(self.graph, [value], [outputs[value]], style.OUTPUT, title)

    def inputs(self, graph: Graph, jaxpr: Jaxpr, node_style: NodeStyle) -> dict[Var, str]:
        """Draw a node for each input and constant, and make it the source of the variable."""
        sources = {v: self.variable(graph, v, style.CONSTANT) for v in jaxpr.constvars}
        return sources | {v: self.variable(graph, v, node_style) for v in jaxpr.invars}

    def outputs(
        self,
        graph: Graph,
        values: Sequence[Atom],
        sources: list[str],
        node_style: NodeStyle,
        title: str = "out",
    ) -> list[str]:
        """A node for each output of a jaxpr."""
        return self.joined(graph, [(values, sources)], node_style, title)

    def joined(
        self,
        graph: Graph,
        ends: Sequence[tuple[Sequence[Atom], list[str]]],
        node_style: NodeStyle,
        title: str = "out",
    ) -> list[str]:
        """A node for each output of jaxprs with equal output types: the branches of a cond, or just one
        jaxpr."""
        several = len(ends[0][0]) > 1
        nodes = []
        for i, values in enumerate(zip(*[values for values, _ in ends])):
            notes = self.notes.get(values[0], []) if len(ends) == 1 else []
            notes = [note for note in notes if not note.fill]  # patches are large, and shown above
            lines = [f"{title} {i}" if several else title]
            nodes.append(self.node(graph, label(lines, notes), node_style))
            for value, (_, sources) in zip(values, ends):
                self.edge(value, sources[i], nodes[i])
        return nodes

    def body(self, graph: Graph, jaxpr: Jaxpr, sources: dict[Var, str]) -> list[str]:
        """Draw the equations; return the source node of each output of the jaxpr."""
        for eqn in jaxpr.eqns:
            self.one_equation(graph, eqn, sources)
        return [self.source(graph, x, sources) for x in jaxpr.outvars]

    def one_equation(self, graph: Graph, eqn: JaxprEqn, sources: dict[Var, str]) -> None:
        """Draw an equation, and add its results' nodes to `sources`."""
        operands = [self.operand(graph, eqn, x, sources) for x in eqn.invars]
        with self.ref_order.inside(eqn):
            sources.update(zip(eqn.outvars, self.equation(graph, eqn, operands)))

    def operand(self, graph: Graph, eqn: JaxprEqn, value: Atom, sources: dict[Var, str]) -> str:
        """An operand's source node; "" for a literal written in the equation's box."""
        if isinstance(value, Literal) and self.is_box(eqn) and self.operands_text(eqn):
            return ""
        if (eqn, value) in self.long_edges:
            return self.name_alone(graph, value)
        return self.source(graph, value, sources)

    # ---- an equation ----

    def is_box(self, eqn: JaxprEqn) -> bool:
        """Whether the equation is drawn as a box, not as a frame."""
        is_frame = eqn.primitive.name in draw_control_flow or (
            self.open_calls and called(eqn) is not None
        )
        return isinstance(eqn, FoldedEqn) or not is_frame

    def equation(self, graph: Graph, eqn: JaxprEqn, operands: list[str]) -> list[str]:
        """Draw an equation whose operands come from these nodes; return its results' nodes."""
        inner = called(eqn)
        if self.is_box(eqn):
            box = self.box(graph, eqn, operands)
            for title, jaxpr in bodies(eqn) if inner is None else []:
                self.hang(graph, box, title, jaxpr)
            return [box] * len(eqn.outvars)
        if eqn.primitive.name in draw_control_flow:
            return draw_control_flow[eqn.primitive.name](
                self, graph, eqn, operands, self.inside(eqn)
            )
        assert inner is not None
        return self.call(graph, eqn, inner, operands)

    def inside(self, eqn: JaxprEqn) -> Bodies:
        """The jaxprs of a branch or a loop, and their drawing functions."""
        return {name: (closed.jaxpr, self.body) for name, closed in bodies_of(eqn).items()}

    def call(self, graph: Graph, eqn: JaxprEqn, inner: Jaxpr, operands: list[str]) -> list[str]:
        """A frame around the one jaxpr that the equation runs on its operands."""
        title = mesh_text(eqn) or eqn.params.get("name", "")
        with self.frame(graph, f"{eqn.primitive.name} {title}") as frame:
            sources = self.inputs(frame, inner, style.INPUT)
            parts = zip(eqn.invars, operands, inner.invars, cut_texts(eqn))
            for operand, source, var, type_ in parts:
                self.edge(operand, source, sources[var], type_)
            return self.body(frame, inner, sources)

    def hang(self, graph: Graph, box: str, title: str, inner: Jaxpr) -> None:
        """A frame below an equation's box, around a jaxpr that the equation runs in a special way."""
        with self.frame(graph, title) as frame:
            sources = self.inputs(frame, inner, style.INPUT)
            for node in sources.values():
                self.arrow(box, node, style="dashed")
            outputs = self.body(frame, inner, sources)
            self.outputs(frame, inner.outvars, outputs, style.OUTPUT)

    def box(self, graph: Graph, eqn: JaxprEqn, operands: list[str]) -> str:
        *above, results = self.results(eqn) or [""]
        title = _small(results and f"{results} = ") + f"<b>{html.escape(eqn.primitive.name)}</b>"
        lines = [*map(_small, above), title + _small(self.operands_text(eqn))]
        lines += map(_small, visible_params(eqn))
        several = len(eqn.outvars) > 1
        notes = [
            note._replace(text=f"{self.names[v]}: {note.text}") if several else note
            for v in eqn.outvars
            for note in self.notes.get(v, [])
        ]
        notes += [Note(exchange.short) for exchange in self.traffic.of(eqn)]
        box = self.node(graph, label(lines, notes), self.style_of(eqn), self.classes(eqn))
        if several:
            self.several.add(box)
        for source, values in _by_source(eqn, operands).items():
            if isinstance(eqn, FoldedEqn) and len(values) > _MANY:
                self.arrow(source, box, f" {len(values)} values ")
                continue
            for value in values:
                self.edge(value, source, box)
        self.ref_order.arrows(eqn, box, self.arrow, self.legend_styles)
        return box

    def operands_text(self, eqn: JaxprEqn) -> str:
        """The operands' names in order, if a box has room for them."""
        text = " ".join(["", *map(self.name_of, eqn.invars)])
        return text if len(text) <= _LONGEST_OPERANDS and not isinstance(eqn, FoldedEqn) else ""

    def results(self, eqn: JaxprEqn) -> list[str]:
        """The names and types of an equation's results, if a box has room for them."""
        shown = [self.typed(v) for v in eqn.outvars if self.names.get(v, "_") != "_"]
        return shown if len(shown) <= _MOST_RESULTS else [f"{len(shown)} results"]

    def style_of(self, eqn: JaxprEqn) -> NodeStyle:
        node_style = style.COLLECTIVE if self.traffic.of(eqn) else self.equation_style
        border = {"peripheries": "2"} if isinstance(eqn, FoldedEqn) else {}
        return node_style.having(**border)

    def classes(self, eqn: JaxprEqn) -> str:
        """The SVG classes by which scripts find the equation."""
        found: dict[str, None] = {}
        for each in all_eqns([eqn]) if isinstance(eqn, FoldedEqn) else [eqn]:
            number, mark = self.numbers.get(each), mark_of(each)
            found |= {} if number is None else {f"eqn-{number}": None}
            found |= {} if mark is None else {f"from-{mark}": None}
        return " ".join(found)

    # ---- the smallest parts: a frame, a node, an edge, and the node that a value comes from ----

    def frame(
        self, graph: Graph, title: str, **attributes: str
    ) -> contextlib.AbstractContextManager[Graph]:
        above = self.top if graph is self.graph else ""
        return graph.frame(f"cluster_{next(self.fresh)}", title, above, **attributes)

    def variable(self, graph: Graph, var: Var, node_style: NodeStyle) -> str:
        notes = self.notes.get(var, [])
        if any(note.fill for note in notes):
            node_style = node_style.having(shape="box", style="filled,rounded")
        type_ = self.typed(var) if var in self.titles else self.type_of(var)
        return self.node(graph, label([self.title_of(var), _small(type_)], notes), node_style)

    def node(self, graph: Graph, text: str, node_style: NodeStyle, classes: str = "") -> str:
        name = next(self.fresh)
        graph.node(name, text, **node_style.attributes, **({"class": classes} if classes else {}))
        self.legend_styles.append(node_style)
        return name

    def bar(self, graph: Graph, *parts: Part) -> list[str]:
        """A frame's inputs or outputs side by side, a cell for each value. Returns the cells' ports."""
        heading, row, number = style.shade("text"), "", itertools.count()
        for title, values, node_style in parts:
            if not values:
                continue
            self.legend_styles.append(node_style)
            row += f'<td border="0"><font color="{heading}" point-size="10"> {title}</font></td>'
            for value in values:
                lines = f"{html.escape(self.name_of(value))}<br/>{_small(self.type_of(value))}"
                fill = style.shade(node_style.attributes["fillcolor"])
                row += f'<td port="p{next(number)}" bgcolor="{fill}">{lines}</td>'
        if not row:
            return []
        node = self.node(graph, f"<{_BAR}<tr>{row}</tr></table>>", style.BAR)
        return [f"{node}:p{i}" for i in range(next(number))]

    def title_of(self, var: Var) -> str:
        """An input's name in the function, else in the jaxpr."""
        return html.escape(self.titles.get(var, self.names[var]), quote=False)

    def name_of(self, value: Atom) -> str:
        if isinstance(value, Literal):
            return _short(literal_text(value))
        return self.names.get(value, "_")

    def edge(self, value: Atom, tail: str, head: str, type_: str = "", **attributes: str) -> None:
        """An arrow; `type_` is the value's type at the target, if it differs."""
        if isinstance(value, Var) and value in self.threads:
            self.legend_styles.append(self.threads[value])
            attributes = self.threads[value].attributes | attributes
        if tail in self.alone:  # directly above its use
            attributes["constraint"] = "true"
        which = self.names[value] if isinstance(value, Var) and tail in self.several else ""
        text = self.typed(value, type_) if type_ else which
        # spaces keep the label off the arrow
        self.arrow(tail, head, f" {text} " if text else "", **attributes)

    def typed(self, value: Atom, type_: str = "") -> str:
        """Name and type, and how the value is split."""
        type_ = type_ or self.type_of(value)
        if "@" in type_:
            self.legend_styles.append(style.SPLIT)
        return type_ if isinstance(value, Literal) else f"{self.names[value]}:{type_}"

    def type_of(self, value: Atom) -> str:
        return self.traffic.type_text(value)

    def arrow(self, tail: str, head: str, text: str = "", **attributes: str) -> None:
        if self.upwards:
            direction = "forward" if attributes.get("dir") == "back" else "back"
            tail, head, attributes = head, tail, attributes | {"dir": direction}
        self.graph.edge(tail, head, text or None, **attributes)

    def name_alone(self, graph: Graph, value: Any) -> str:
        """A value's name in place of an arrow that would cross the whole picture."""
        node = self.node(graph, self.names[value], style.FROM_AFAR)
        self.alone.add(node)
        return node

    def source(self, graph: Graph, value: Atom, sources: dict[Var, str]) -> str:
        if isinstance(value, Literal):
            return self.node(graph, graphviz.escape(self.name_of(value)), style.LITERAL)
        return sources[value]


# ---- what is written in a node ----


def label(lines: list[str], notes: list[Note]) -> str:
    """A node's label: lines of HTML, and its notes below them, on patches if they have colours."""
    plain = [_small(note.text) for note in notes if not note.fill]
    patches = [note for note in notes if note.fill]
    if not patches:
        text = "<br/>".join(lines + plain)
        return f"<{text}>" if "<" in text else text
    rows = [f"<tr><td>{line}</td></tr>" for line in lines + plain]
    rows += [f'<tr><td bgcolor="{style.shade(n.fill)}">{_small(n.text)}</td></tr>' for n in patches]
    return f'<<table border="0" cellspacing="2" cellpadding="1">{"".join(rows)}</table>>'


def _small(text: str) -> str:
    return f'<font point-size="10">{html.escape(text)}</font>' if text else ""


def _short(number: str) -> str:
    """The shortest text of a float: 0.10000000149011612, the float32 nearest to a tenth, is 0.1."""
    is_long = len(number) > 10 and "." in number and "j" not in number
    return f"{float(number):.6g}" if is_long else number


def visible_params(eqn: JaxprEqn) -> list[str]:
    """The parameters that arrows, types and jaxprs don't show already."""
    told = [x for v in eqn.outvars[:1] for x in (v.aval.shape, v.aval.dtype)]
    jaxprs = [key.split("[")[0] for key, _ in bodies(eqn)]
    lines = []
    for key, value in eqn.params.items():
        parts = value if isinstance(value, tuple | list) else (value,)
        unset = all(part is None or part is False for part in parts)  # except 0
        if key in jaxprs or unset or callable(value) or value in told:
            continue
        # of functions: it differs from run to run
        text = re.sub(r" at 0x[0-9a-f]+", "", str(value))
        text = re.sub(r"np\.int64\((-?\d+)\)", r"\1", text)
        if len(text) > _LONGEST_PARAMETER:
            text = text[: _LONGEST_PARAMETER - 1] + "…"
        lines.append(f"{key}={text}")
    return lines


def _by_source(eqn: JaxprEqn, operands: Sequence[str]) -> dict[str, list[Atom]]:
    """The operands by source node."""
    found: dict[str, list[Atom]] = {}
    for value, source in zip(eqn.invars, operands):
        if source:
            found.setdefault(source, []).append(value)
    return found


# ---- jaxprs inside an equation ----


def unwrap_closed_jaxpr(jaxpr: Jaxpr | ClosedJaxpr) -> Jaxpr:
    return jaxpr.jaxpr if isinstance(jaxpr, ClosedJaxpr) else jaxpr


def bodies(eqn: JaxprEqn) -> list[tuple[str, Jaxpr]]:
    """The jaxprs among the parameters of `eqn`, each with the parameter's name."""
    found = []
    for key, value in eqn.params.items():
        several = isinstance(value, tuple | list)
        for i, item in enumerate(value if several else [value]):
            if isinstance(item, Jaxpr | ClosedJaxpr):
                found.append((f"{key}[{i}]" if several else key, unwrap_closed_jaxpr(item)))
    return found


def called(eqn: JaxprEqn) -> Jaxpr | None:
    """The inner jaxpr of `eqn` if it has exactly one, with the same inputs and outputs as `eqn` itself."""
    inside = list(subjaxprs(eqn.params))
    if len(inside) != 1:
        return None
    same = len(inside[0].invars) == len(eqn.invars)
    same = same and len(inside[0].outvars) == len(eqn.outvars)
    return inside[0] if same else None
