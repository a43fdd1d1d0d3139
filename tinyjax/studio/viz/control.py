"""Branches and loops as pictures: frames with rows of consts, xs, carry and ys.

Each function draws one primitive. It takes the operands' nodes, and the inner jaxprs by their names in
compile/plan.py, each with its drawing function; it returns the results' nodes.
"""

from collections.abc import Sequence

from tinyjax.core.jaxpr import Atom, Jaxpr, JaxprEqn, Var
from tinyjax.core.lists import split_list
from tinyjax.studio.viz import style
from tinyjax.studio.viz.drawing import Bodies, Body, Drawing, draw_control_flow
from tinyjax.studio.viz.output import Graph


def scan(
    drawing: Drawing, graph: Graph, eqn: JaxprEqn, operands: list[str], bodies: Bodies
) -> list[str]:
    """One frame: consts, xs and the carry go in at the top; ys and the carry come out below."""
    length, num_carry = eqn.params["length"], eqn.params["num_carry"]
    jaxpr, draw_body = bodies["body"]
    backwards = ", from the last to the first" if eqn.params["reverse"] else ""
    with drawing.frame(graph, f"scan: {length:,} steps{backwards}") as frame:
        consts, carry, xs = split_list(jaxpr.invars, eqn.params["num_consts"], num_carry)
        inputs = _loop_inputs(drawing, frame, eqn, operands, consts, carry, xs)
        outputs = _body(drawing, frame, jaxpr, draw_body, inputs)
        ys = jaxpr.outvars[num_carry:]
        ends = drawing.bar(frame, ("ys", ys, style.SLICE), ("next carry", carry, style.CARRY))
        ends = ends[len(ys) :] + ends[: len(ys)]
        _arrive(drawing, jaxpr.outvars, outputs, ends)
        _loop_back(drawing, ends[:num_carry], [inputs[v] for v in carry])
    return ends


def while_loop(
    drawing: Drawing, graph: Graph, eqn: JaxprEqn, operands: list[str], bodies: Bodies
) -> list[str]:
    """A frame with two inner frames, which read the same carry: the condition and the body."""
    (cond, draw_cond), (body, draw_body) = bodies["cond"], bodies["body"]
    with drawing.frame(graph, "while") as frame:
        cond_consts, cond_carry = split_list(cond.invars, eqn.params["cond_nconsts"])
        body_consts, carry = split_list(body.invars, eqn.params["body_nconsts"])
        inputs = _loop_inputs(drawing, frame, eqn, operands, cond_consts + body_consts, carry, [])
        with drawing.frame(frame, "cond") as inner:
            asked = inputs | dict(zip(cond_carry, [inputs[v] for v in carry]))
            go_on = _body(drawing, inner, cond, draw_cond, asked)
            drawing.outputs(inner, cond.outvars, go_on, style.CHOICE, "go on?")
        with drawing.frame(frame, "body") as inner:
            outputs = _body(drawing, inner, body, draw_body, inputs)
        after = drawing.bar(frame, ("next carry", carry, style.CARRY))
        _arrive(drawing, body.outvars, outputs, after)
        _loop_back(drawing, after, [inputs[v] for v in carry])
    return after


def cond(
    drawing: Drawing, graph: Graph, eqn: JaxprEqn, operands: list[str], bodies: Bodies
) -> list[str]:
    """A frame with an inner frame for each branch, side by side."""
    with drawing.frame(graph, "cond") as frame:
        which = drawing.node(frame, "which?", style.CHOICE)
        drawing.edge(eqn.invars[0], operands[0], which)
        results = drawing.bar(frame, ("out", eqn.outvars, style.OUTPUT))
        for number, (label, (jaxpr, draw_body)) in enumerate(bodies.items()):
            title = f"{label} ({number == 1})" if len(bodies) == 2 else label
            with drawing.frame(frame, title) as inner:
                ports = drawing.bar(inner, ("operands", jaxpr.invars, style.INPUT))
                _arrive(drawing, eqn.invars[1:], operands[1:], ports)
                inputs = dict(zip(jaxpr.invars, ports))
                outputs = _body(drawing, inner, jaxpr, draw_body, inputs)
                _arrive(drawing, jaxpr.outvars, outputs, results)
                end = {"ltail" if drawing.upwards else "lhead": inner.name}
                for first in [*ports, *outputs][:1]:
                    drawing.arrow(which, first, style="dashed", **end)
        return results


draw_control_flow.update({"scan": scan, "while": while_loop, "cond": cond})


# ---- the parts ----


def _loop_inputs(
    drawing: Drawing,
    frame: Graph,
    eqn: JaxprEqn,
    operands: Sequence[str],
    consts: Sequence[Var],
    carry: Sequence[Var],
    xs: Sequence[Var],
) -> dict[Var, str]:
    """The top row of a loop's frame: consts, xs, and at the right the carry."""
    ports = drawing.bar(
        frame,
        ("consts", consts, style.CONST),
        ("xs", xs, style.SLICE),
        ("carry", carry, style.CARRY),
    )
    inputs = dict(zip([*consts, *xs, *carry], ports))
    for operand, source, v in zip(eqn.invars, operands, [*consts, *carry, *xs], strict=True):
        drawing.edge(
            operand, source, inputs[v], **(style.CONST_IN.attributes if v in consts else {})
        )
    return inputs


def _arrive(
    drawing: Drawing, operands: Sequence[Atom], sources: Sequence[str], inputs: Sequence[str]
) -> None:
    for operand, source, node in zip(operands, sources, inputs, strict=True):
        drawing.edge(operand, source, node)


def _body(
    drawing: Drawing, frame: Graph, jaxpr: Jaxpr, draw_body: Body, inputs: dict[Var, str]
) -> list[str]:
    constants = {v: drawing.variable(frame, v, style.CONSTANT) for v in jaxpr.constvars}
    return draw_body(frame, jaxpr, inputs | constants)


def _loop_back(drawing: Drawing, after: Sequence[str], carry: Sequence[str]) -> None:
    """One arrow at the right, from a step's outputs to the next step's inputs."""
    if after:
        tail, head = (port.partition(":")[0] for port in (after[-1], carry[-1]))
        drawing.arrow(f"{head}:e", f"{tail}:e", **style.LOOP_BACK.attributes)
        drawing.legend_styles.append(style.LOOP_BACK)
