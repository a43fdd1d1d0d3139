"""Common subexpression elimination: equal equations are computed once.

Two equations are the same when the primitive, the parameters and the operands are, literals to the bit (0.0
is not -0.0, and 1 is not 1.0). Equations with effects are all kept.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from types import MappingProxyType

from tinyjax.compile.record import event
from tinyjax.core.jaxpr import Atom, ClosedJaxpr, JaxprEqn, Var, has_effects, substitute


def cse(closed: ClosedJaxpr) -> ClosedJaxpr:
    """One walk through the equations. An equation equal to an earlier one is dropped, and its readers read
    the earlier results.
    """
    first: dict[Hashable, JaxprEqn] = {}  # by cse_key
    replaced: dict[Var, Atom] = {}
    eqns: list[JaxprEqn] = []
    for eqn in closed.eqns:
        eqn = eqn.replace(invars=substitute(eqn.invars, replaced)) if replaced else eqn
        key = None if has_effects(eqn) else cse_key(eqn)
        if key is None or first.setdefault(key, eqn) is eqn:
            eqns.append(eqn)
            continue
        replaced.update(zip(eqn.outvars, first[key].outvars))
        event(eqn, ("is", first[key].outvars), "computed before, alike", eqn)
    if len(eqns) == len(closed.eqns):
        return closed
    outvars = substitute(closed.jaxpr.outvars, replaced)
    return ClosedJaxpr(closed.jaxpr.replace(eqns=eqns, outvars=outvars), closed.consts)


def cse_key(eqn: JaxprEqn, numbers: Mapping[Var, int] = MappingProxyType({})) -> Hashable | None:
    """Equal for equations that compute the same, of the same variables or of those with the same `numbers`;
    None if a parameter can't be compared."""
    key = (
        eqn.primitive,
        tuple([numbers.get(v, v) if isinstance(v, Var) else v.key for v in eqn.invars]),
        tuple(sorted(eqn.params.items(), key=lambda item: item[0])),
        tuple([v.aval for v in eqn.outvars]),
    )
    try:
        hash(key)
    except TypeError:
        return None
    return key
