"""After this file you can look at a jaxpr as a picture.

    from tinyjax import viz
    graph = viz.dot(jax.make_jaxpr(f)(x))   # shows itself in a notebook
    viz.save(graph, "f.svg")

A box is an equation, an arrow a value (named and typed as in the printed jaxpr), a frame a jaxpr
inside an equation. Inputs, outputs, constants and literals have shapes and colours of their own.
Builds on jaxpr.py and pretty_printer.py; the layout is made by Graphviz's program `dot`.
"""

import html
import itertools
import re
import shutil
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphviz
from graphviz.backend import dot_command

from tinyjax.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from tinyjax.pretty_printer import literal_text, variable_names

# ---- how it looks ----

# Nodes carry dark text on a light fill of their own, and what is drawn on the page itself is of a
# grey whose contrast is 4.5 against white and against black: one picture serves both. The fills are
# light shades of the palette of Okabe and Ito (https://jfly.uni-koeln.de/color), which every eye
# can tell apart; the shapes say the same again.
_GREY = "#767676"
# newrank: rank frames and all in one go, ten times as fast for hundreds of equations in frames.
_GRAPH = {"bgcolor": "transparent", "nodesep": "0.25", "ranksep": "0.3", "newrank": "true"}
_TEXT = {"fontname": "Helvetica", "fontsize": "10", "fontcolor": _GREY}
_EDGE = _TEXT | {"color": _GREY, "arrowsize": "0.6"}
_NODE = _TEXT | {"fontsize": "12", "fontcolor": "#111111", "color": _GREY, "style": "filled"}
_NODE |= {"height": "0.3", "margin": "0.12,0.05"}

_EQUATION = {"shape": "box", "style": "filled,rounded", "fillcolor": "#f4f4f4"}
_INPUT = {"shape": "ellipse", "fillcolor": "#8ccbf2"}
_INNER_INPUT = {"shape": "ellipse", "fillcolor": "#d9eefb"}
_OUTPUT = {"shape": "invhouse", "fillcolor": "#f0b949"}
_INNER_OUTPUT = {"shape": "invhouse", "fillcolor": "#fae8c4"}
_CONSTANT = {"shape": "parallelogram", "fillcolor": "#e6bdd4"}
_LITERAL = {"shape": "plain", "style": "", "fontcolor": _GREY}
_FRAME = _TEXT | {"style": "rounded,dashed", "color": _GREY, "labeljust": "l"}
_FRAME |= {"penwidth": "1"}  # not that of the frame around it

_LONGEST_PARAMETER = 48

_FORMATS = ("svg", "png", "pdf", "dot")


# ---- from a jaxpr to a graph ----


def dot(jaxpr: Jaxpr | ClosedJaxpr) -> graphviz.Digraph:
    """Draw `jaxpr`, jaxprs inside it included; equal jaxprs give an equal `.source`.

    Raises TypeError if given anything else, such as the function itself.
    """
    if not isinstance(jaxpr, Jaxpr | ClosedJaxpr):
        raise TypeError(
            f"dot draws a Jaxpr or a ClosedJaxpr, not a {type(jaxpr).__name__}; for a function f "
            "write dot(jax.make_jaxpr(f)(*args))"
        )
    drawing = Drawing(variable_names(_open(jaxpr)))
    drawing.whole(_open(jaxpr))
    return drawing.graph


# How the equations of a jaxpr, whose inputs come from these nodes, are drawn: the outputs' nodes.
Body = Callable[[graphviz.Digraph, Jaxpr, dict[Var, str]], list[str]]


