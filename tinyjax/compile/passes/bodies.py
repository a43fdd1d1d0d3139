"""The bodies of loops and branches: made simpler by the same passes, and without constants of their own.

A table that the body of a loop reads is a constant of the program and an operand of the loop, as kernels have
no constants but numbers. A small array of numbers that the program makes before a loop, or any that repeats
one number, is made in its body instead: a kernel that knows an index needs no test of it.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from tinyjax.compile.passes.fold import MAX_FOLDED
from tinyjax.compile.passes.inline import is_rematerialised
from tinyjax.compile.passes.loops import Branches, Loop, control_flow, is_control_flow
from tinyjax.compile.passes.patterns import Producer, walk
from tinyjax.compile.record import event, subject_of_pass
from tinyjax.core.inlining import called_jaxpr
from tinyjax.core.jaxpr import (
    Atom,
    ClosedJaxpr,
    JaxprEqn,
    Literal,
    Var,
    constvars_as_invars,
    substitute,
)

REPEATED = ("broadcast_in_dim", "concatenate", "reshape")  # what makes arrays of numbers
Simplify = Callable[[ClosedJaxpr, str], ClosedJaxpr]  # the passes, for a body of that name


def simplify_bodies(closed: ClosedJaxpr, simplify: Simplify) -> ClosedJaxpr:
    """The same jaxpr with the bodies of loops and branches, and rematerialised code, simplified in place."""
    constants = dict(zip(closed.jaxpr.constvars, closed.consts))
    numbers: dict[str, int] = defaultdict(int)

    def change(eqn: JaxprEqn, producer: Producer) -> list[JaxprEqn] | None:
        if is_rematerialised(eqn):
            body = simplify(called_jaxpr(eqn), _place(eqn, numbers))
            return [eqn.replace(params=eqn.params | {"jaxpr": body})]
        if not is_control_flow(eqn):
            return None
        place = _place(eqn, numbers)
        found = _with_numbers_inside(control_flow(eqn), producer)
        return [_with_bodies(found, place, constants, simplify).equation()]

    after = walk(closed, change)
    if after is closed:
        return closed
    jaxpr = after.jaxpr.replace(constvars=list(constants))
    return closed.replace(jaxpr, list(constants.values()))


def _with_numbers_inside(found: Loop | Branches, producer: Producer) -> Loop | Branches:
    """A loop whose bodies make the constant operands that are made of numbers alone."""
    if isinstance(found, Branches):
        return found
    body, consts = _made_inside(found.body, found.consts, producer)
    if len(consts) < len(found.consts):
        event(found.eqn, "its body makes arrays of numbers", "the kernels know them", found.eqn)
    found = replace(found, body=body, consts=consts)
    if found.condition is None:
        return found
    condition, consts = _made_inside(found.condition, found.condition_consts, producer)
    return replace(found, condition=condition, condition_consts=consts)


def _made_inside(
    body: ClosedJaxpr, operands: Sequence[Atom], producer: Producer
) -> tuple[ClosedJaxpr, list[Atom]]:
    """A jaxpr that makes those of its first `operands` that are made of numbers; and the other operands."""
    jaxpr = body.jaxpr
    numbers = [_made_of_numbers(v, producer) for v in operands]
    if all(eqns is None for eqns in numbers):
        return body, list(operands)
    inside: dict[Var, Atom] = {}
    before: dict[JaxprEqn, JaxprEqn] = {}
    for eqn in itertools.chain.from_iterable(filter(None, numbers)):
        if eqn not in before:
            outvars = [Var(v.aval) for v in eqn.outvars]
            before[eqn] = eqn.replace(invars=substitute(eqn.invars, inside), outvars=outvars)
            inside.update(zip(eqn.outvars, outvars))
    made = zip(jaxpr.invars, substitute(operands, inside), numbers)
    replaced = {v: new for v, new, eqns in made if eqns is not None}
    eqns = [eqn.replace(invars=substitute(eqn.invars, replaced)) for eqn in jaxpr.eqns]
    invars = [v for v in jaxpr.invars if v not in replaced]
    results = substitute(jaxpr.outvars, replaced)
    changed = jaxpr.replace(invars=invars, eqns=[*before.values(), *eqns], outvars=results)
    return body.replace(changed), [v for v, eqns in zip(operands, numbers) if eqns is None]


def _made_of_numbers(v: Atom, producer: Producer) -> list[JaxprEqn] | None:
    """The equations that make a small array of numbers by repeating and joining them; None for others."""
    if isinstance(v, Literal):
        return []
    eqn = producer.get(v)
    if eqn is None or eqn.primitive.name not in REPEATED:
        return None
    if v.aval.size > MAX_FOLDED and not isinstance(eqn.invars[0], Literal):
        return None
    parts = [_made_of_numbers(operand, producer) for operand in eqn.invars]
    return None if None in parts else [*itertools.chain.from_iterable(parts), eqn]  # type: ignore


def _with_bodies(
    found: Loop | Branches, place: str, constants: dict[Var, Any], simplify: Simplify
) -> Loop | Branches:
    """A loop or branch with simplified jaxprs, whose constants are new operands and in `constants`."""
    eqn = found.eqn
    bodies = {label: simplify(body, f"{label} of {place}") for label, body in found.bodies.items()}
    news = {label: [Var(v.aval) for v in body.jaxpr.constvars] for label, body in bodies.items()}
    for label, new in news.items():
        constants.update(zip(new, bodies[label].consts))
        for v in new:
            change = f"{v.aval.str_short()} of its {label} is an operand"
            event(eqn, change, "kernels have no constants but numbers", eqn)
    if isinstance(found, Branches):
        return _branches(found, bodies, news)
    body = constvars_as_invars(bodies["body"])
    found = replace(found, body=body, consts=[*news["body"], *found.consts])
    if found.condition is None:
        return found
    consts = [*news["cond"], *found.condition_consts]
    return replace(found, condition=constvars_as_invars(bodies["cond"]), condition_consts=consts)


def _branches(
    found: Branches, bodies: dict[str, ClosedJaxpr], news: dict[str, list[Var]]
) -> Branches:
    """Gives all branches the same operands: the constants of each, which the others ignore."""
    branches = []
    for label, body in bodies.items():
        own = {other: [Var(v.aval) for v in new] for other, new in news.items()}
        own[label] = body.jaxpr.constvars
        invars = [*sum(own.values(), []), *body.jaxpr.invars]
        branches.append(ClosedJaxpr(body.jaxpr.replace(constvars=[], invars=invars)))
    return replace(found, branches=branches, operands=[*sum(news.values(), []), *found.operands])


def _place(eqn: JaxprEqn, numbers: dict[str, int]) -> str:
    """A loop's name in the records: scan, scan 2, or scan in body of while."""
    name = eqn.primitive.name
    numbers[name] += 1
    number = f" {numbers[name]}" if numbers[name] > 1 else ""
    outer = subject_of_pass()
    return f"{name}{number} in {outer}" if outer else f"{name}{number}"
