"""Constant folding: values made from constants are computed once, now, instead of at each call.

Equations of few constants are computed as eager evaluation does. A number becomes a Literal in its readers,
an array a constant of the jaxpr. Arrays that repeat a number are computed as one number, of any size.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tinyjax.compile.passes.patterns import Producer, constant, full, walk
from tinyjax.compile.record import event
from tinyjax.core.array import ArrayImpl
from tinyjax.core.avals import to_numpy
from tinyjax.core.bind import impl_rules
from tinyjax.core.dtypes import kind
from tinyjax.core.jaxpr import ClosedJaxpr, JaxprEqn, Literal, Var, has_effects
from tinyjax.core.primitives import broadcast_in_dim_p

MAX_FOLDED = 1024  # elements of operands and result: a program must stay small


def fold(closed: ClosedJaxpr) -> ClosedJaxpr:
    """Each equation that `folded` can compute becomes its result."""
    consts = dict(zip(closed.jaxpr.constvars, closed.consts))

    def change(eqn: JaxprEqn, producer: Producer) -> list[Any] | None:
        if (number := _repeated(eqn, producer)) is not None:
            event(eqn, ("repeats", number), "each element of its operands is the same number", eqn)
            return [full(eqn, number)]
        result = folded(eqn, consts)
        if result is None:
            return None
        (out,) = eqn.outvars
        change = "is a constant" if result.shape else ("is", result[()])
        event(eqn, change, "made of constants, and so computed now", eqn)
        if not result.shape:
            return [Literal(result[()], out.aval)]
        consts[out] = ArrayImpl(result, out.aval)
        return []

    after = walk(closed, change)
    if after is closed:
        return closed
    jaxpr = after.jaxpr.replace(constvars=list(consts))
    return closed.replace(jaxpr, list(consts.values()))


def _repeated(eqn: JaxprEqn, producer: Producer) -> Any:
    """The number in each element of an elementwise result, if all operands repeat numbers; else None."""
    if eqn.primitive.facts.axes != "elementwise" or not [v for v in eqn.invars if v.aval.shape]:
        return None
    numbers = [constant(v, producer) for v in eqn.invars]
    if None in numbers:
        return None
    atoms = [Literal(n, v.aval.update(shape=())) for n, v in zip(numbers, eqn.invars)]
    outvars = [Var(v.aval.update(shape=())) for v in eqn.outvars]
    result = folded(eqn.replace(invars=atoms, outvars=outvars), {})
    return None if result is None else result[()]


def folded(eqn: JaxprEqn, consts: Mapping[Var, Any]) -> np.ndarray | None:
    """The result of an equation of few constants, as eager evaluation gives it; None for others."""
    primitive = eqn.primitive
    if not eqn.invars or [v for v in eqn.invars if isinstance(v, Var) and v not in consts]:
        return None
    if primitive.multiple_results or primitive.impl_binds_primitives or primitive not in impl_rules:
        return None
    if primitive is broadcast_in_dim_p or has_effects(eqn):  # a repeated number takes no memory
        return None
    avals = [v.aval for v in [*eqn.invars, *eqn.outvars]]
    if sum(aval.size for aval in avals) > MAX_FOLDED:
        return None
    if any(kind(aval.dtype) not in "biuf" for aval in avals):
        return None
    values = [v.val if isinstance(v, Literal) else consts[v] for v in eqn.invars]
    args = [to_numpy(value, v.aval) for value, v in zip(values, eqn.invars)]
    with np.errstate(all="ignore"):
        result = impl_rules[primitive](*args, **eqn.params)
    # The number fills the whole shape, where rewrite rules replaced a broadcast by a number.
    out = eqn.outvars[0].aval
    return np.array(np.broadcast_to(result, out.shape), out.dtype)
