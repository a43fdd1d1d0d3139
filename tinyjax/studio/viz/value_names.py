"""Give a value one name in all columns: a kernel's `d` is `d` in the jaxprs that it was made from.

The name is the compiled program's, if the value is still there. A value that was simplified away gets an
unused letter.
"""

from __future__ import annotations

import itertools
import string
from collections.abc import Iterator, Mapping, Sequence

from tinyjax.compile.explain import numbered_eqns
from tinyjax.compile.plan import Plan
from tinyjax.core.jaxpr import ClosedJaxpr, JaxprEqn, Var, subjaxprs
from tinyjax.studio.viz.provenance import mark_of, printed_eqns


def names_as_in_plan(transformed: ClosedJaxpr, plan: Plan) -> dict[Var, str]:
    """The names of a marked program's values, as in the plan made from it."""
    later = numbered_eqns(plan)
    names = {v: name for v, name in plan.names.items() if name != "_"}
    return _named(transformed, plan.closed, [mark_of(eqn) for eqn in later], later, names)


def names_as_in_transformed(
    traced: ClosedJaxpr,
    transformed: ClosedJaxpr,
    origin: Sequence[int | None],
    names: Mapping[Var, str],
) -> dict[Var, str]:
    """The names of a function's values; `origin` maps each equation of the transformed program to the
    function's equation."""
    later = [eqn for _, eqn in printed_eqns(transformed.jaxpr)]
    return _named(traced, transformed, origin, later, names)


def _named(
    closed: ClosedJaxpr,
    later_closed: ClosedJaxpr,
    origin: Sequence[int | None],
    later: Sequence[JaxprEqn],
    names: Mapping[Var, str],
) -> dict[Var, str]:
    """Name a value after the first one of the later program that the same primitive computes for it."""
    found: dict[Var, str] = {}
    arguments = closed.jaxpr.invars, later_closed.jaxpr.invars
    if len(arguments[0]) == len(arguments[1]):
        found |= {v: names[w] for v, w in zip(*arguments) if w in names}
    eqns = [eqn for _, eqn in printed_eqns(closed.jaxpr)]
    matched: set[int] = set()
    for number, eqn in zip(origin, later):
        if number is None or number in matched or eqns[number].primitive is not eqn.primitive:
            continue
        matched.add(number)
        found |= {v: names[w] for v, w in zip(eqns[number].outvars, eqn.outvars) if w in names}
    taken = set(names.values())
    free = (letters for letters in _letters() if letters not in taken)
    for v in _variables(closed, eqns):
        if v not in found:
            found[v] = next(free)
    return found


def _variables(closed: ClosedJaxpr, eqns: Sequence[JaxprEqn]) -> Iterator[Var]:
    """All variables with printed names; unused results have none."""
    yield from (*closed.jaxpr.constvars, *closed.jaxpr.invars)
    read = {v for eqn in eqns for v in eqn.invars} | set(closed.jaxpr.outvars)
    for eqn in eqns:
        inner = list(subjaxprs(eqn.params))
        read |= {v for jaxpr in inner for v in jaxpr.outvars}
        yield from (v for jaxpr in inner for v in (*jaxpr.constvars, *jaxpr.invars))
    yield from (v for eqn in eqns for v in eqn.outvars if v in read)


def _letters() -> Iterator[str]:
    for count in itertools.count(1):
        yield from map("".join, itertools.product(string.ascii_lowercase, repeat=count))
