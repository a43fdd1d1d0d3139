"""The bodies of loops and branches: made simpler by the same passes, and without constants of their own.

After this file you can say where a table is that the body of a loop reads: it is a constant of the program,
and an operand of the loop, as kernels have no constants but numbers. Builds on inline and loops.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tinyjax.compile.passes.inline import is_rematerialised
from tinyjax.compile.passes.loops import Branches, Loop, control_flow, is_control_flow
from tinyjax.compile.record import event, subject_of_pass
from tinyjax.core.inlining import called_jaxpr
from tinyjax.core.jaxpr import ClosedJaxpr, Var

Simplify = Callable[[ClosedJaxpr, str], ClosedJaxpr]  # the passes, of a body that is called so


def simplify_bodies(closed: ClosedJaxpr, simplify: Simplify) -> ClosedJaxpr:
    """The same with bodies of loops and branches, and rematerialised code, simplified where they stand."""
    constants = dict(zip(closed.jaxpr.constvars, closed.consts))
    eqns = []
    for eqn in closed.eqns:
        if is_rematerialised(eqn):
            body = simplify(called_jaxpr(eqn), _subject("rematerialised code"))
            eqn = eqn.replace(params=eqn.params | {"jaxpr": body})
        elif is_control_flow(eqn):
            eqn = _with_bodies(control_flow(eqn), constants, simplify).equation()
        eqns.append(eqn)
    if eqns == closed.eqns:
        return closed
    jaxpr = closed.jaxpr.replace(constvars=list(constants), eqns=eqns)
    return ClosedJaxpr(jaxpr, list(constants.values()))


def _with_bodies(
    found: Loop | Branches, constants: dict[Var, Any], simplify: Simplify
) -> Loop | Branches:
    """A loop or branch with its jaxprs simplified. What is constant in them is added to `constants`,
    and to the operands."""
    eqn = found.eqn
    bodies = {
        label: simplify(body, _subject(f"{label} of {eqn.primitive.name}"))
        for label, body in found.bodies.items()
    }
    news = {label: [Var(v.aval) for v in body.jaxpr.constvars] for label, body in bodies.items()}
    for label, new in news.items():
        constants.update(zip(new, bodies[label].consts))
        for v in new:
            event(
                eqn, f"a {v.aval.str_short()} that its {label} closes over is an operand", "", eqn
            )
    if isinstance(found, Branches):
        return _branches(found, bodies, news)
    if found.condition is not None:
        found = replace(
            found,
            condition=_hoisted(bodies["cond"], bodies["cond"].jaxpr.constvars),
            condition_consts=[*news["cond"], *found.condition_consts],
        )
    body = _hoisted(bodies["body"], bodies["body"].jaxpr.constvars)
    return replace(found, body=body, consts=[*news["body"], *found.consts])


def _branches(
    found: Branches, bodies: dict[str, ClosedJaxpr], news: dict[str, list[Var]]
) -> Branches:
    """All branches have the same operands: the constants of each, of which the others read none."""
    branches = []
    for label, body in bodies.items():
        own = {other: [Var(v.aval) for v in new] for other, new in news.items()}
        own[label] = body.jaxpr.constvars
        branches.append(_hoisted(body, sum(own.values(), [])))
    return replace(found, branches=branches, operands=[*sum(news.values(), []), *found.operands])


def _hoisted(body: ClosedJaxpr, leading: list[Var]) -> ClosedJaxpr:
    """The body with `leading`, its constants among them, as its first arguments."""
    jaxpr = body.jaxpr
    return ClosedJaxpr(jaxpr.replace(constvars=[], invars=[*leading, *jaxpr.invars]))


def _subject(body: str) -> str:
    """What the records call a body: with the one that it stands in, if there is one."""
    outer = subject_of_pass()
    return f"{body} in {outer}" if outer else body
