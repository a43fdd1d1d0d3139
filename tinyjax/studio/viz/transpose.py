"""Reverse mode as a picture: the forward pass, and beside it the cotangents that flow back.

    viz.transpose(f, 3.0)

Cotangents flow from the result up to the arguments: through the transposed linear equations, which read
residuals of the forward pass, and through a sum wherever a value was used twice.
"""

from collections.abc import Callable
from typing import Any

from tinyjax.core.bind import set_current_trace
from tinyjax.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Var
from tinyjax.core.tracing import JaxprTrace
from tinyjax.studio.viz import style
from tinyjax.studio.viz.drawing import Drawing, Note, draw_control_flow
from tinyjax.studio.viz.fold import LIMIT, folded
from tinyjax.studio.viz.linearize import KnownAndLinear, draw_known, renamed
from tinyjax.studio.viz.output import Graph
from tinyjax.studio.viz.style import NodeStyle
from tinyjax.studio.viz.values import all_values, value_text
from tinyjax.transform.jvp import add_any_p, full, instantiate_zeros
from tinyjax.transform.transposition import ValAccum, backward_pass


def transpose(f: Callable[..., Any], *primals: Any) -> Graph:
    """Draw `f` at these primals, and how cotangents of ones flow back through it.

    For a function with a scalar result, the cotangents at the top are the gradient. Raises as `jax.vjp`
    does."""
    parts = KnownAndLinear(f, primals)
    backward = _backward(parts)
    whole = parts.with_known(backward)
    drawing = _Transposed(whole)
    drawing.is_plain = not drawing.long_edges and not any(
        e.primitive.name in draw_control_flow for e in whole.eqns
    )
    seeds = [full(v.aval, 1) for v in backward.invars]
    found = all_values(ClosedJaxpr(whole, parts.known.consts), [*parts.leaves, *seeds])
    drawing.notes = {v: [Note(value_text(x))] for v, x in found.items()}

    sources, values = draw_known(
        drawing,
        parts,
        "forward: from primals to the value",
        style.RESIDUAL.having(constraint="false"),
    )
    drawing.equation_style = style.BACKWARD
    drawing.upwards = True
    with drawing.frame(drawing.graph, "backward, from below: cotangents") as frame:
        cotangents = {v: drawing.variable(frame, v, style.TANGENT_INPUT) for v in backward.invars}
        drawn, remark = folded(backward, LIMIT // 2, keep_ends=True)
        drawing.remark = drawing.remark or remark
        outputs = drawing.body(frame, drawn, sources | cotangents)
        for primal, ct, source in zip(parts.differentiated, backward.outvars, outputs):
            title = f"cotangent of {drawing.title_of(primal)}"
            end = drawing.joined(frame, [([ct], [source])], style.COTANGENT_OUTPUT, title)
            if drawing.is_plain:
                drawing.side_by_side([sources[primal]], end)
    if cotangents and drawing.is_plain:
        drawing.side_by_side(values, list(cotangents.values()))
    return drawing.finished()


def _backward(parts: KnownAndLinear) -> Jaxpr:
    """The transpose of the linear jaxpr: from the results' cotangents to the primals'."""
    linear, trace = parts.linear, JaxprTrace()
    residuals = list(dict.fromkeys(v for v in parts.residuals if isinstance(v, Var)))
    args = [trace.new_arg(v.aval) for v in residuals]
    cotangents = [trace.new_arg(v.aval) for v in linear.outvars]
    jaxpr = linear.replace(constvars=residuals)
    with set_current_trace(trace):
        accums = [ValAccum(v.aval) for v in linear.invars]
        backward_pass(jaxpr, args, accums, cotangents)
        closed = trace.finish([instantiate_zeros(accum.freeze()) for accum in accums])
    return renamed(closed.jaxpr, {a.atom: v for a, v in zip(args, residuals)})


class _Transposed(Drawing):
    """A drawing that highlights sums of cotangents."""

    is_plain = True  # few equations, and no frames, in which aligned rows can contradict each other

    def style_of(self, eqn: JaxprEqn) -> NodeStyle:
        is_sum = self.upwards and eqn.primitive is add_any_p
        return style.FAN_OUT if is_sum else super().style_of(eqn)

    def side_by_side(self, forward: list[str], backward: list[str]) -> None:
        """Align the forward pass's start and end with the backward pass's end and start."""
        with self.graph.subgraph() as row:
            row.attr(rank="same")
            for node in forward + backward:
                row.node(node)
        self.graph.edge(forward[-1], backward[0], style="invis")
