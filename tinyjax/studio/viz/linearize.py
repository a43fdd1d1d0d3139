"""Linearization as a picture: the part computed at once, and the linear jaxpr left for later.

    viz.linearize(f, 3.0)

Residuals are the values that go from the known part to the linear one.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tinyjax.core import dtypes
from tinyjax.core.avals import get_aval
from tinyjax.core.jaxpr import Atom, Jaxpr, JaxprEqn, Var, jaxpr_as_fun, without_dead_code
from tinyjax.core.lists import pick
from tinyjax.core.tracing import JaxprTrace
from tinyjax.studio.viz import style
from tinyjax.studio.viz.drawing import Drawing, Note
from tinyjax.studio.viz.fold import LIMIT, folded
from tinyjax.studio.viz.output import Graph
from tinyjax.studio.viz.program import Program
from tinyjax.studio.viz.style import NodeStyle
from tinyjax.studio.viz.values import all_values, value_text
from tinyjax.transform.linearize import LinearizeTrace, trace_linear


def linearize(f: Callable[..., Any], *primals: Any) -> Graph:
    """Draw `f` at these primals in two parts: the known one, with its values, and the linear jaxpr.

    Raises ValueError if primals and tangents can't be separated, as in a while_loop."""
    parts = KnownAndLinear(f, primals)
    later = parts.linear
    drawing = Drawing(parts.with_known(later))
    found = all_values(parts.known, parts.leaves)
    drawing.notes = {v: [Note(value_text(x))] for v, x in found.items()}
    sources, _ = draw_known(drawing, parts, "now: from primals to the value", style.RESIDUAL)
    drawing.equation_style = style.UNKNOWN
    with drawing.frame(drawing.graph, "later: from tangents to the value's tangent") as frame:
        sources |= {v: drawing.variable(frame, v, style.TANGENT_INPUT) for v in later.invars}
        drawn, remark = folded(later, LIMIT // 2, keep_ends=True)
        drawing.remark = drawing.remark or remark
        outputs = drawing.body(frame, drawn, sources)
        drawing.outputs(frame, later.outvars, outputs, style.TANGENT_OUTPUT, "tangent")
    return drawing.finished()


def draw_known(
    drawing: Drawing, parts: "KnownAndLinear", title: str, residual: NodeStyle
) -> tuple[dict[Var, str], list[str]]:
    """Draw the known part, whose values' later edges are residuals; return its values' nodes and its last
    nodes."""
    known, drawing.remark = folded(parts.known.jaxpr, LIMIT // 2, keep_ends=True)
    drawing.name_ends(known, parts.debug_info)
    drawing.equation_style = style.KNOWN
    with drawing.frame(drawing.graph, title) as frame:
        sources = drawing.inputs(frame, known, style.INPUT)
        outputs = drawing.body(frame, known, sources)[: parts.num_outs]
        ends = drawing.outputs(frame, known.outvars[: parts.num_outs], outputs, style.OUTPUT)
    drawing.threads |= {v: residual for v in sources}
    return sources, ends


class KnownAndLinear:
    """A function in two parts: `known`, of its primals, and `linear`, of their tangents.

    `linear` has the residuals as variables of `known`, whose results are the function's and then the
    residuals. `differentiated` are the inputs that have tangents."""

    def __init__(self, f: Callable[..., Any], primals: Sequence[Any]):
        program = Program(f, tuple(primals))
        self.debug_info = program.debug_info
        known, unknown = JaxprTrace(), JaxprTrace()
        trace = LinearizeTrace(known, unknown)
        args = [known.new_arg(get_aval(x)) for x in program.leaves]
        outs, linear = trace_linear(trace, jaxpr_as_fun(program.closed), args)
        self.leaves = program.leaves
        self.num_outs = len(outs)
        self.known = without_dead_code(known.finish([*outs, *linear.residuals]))
        nonzero = [aval.dtype != dtypes.float0 for aval in linear.in_avals]
        self.differentiated = pick(self.known.jaxpr.invars, nonzero)
        self.residuals = self.known.jaxpr.outvars[len(outs) :]
        self.linear = renamed(linear.jaxpr, dict(zip(linear.jaxpr.constvars, self.residuals)))

    def with_known(self, later: Jaxpr) -> Jaxpr:
        """One jaxpr of both parts, for the names of their variables."""
        known = self.known.jaxpr
        outs = known.outvars[: self.num_outs]
        return Jaxpr(
            known.constvars,
            known.invars + later.invars,
            outs + later.outvars,
            known.eqns + later.eqns,
        )


def renamed(jaxpr: Jaxpr, new: Mapping[Any, Atom]) -> Jaxpr:
    """A jaxpr with the constants and inputs in `new` replaced by other variables."""

    def replaced(atoms: Sequence[Atom]) -> list[Atom]:
        return [new.get(v, v) for v in atoms]

    eqns: list[JaxprEqn] = [eqn.replace(invars=replaced(eqn.invars)) for eqn in jaxpr.eqns]
    constvars, invars = ([v for v in vs if v not in new] for vs in (jaxpr.constvars, jaxpr.invars))
    return Jaxpr(constvars, invars, replaced(jaxpr.outvars), eqns)
