"""Branches and loops as pictures: frames in which each operand says what it is to the loop.

After this file you can tell a loop's consts from its carry and its slices, and see the carry go round.
Each function draws one primitive: it gets the nodes that the operands come from, and the jaxprs inside
by their names in compile/plan.py, each with what draws it; it gives the nodes of the results.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import graphviz

from tinyjax.core.jaxpr import Atom, Jaxpr, JaxprEqn, Var
from tinyjax.core.lists import split_list
from tinyjax.studio.viz import style
from tinyjax.studio.viz.style import Look

if TYPE_CHECKING:
    from tinyjax.studio.viz.drawing import Drawing

# How the equations of a jaxpr, whose inputs come from these nodes, are drawn: the outputs' nodes.
Body = Callable[[graphviz.Digraph, Jaxpr, dict[Var, str]], list[str]]
Bodies = Mapping[str, tuple[Jaxpr, Body]]


def scan(
    drawing: "Drawing", graph: graphviz.Digraph, eqn: JaxprEqn, operands: list[str], bodies: Bodies
) -> list[str]:
    """One frame: consts, carry and slices go in at the top; carry and slices come out below."""
    length, num_carry = eqn.params["length"], eqn.params["num_carry"]
    jaxpr, draw_body = bodies["body"]
    backwards = ", from the last to the first" if eqn.params["reverse"] else ""
    with drawing.frame(graph, f"scan: {length:,} steps{backwards}") as frame:
        consts, carry, slices = split_list(jaxpr.invars, eqn.params["num_consts"], num_carry)
        inputs = _inputs(drawing, frame, consts, style.CONST)
        inputs |= _inputs(drawing, frame, carry, style.CARRY)
        inputs |= _inputs(drawing, frame, slices, style.SLICE)
        _arrive(drawing, eqn.invars, operands, [inputs[v] for v in jaxpr.invars])
        outputs = _body(drawing, frame, jaxpr, draw_body, inputs)
        after = drawing.outputs(
            frame, jaxpr.outvars[:num_carry], outputs[:num_carry], style.NEXT_CARRY, "carry"
        )
        stacked = drawing.outputs(
            frame, jaxpr.outvars[num_carry:], outputs[num_carry:], style.NEXT_SLICE, "y"
        )
        _loop_back(drawing, after, [inputs[v] for v in carry])
    return after + stacked


def while_loop(
    drawing: "Drawing", graph: graphviz.Digraph, eqn: JaxprEqn, operands: list[str], bodies: Bodies
) -> list[str]:
    """A frame with two inside, which read the same carry: one decides, the other makes the next."""
    (cond, draw_cond), (body, draw_body) = bodies["cond"], bodies["body"]
    with drawing.frame(graph, "while") as frame:
        cond_consts, cond_carry = split_list(cond.invars, eqn.params["cond_nconsts"])
        body_consts, carry = split_list(body.invars, eqn.params["body_nconsts"])
        inputs = _inputs(drawing, frame, cond_consts + body_consts, style.CONST)
        inputs |= _inputs(drawing, frame, carry, style.CARRY)
        variables = cond_consts + body_consts + carry
        _arrive(drawing, eqn.invars, operands, [inputs[v] for v in variables])
        with drawing.frame(frame, "cond") as inner:
            asked = inputs | dict(zip(cond_carry, [inputs[v] for v in carry]))
            go_on = _body(drawing, inner, cond, draw_cond, asked)
            drawing.outputs(inner, cond.outvars, go_on, style.CHOICE, "go on?")
        with drawing.frame(frame, "body") as inner:
            outputs = _body(drawing, inner, body, draw_body, inputs)
            after = drawing.outputs(inner, body.outvars, outputs, style.NEXT_CARRY, "carry")
        _loop_back(drawing, after, [inputs[v] for v in carry])
    return after


def cond(
    drawing: "Drawing", graph: graphviz.Digraph, eqn: JaxprEqn, operands: list[str], bodies: Bodies
) -> list[str]:
    """A frame with one for each branch inside, side by side, of which one runs."""
    with drawing.frame(graph, "cond") as frame:
        which = drawing.node(frame, "which?", style.CHOICE)
        drawing.edge(eqn.invars[0], operands[0], which)
        ends = []
        for number, (label, (jaxpr, draw_body)) in enumerate(bodies.items()):
            title = f"{label} ({number == 1})" if len(bodies) == 2 else label
            with drawing.frame(frame, title) as inner:
                inputs = _inputs(drawing, inner, jaxpr.invars, style.INPUT)
                _arrive(drawing, eqn.invars[1:], operands[1:], list(inputs.values()))
                ends.append((jaxpr.outvars, _body(drawing, inner, jaxpr, draw_body, inputs)))
                end = {"ltail" if drawing.upwards else "lhead": inner.name}
                for first in [*inputs.values(), *ends[-1][1]][:1]:
                    drawing.arrow(which, first, style="dashed", **end)
        return drawing.joined(frame, ends, style.OUTPUT)


CONTROL = {"scan": scan, "while": while_loop, "cond": cond}


# ---- the parts ----


def _inputs(
    drawing: "Drawing", frame: graphviz.Digraph, variables: Sequence[Var], look: Look
) -> dict[Var, str]:
    return {v: drawing.variable(frame, v, look) for v in variables}


def _arrive(
    drawing: "Drawing", operands: Sequence[Atom], sources: Sequence[str], inputs: Sequence[str]
) -> None:
    for operand, source, node in zip(operands, sources, inputs, strict=True):
        drawing.edge(operand, source, node)


def _body(
    drawing: "Drawing",
    frame: graphviz.Digraph,
    jaxpr: Jaxpr,
    draw_body: Body,
    inputs: dict[Var, str],
) -> list[str]:
    return draw_body(
        frame, jaxpr, inputs | _inputs(drawing, frame, jaxpr.constvars, style.CONSTANT)
    )


def _loop_back(drawing: "Drawing", after: Sequence[str], carry: Sequence[str]) -> None:
    """What comes out of one step goes into the next."""
    for tail, head in zip(after, carry):
        drawing.arrow(tail, head, **style.LOOP_BACK.style)
    drawing.looks += [style.LOOP_BACK] * bool(after)