class Drawing:
    """One picture in the making: the graph, and the names that its nodes and values have so far."""

    def __init__(self, names: dict[Var, str]):
        self.graph = _Graph(graph_attr=_GRAPH, node_attr=_NODE, edge_attr=_EDGE)
        self.names = names
        self.fresh = (f"n{i}" for i in itertools.count())

    def whole(self, jaxpr: Jaxpr) -> None:
        """Draw inputs, equations and outputs."""
        outputs = self.body(self.graph, jaxpr, self.inputs(self.graph, jaxpr, _INPUT))
        for i, (var, source) in enumerate(zip(jaxpr.outvars, outputs)):
            label = "out" if len(outputs) == 1 else f"out {i}"
            self.edge(var, source, self.node(self.graph, label, _OUTPUT))

    def inputs(self, graph: graphviz.Digraph, jaxpr: Jaxpr, kind: dict[str, str]) -> dict[Var, str]:
        """A node for each input and constant: where the values of these variables come from."""
        sources = {var: self.node(graph, self.names[var], _CONSTANT) for var in jaxpr.constvars}
        sources |= {var: self.node(graph, self.names[var], kind) for var in jaxpr.invars}
        return sources

    def body(self, graph: graphviz.Digraph, jaxpr: Jaxpr, sources: dict[Var, str]) -> list[str]:
        """Draw the equations; give the node that each output of the jaxpr comes from."""
        for eqn in jaxpr.eqns:
            operands = [self.source(graph, x, sources) for x in eqn.invars]
            inner = _called(eqn)
            results = (
                self.equation(graph, eqn, list(zip(eqn.invars, operands)))
                if inner is None
                else self.call(graph, eqn, inner, operands)
            )
            sources.update(zip(eqn.outvars, results))
        return [self.source(graph, x, sources) for x in jaxpr.outvars]

    def equation(
        self, graph: graphviz.Digraph, eqn: JaxprEqn, operands: list[tuple[Atom, str]]
    ) -> list[str]:
        """A box; jaxprs among its parameters (the branches of a cond, say) hang from it."""
        box = self.box(graph, eqn, operands)
        for title, inner in _bodies(eqn):
            self.hang(graph, box, title, inner, self.body)
        return [box] * len(eqn.outvars)

    def hang(
        self, graph: graphviz.Digraph, box: str, title: str, inner: Jaxpr, draw_body: Body
    ) -> None:
        """A frame around a jaxpr that an equation's box may run, many times or not at all."""
        with self.frame(graph, title) as frame:
            sources = self.inputs(frame, inner, _INNER_INPUT)
            for node in sources.values():
                self.graph.edge(box, node, style="dashed")
            outputs = draw_body(frame, inner, sources)
            for value, source in zip(inner.outvars, outputs):
                self.edge(value, source, self.node(frame, "out", _INNER_OUTPUT))

    def call(
        self, graph: graphviz.Digraph, eqn: JaxprEqn, inner: Jaxpr, operands: list[str]
    ) -> list[str]:
        """A frame around the one jaxpr that the equation runs on its operands."""
        with self.frame(graph, f"{eqn.primitive.name} {eqn.params.get('name', '')}") as frame:
            sources = self.inputs(frame, inner, _INNER_INPUT)
            for operand, source, var in zip(eqn.invars, operands, inner.invars):
                self.edge(operand, source, sources[var])
            return self.body(frame, inner, sources)

    # The smallest parts: an equation's box, a frame, a node, an edge, and the node that a value comes from.

    def box(self, graph: graphviz.Digraph, eqn: JaxprEqn, operands: list[tuple[Atom, str]]) -> str:
        box = self.node(graph, _equation_label(eqn), _EQUATION)
        for value, source in operands:
            self.edge(value, source, box)
        return box

    def frame(self, graph: graphviz.Digraph, title: str, **style: str) -> Any:
        return graph.subgraph(
            name=f"cluster_{next(self.fresh)}",
            graph_attr=_FRAME | {"label": graphviz.escape(title)} | style,
        )

    def node(self, graph: graphviz.Digraph, label: str, kind: dict[str, str]) -> str:
        name = next(self.fresh)
        graph.node(name, label, **kind)
        return name

    def edge(self, value: Atom, tail: str, head: str, **style: str) -> None:
        type_ = value.aval.str_short(short_dtypes=True)
        label = type_ if isinstance(value, Literal) else f"{self.names[value]}:{type_}"
        self.graph.edge(tail, head, f" {label} ", **style)  # the spaces keep the text off the arrow

    def source(self, graph: graphviz.Digraph, value: Atom, sources: dict[Var, str]) -> str:
        if isinstance(value, Literal):
            return self.node(graph, graphviz.escape(literal_text(value)), _LITERAL)
        return sources[value]


def _open(jaxpr: Jaxpr | ClosedJaxpr) -> Jaxpr:
    return jaxpr.jaxpr if isinstance(jaxpr, ClosedJaxpr) else jaxpr


