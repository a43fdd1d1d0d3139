"""The bodies of loops and branches: made simpler by the same passes, and without constants of their own.

A table that the body of a loop reads is a constant of the program and an operand of the loop, as kernels have
no constants but numbers. A small array of numbers that the program makes before a loop, or any that repeats
one number, is made in its body instead: a kernel that knows an index needs no test of it.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from tinyjax.compile.passes.fold import MAX_FOLDED
from tinyjax.compile.passes.inline import is_rematerialised
from tinyjax.compile.passes.loops import Loop, control_flow, is_control_flow
from tinyjax.compile.passes.patterns import Producer, copied, walk
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
        place, found = _place(eqn, numbers), control_flow(eqn)
        if isinstance(found, Loop):
            found = _with_numbers_inside(found, producer)

        def simpler(label: str, body: ClosedJaxpr, operands: Sequence[Atom]) -> Any:
            """The simplified jaxpr, whose constants are operands, and constants of the program."""
            body = simplify(body, f"{label} of {place}")
            new = [Var(v.aval) for v in body.jaxpr.constvars]
            constants.update(zip(new, body.consts))
            for v in new:
                change = f"{v.aval.str_short()} of its {label} is an operand"
                event(found.eqn, change, "kernels have no constants but numbers", found.eqn)
            return constvars_as_invars(body), [*new, *operands]

        return [found.with_bodies(simpler).equation()]

    after = walk(closed, change)
    if after is closed:
        return closed
    jaxpr = after.jaxpr.replace(constvars=list(constants))
    return closed.replace(jaxpr, list(constants.values()))


def _with_numbers_inside(loop: Loop, producer: Producer) -> Loop:
    """A loop whose bodies make the constant operands that are made of numbers alone."""
    changed = loop.with_bodies(lambda _, body, consts: _made_inside(body, consts, producer))
    if len(changed.consts) < len(loop.consts):
        event(loop.eqn, "its body makes arrays of numbers", "the kernels know them", loop.eqn)
    return changed


def _made_inside(
    body: ClosedJaxpr, operands: Sequence[Atom], producer: Producer
) -> tuple[ClosedJaxpr, Sequence[Atom]]:
    """A jaxpr that makes those of its first `operands` that are made of numbers; and the other operands."""
    jaxpr = body.jaxpr
    numbers = [_made_of_numbers(v, producer) for v in operands]
    if all(eqns is None for eqns in numbers):
        return body, operands
    makers = dict.fromkeys(itertools.chain.from_iterable(filter(None, numbers)))
    inside: dict[Var, Atom] = {}
    before = copied(makers, inside)
    made = zip(jaxpr.invars, substitute(operands, inside), numbers)
    replaced = {v: new for v, new, eqns in made if eqns is not None}
    eqns = [eqn.replace(invars=substitute(eqn.invars, replaced)) for eqn in jaxpr.eqns]
    invars = [v for v in jaxpr.invars if v not in replaced]
    results = substitute(jaxpr.outvars, replaced)
    changed = jaxpr.replace(invars=invars, eqns=[*before, *eqns], outvars=results)
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


def _place(eqn: JaxprEqn, numbers: dict[str, int]) -> str:
    """A loop's name in the records: scan, scan 2, or scan in body of while."""
    name = eqn.primitive.name
    numbers[name] += 1
    number = f" {numbers[name]}" if numbers[name] > 1 else ""
    outer = subject_of_pass()
    return f"{name}{number} in {outer}" if outer else f"{name}{number}"
