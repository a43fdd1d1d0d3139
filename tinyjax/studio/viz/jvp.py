"""Forward mode as a picture: each node of a function's jaxpr with its primal and its tangent.

viz.jvp(f, 3.0)
"""

from collections.abc import Callable, Sequence
from typing import Any

from tinyjax.core.avals import get_aval
from tinyjax.core.bind import context, set_current_trace
from tinyjax.core.dtypes import is_inexact
from tinyjax.core.tree_util.pytrees import tree_leaves
from tinyjax.studio.viz import style
from tinyjax.studio.viz.drawing import Drawing, Note
from tinyjax.studio.viz.output import Graph
from tinyjax.studio.viz.program import Program
from tinyjax.studio.viz.values import all_values, value_text
from tinyjax.transform.jvp import JVPTrace, JVPTracer, Zero, full


def jvp(f: Callable[..., Any], *primals: Any, tangents: Sequence[Any] | None = None) -> Graph:
    """Draw the jaxpr of `f` with the primal and the tangent of each value.

    `tangents` has one for each of `primals`, of its shape; by default all are ones. Symbolic zero tangents,
    such as a constant's, are neither computed nor shown."""
    program = Program(f, primals)
    trace = JVPTrace(context.trace)
    leaves = (
        [_ones(x) for x in program.leaves] if tangents is None else tree_leaves(tuple(tangents))
    )
    args = [
        JVPTracer(trace, x, t) if is_inexact(get_aval(x).dtype) else x
        for x, t in zip(program.leaves, leaves, strict=True)
    ]
    with set_current_trace(trace):
        found = all_values(program.closed, args)
    drawing = Drawing(program.closed.jaxpr, program.names, program.numbers)
    drawing.name_ends(program.closed.jaxpr, program.debug_info)
    drawing.notes = {v: _notes(*trace.primal_and_tangent(x)) for v, x in found.items()}
    drawing.legend_styles += [style.PRIMAL, style.TANGENT]
    drawing.whole(program.closed.jaxpr)
    return drawing.finished()


def _ones(x: Any) -> Any:
    return full(get_aval(x).to_tangent_aval(), 1)


def _notes(primal: Any, tangent: Any) -> list[Note]:
    notes = [Note(f"primal {value_text(primal)}", style.PRIMAL.attributes["fillcolor"])]
    if type(tangent) is not Zero:
        notes.append(Note(f"tangent {value_text(tangent)}", style.TANGENT.attributes["fillcolor"]))
    return notes
