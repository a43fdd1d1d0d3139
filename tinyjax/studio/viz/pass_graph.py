"""The compiler's passes as a picture: the program as traced and after each pass, with changes highlighted.

    viz.pass_graph(f, jnp.arange(3.0))

Passes that change nothing are omitted, and the passes of loop bodies are drawn as one pass, `bodies`. As
text, with the reasons: print(*jax.jit(f).lower(x).passes).
"""

from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any

from tinyjax.compile.passes.cse import cse_key
from tinyjax.compile.passes.loops import bodies_of
from tinyjax.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Var
from tinyjax.core.pretty_printer import variable_names
from tinyjax.studio.viz import style
from tinyjax.studio.viz.drawing import Drawing
from tinyjax.studio.viz.output import Graph
from tinyjax.studio.viz.style import NodeStyle
from tinyjax.transform.jit.api import jit


def pass_graph(f: Callable[..., Any], *args: Any) -> Graph:
    """Draw the jaxpr of f as traced, and after each compiler pass that changed it."""
    lowered = jit(f).lower(*args)
    stages = {"traced": lowered.traced.jaxpr.jaxpr}
    for record in lowered.passes:
        if isinstance(record.after, ClosedJaxpr) and not record.subject and any(record.diff()):
            stages[f"{len(stages)}. {record.name}"] = record.after.jaxpr
    jaxprs = list(stages.values())
    drawing = Drawing(jaxprs[0])
    names: dict[Var, str] = {}
    for before, (title, jaxpr), after in zip([None, *jaxprs], stages.items(), [*jaxprs[1:], None]):
        names |= variable_names(jaxpr, names)
        lit = dict.fromkeys(_not_in(jaxpr, before), style.NEW)
        lit |= dict.fromkeys(_not_in(jaxpr, after), style.GOING)
        stage = _Stage(jaxpr, names, lit, drawing.fresh)
        stage.name_ends(jaxpr, lowered.traced.debug_info)
        with drawing.frame(drawing.graph, title) as stage.graph:
            stage.whole(jaxpr)
        drawing.legend_styles += stage.legend_styles
    return drawing.finished()


def _not_in(jaxpr: Jaxpr, other: Jaxpr | None) -> list[JaxprEqn]:
    """The equations of a jaxpr, loop bodies included, that the other one lacks."""
    there = {_key(eqn) for eqn in _equations(other)} if other is not None else None
    return [eqn for eqn in _equations(jaxpr) if there is not None and _key(eqn) not in there]


def _equations(jaxpr: Jaxpr) -> Iterator[JaxprEqn]:
    for eqn in jaxpr.eqns:
        yield eqn
        for body in bodies_of(eqn).values():
            yield from _equations(body.jaxpr)


def _key(eqn: JaxprEqn) -> Hashable:
    """A key that is equal for the same equation in two jaxprs."""
    return cse_key(eqn) or eqn, tuple(eqn.outvars)


class _Stage(Drawing):
    """Draws the program at one stage, in a frame of the picture."""

    def __init__(
        self,
        jaxpr: Jaxpr,
        names: Mapping[Var, str],
        lit: Mapping[JaxprEqn, NodeStyle],
        fresh: Iterator[str],
    ):
        super().__init__(jaxpr, names)
        self.lit = lit
        self.fresh = fresh  # node names are unique in the picture
        self.numbers = {}  # an equation can be in several frames

    def style_of(self, eqn: JaxprEqn) -> NodeStyle:
        node_style = super().style_of(eqn)
        lit = self.lit.get(eqn)
        return (
            lit._replace(own=node_style.attributes | lit.attributes, base="") if lit else node_style
        )
