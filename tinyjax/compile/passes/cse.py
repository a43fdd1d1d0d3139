"""Common subexpression elimination: equal equations are computed once.

Two equations are the same when the primitive, the parameters and the operands are, literals to the bit (0.0
is not -0.0, and 1 is not 1.0). Equations with effects are all kept.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from types import MappingProxyType

from tinyjax.compile.passes.patterns import Producer, walk
from tinyjax.compile.record import event
from tinyjax.core.jaxpr import ClosedJaxpr, JaxprEqn, Var, has_effects


def cse(closed: ClosedJaxpr) -> ClosedJaxpr:
    """Drops each equation that is equal to an earlier one; its readers read the earlier results."""
    first: dict[Hashable, JaxprEqn] = {}  # by cse_key

    def change(eqn: JaxprEqn, producer: Producer) -> list[Var] | None:
        key = None if has_effects(eqn) else cse_key(eqn)
        if key is None or first.setdefault(key, eqn) is eqn:
            return None
        event(eqn, ("is", first[key].outvars), "computed before, alike", eqn)
        return first[key].outvars

    return walk(closed, change)


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
