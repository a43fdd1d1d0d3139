"""Operands that a loop's kernel computes by itself, before the first iteration.

The cheap equations that make a vmapped loop's operands (zeros, an iota, a broadcast row) go to the head of
its kernel, which is then a single launch.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from tinyjax.compile.codegen.codegen import Target
from tinyjax.compile.fusion.cost_model import CHEAP_WORK
from tinyjax.compile.kernel.rules import Elementwise, IndexMap, lowering_of
from tinyjax.compile.kernel.scalar_ops import KERNEL_DTYPES
from tinyjax.core.jaxpr import Atom, JaxprEqn, Var, has_effects


def cheap_equations(
    operands: Iterable[Atom],
    stored: Collection[Atom],
    producer: Mapping[Var, JaxprEqn],
    target: Target,
) -> list[JaxprEqn]:
    """The equations, in order, of those operands that take few operations and read at most one other
    array, which is no larger: memory and parameters never become more. What is in `stored` is read."""
    producer = {v: eqn for v, eqn in producer.items() if v not in stored}
    found: dict[JaxprEqn, None] = {}
    for v in operands:
        if isinstance(v, Var):
            eqns, reads = _cheap(v, producer, target, CHEAP_WORK)
            if len(reads) <= 1 and all(0 < u.aval.size <= v.aval.size for u in reads):
                found.update(eqns)
    return list(found)


def _cheap(
    v: Var, producer: Mapping[Var, JaxprEqn], target: Target, most: int
) -> tuple[dict[JaxprEqn, None], set[Var]]:
    """The equations that compute an element of `v` in at most `most` operations, and what they read."""
    eqn = producer.get(v)
    if eqn is None or not _is_pure(eqn, target):
        return {}, {v}
    lowering = lowering_of(eqn, target)
    most -= lowering.cost if isinstance(lowering, Elementwise) else 1
    if most < 0:
        return {}, {v}
    eqns: dict[JaxprEqn, None] = {}
    reads: set[Var] = set()
    for u in eqn.invars:
        if isinstance(u, Var):
            inner_eqns, inner_reads = _cheap(u, producer, target, most)
            eqns |= inner_eqns
            reads |= inner_reads
    return eqns | {eqn: None}, reads


def _is_pure(eqn: JaxprEqn, target: Target) -> bool:
    if any(v.aval.dtype not in KERNEL_DTYPES for v in [*eqn.invars, *eqn.outvars]):
        return False  # a loop's memory has no pairs
    return isinstance(lowering_of(eqn, target), (Elementwise, IndexMap)) and not has_effects(eqn)
