"""Expansion: an equation that no kernel computes, as equations that kernels compute.

A primitive such as lu is a host step: LAPACK works on whole matrices. Where these are small, a kernel is
faster, and a loop around them can be a kernel too. A sum of complex numbers is one of each part; a
convolution's padding is a pad before it; products leave a scan. `expansions` has a function for each such
primitive, which decides by the equation and what reads it. The result may be a cond with one branch, always
one kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tinyjax.compile.passes.cse import cse
from tinyjax.compile.passes.patterns import walk
from tinyjax.compile.record import event
from tinyjax.core.array import ShapedArray
from tinyjax.core.bind import Primitive, context, restore_source_info
from tinyjax.core.inlining import inline_calls
from tinyjax.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn
from tinyjax.core.tracing import trace_to_jaxpr

# A function of an equation and its jaxpr: it returns a function of the operands that computes the results in
# a kernel, or None.
Expansion = Callable[[JaxprEqn, Jaxpr], Callable[..., list[Any]] | None]

expansions: dict[Primitive, Expansion] = {}
late_expansions: dict[Primitive, Expansion] = {}  # after other passes simplify
CALL = Primitive("closed_call", multiple_results=True)


def expand(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The same with the equations that `expansions` has a function for expanded. Equal ones become one first:
    the loops of two expansions are not found to be equal."""
    if expansions.keys().isdisjoint([eqn.primitive for eqn in closed.jaxpr.eqns]):
        return closed
    return _with_expansions(cse(closed), expansions)


def expand_late(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The same by `late_expansions`."""
    return _with_expansions(closed, late_expansions)


def _with_expansions(closed: ClosedJaxpr, rules: Mapping[Primitive, Expansion]) -> ClosedJaxpr:
    """The same with the equations for which the rule of their primitive returns a function expanded."""
    if rules.keys().isdisjoint([eqn.primitive for eqn in closed.jaxpr.eqns]):
        return closed
    changed = walk(closed, lambda eqn, producer: _expanded(eqn, closed.jaxpr, rules))
    if changed is closed:
        return closed
    return inline_calls(changed, lambda eqn: eqn.primitive is not CALL)


def _expanded(
    eqn: JaxprEqn, jaxpr: Jaxpr, rules: Mapping[Primitive, Expansion]
) -> list[JaxprEqn] | None:
    """A call of the expansion, if there is one; its equations may be expanded too."""
    fun = rules[eqn.primitive](eqn, jaxpr) if eqn.primitive in rules else None
    if fun is None:
        return None
    event(eqn, "becomes several", "kernels compute these, or compute them faster", eqn)
    with restore_source_info():
        context.source_info = eqn.source_info
        # only shape and dtype: the rest of the types doesn't matter to a program for one device
        called = trace_to_jaxpr(fun, [ShapedArray(v.aval.shape, v.aval.dtype) for v in eqn.invars])
    return [eqn.replace(primitive=CALL, params={"call_jaxpr": _with_expansions(called, rules)})]
