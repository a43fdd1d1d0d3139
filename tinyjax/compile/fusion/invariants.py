"""Equations of a loop's body that compute the same in every iteration, moved out of it.

In a loop of steps each host step waits for the device, so host steps that depend only on the loop's constants
run once, before the loop. A loop that is one kernel hoists statements too (the directive Hoist).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tinyjax.compile.passes.loops import is_control_flow, loop_of
from tinyjax.compile.passes.patterns import copied
from tinyjax.core.jaxpr import Atom, Jaxpr, JaxprEqn, Literal, Var, has_effects, substitute


def hoist_invariants(
    eqn: JaxprEqn, names: dict[Var, str], is_wanted: Callable[[JaxprEqn], bool]
) -> tuple[list[JaxprEqn], JaxprEqn]:
    """The wanted invariant equations of a loop's body, with those that they need, as equations before the
    loop; and the loop without them. New variables get names."""
    loop = loop_of(eqn)
    if loop is None:
        return [], eqn
    body = loop.body.jaxpr
    outside: dict[Var, Atom] = dict(zip(body.invars, loop.consts))
    moved = _invariant(body, set(outside), is_wanted)
    if not moved:
        return [], eqn
    before = copied(moved, outside)
    for inner, copy in zip(moved, before):
        names.update((new, names.get(v, "v")) for new, v in zip(copy.outvars, inner.outvars))
    rest = [inner for inner in body.eqns if inner not in moved]
    used = {*body.outvars, *[v for inner in rest for v in inner.invars]}
    read = [v for inner in moved for v in inner.outvars if v in used]
    changed = loop.body.replace(body.replace(invars=[*read, *body.invars], eqns=rest))
    consts = [*substitute(read, outside), *loop.consts]
    return before, replace(loop, body=changed, consts=consts).equation()


def _invariant(
    body: Jaxpr, same: set[Var], is_wanted: Callable[[JaxprEqn], bool]
) -> list[JaxprEqn]:
    """Wanted equations whose operands no iteration changes, and those that compute them, in order."""
    invariant: list[JaxprEqn] = []
    for eqn in body.eqns:
        is_same = all(isinstance(v, Literal) or v in same for v in eqn.invars)
        runs_each_time = has_effects(eqn) or eqn.primitive.facts.calls_python
        if is_same and not (is_control_flow(eqn) or runs_each_time):
            invariant.append(eqn)
            same.update(eqn.outvars)
    needed: set[Atom] = set()
    for eqn in reversed(invariant):
        if is_wanted(eqn) or not needed.isdisjoint(eqn.outvars):
            needed.update([*eqn.invars, *eqn.outvars])
    return [eqn for eqn in invariant if not needed.isdisjoint(eqn.outvars)]