def _bodies(eqn: JaxprEqn) -> list[tuple[str, Jaxpr]]:
    """The jaxprs among the parameters of `eqn`, each with the parameter's name."""
    bodies = []
    for key, value in eqn.params.items():
        several = isinstance(value, tuple | list)
        for i, item in enumerate(value if several else [value]):
            if isinstance(item, Jaxpr | ClosedJaxpr):
                bodies.append((f"{key}[{i}]" if several else key, _open(item)))
    return bodies


def _called(eqn: JaxprEqn) -> Jaxpr | None:
    """The jaxpr of `eqn` if it has one, with the same inputs and outputs as `eqn` itself."""
    bodies = _bodies(eqn)
    if len(bodies) != 1:
        return None
    _, inner = bodies[0]
    same = len(inner.invars) == len(eqn.invars) and len(inner.outvars) == len(eqn.outvars)
    return inner if same else None


def _equation_label(eqn: JaxprEqn) -> str:
    """The primitive in bold, and below it the parameters which the arrows do not tell already."""
    told = [x for v in eqn.outvars[:1] for x in (v.aval.shape, v.aval.dtype)]
    jaxprs = [key.split("[")[0] for key, _ in _bodies(eqn)]
    lines = [f"<b>{html.escape(eqn.primitive.name)}</b>"]
    for key, value in eqn.params.items():
        if key in jaxprs or value is None or value in (False, (), *told):
            continue
        text = re.sub(r" at 0x[0-9a-f]+", "", str(value))  # of functions: differs from run to run
        if len(text) > _LONGEST_PARAMETER:
            text = text[: _LONGEST_PARAMETER - 1] + "…"
        lines.append(f'<font point-size="9">{key}={html.escape(text)}</font>')
    return f"<{'<br/>'.join(lines)}>"


# ---- from a graph to a picture ----


class DotNotFound(RuntimeError):
    """There is no program on this machine that can lay out a graph."""


def save(graph: graphviz.Digraph, path: str | Path) -> Path:
    """Write `graph` to `path`, as what its ending says: .svg, .png, .pdf or .dot.

    Raises ValueError for another ending, or one that the layout program can't write; DotNotFound
    if there is no layout program: then the graph's source has been written beside `path`, with the
    ending .dot.
    """
    path = Path(path)
    if path.suffix[1:] not in _FORMATS:
        endings = ", ".join(f".{name}" for name in _FORMATS)
        raise ValueError(f"cannot write {str(path)!r}: its ending must be one of {endings}")
    if path.suffix == ".dot":
        path.write_text(graph.source)
        return path
    try:
        picture = graph.pipe(format=path.suffix[1:], quiet=True)
    except DotNotFound as error:
        source = path.with_suffix(".dot")
        source.write_text(graph.source)
        raise DotNotFound(f"{error} The graph's source is in {source}.") from None
    except graphviz.CalledProcessError as error:
        raise ValueError(
            f"{layout_program()} cannot write {str(path)!r}: choose another ending, such as .svg, or "
            f"install Graphviz. It said: {error.stderr.decode(errors='replace').strip()}"
        ) from None
    path.write_bytes(picture)
    return path


def layout_program() -> str | None:
    """The system's `dot`, else the one which `pip install graphviz-pure` brings, else None."""
    beside_python = Path(sysconfig.get_path("scripts"), "graphviz-pure")
    return shutil.which("dot") or shutil.which("graphviz-pure") or shutil.which(beside_python)


class _Graph(graphviz.Digraph):
    """A Digraph which is laid out by `layout_program()`, and says what to do if there is none."""

    def pipe(self, *args: Any, **kwargs: Any) -> Any:
        program = layout_program()
        if program is None:
            raise DotNotFound(
                "No program to lay out a graph was found. Install Graphviz (apt install graphviz, "
                "brew install graphviz), or run: pip install graphviz-pure."
            )
        dot_command.DOT_BINARY = Path(program)
        return super().pipe(*args, **kwargs)

    def _repr_mimebundle_(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        try:
            return super()._repr_mimebundle_(*args, **kwargs)
        except DotNotFound as error:
            return {"text/plain": f"{error} The graph's source:\n\n{self.source}"}
