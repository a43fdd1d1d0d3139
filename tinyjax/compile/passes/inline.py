"""Inlining: the equations of a called jaxpr replace the call.

Only the equations of a jitted function within another remain. Rematerialised code (jax.checkpoint) stays a
call at first: it deliberately repeats what the forward pass computed, so that nothing must be kept in memory
meanwhile. It is inlined after all other passes, so that none of its equations is merged with one outside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tinyjax.compile.record import event, is_recording
from tinyjax.core.inlining import called_jaxpr, inline_calls, is_call
from tinyjax.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, all_jaxprs


def inline(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The same jaxpr without calls, except calls of rematerialised code."""
    return _inline(closed, is_rematerialised)


def inline_rematerialised(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The same without any call."""
    return _inline(closed, lambda eqn: False)


def is_rematerialised(eqn: JaxprEqn) -> bool:
    """Whether this is a backward pass that computes again what a compiler should not merge."""
    if eqn.primitive.name != "remat2" or not eqn.params["differentiated"]:
        return False
    prevent_cse = eqn.params["prevent_cse"]  # a bool, or one an operand
    return any(prevent_cse) if isinstance(prevent_cse, tuple) else prevent_cse


def _inline(closed: ClosedJaxpr, keep: Callable[[JaxprEqn], bool]) -> ClosedJaxpr:
    closed = without_ignored_params(closed)
    if next(_calls(closed.jaxpr, keep), None) is None:
        return closed
    if is_recording():
        for eqn in _calls(closed.jaxpr, keep):
            if eqn.primitive.facts.is_identity:
                event(eqn, ("is", eqn.invars), "a program runs on one device", eqn)
            else:
                name = eqn.params.get("name", eqn.primitive.name)
                event(eqn, f"replaced by the equations of {name}", "", eqn)
    return inline_calls(closed, keep)


def _calls(jaxpr: Jaxpr, keep: Callable[[JaxprEqn], bool]) -> Iterator[JaxprEqn]:
    """The equations that inlining removes: identities and calls, each call followed by those in its jaxpr."""
    for eqn in jaxpr.eqns:
        if eqn.primitive.facts.is_identity:
            yield eqn
        elif is_call(eqn) and not keep(eqn):
            yield eqn
            yield from _calls(called_jaxpr(eqn).jaxpr, keep)


# ---- parameters that no program reads ----


def without_ignored_params(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The same, without the parameters that are ignored (core/facts.py)."""
    eqns = [eqn for each in all_jaxprs(closed.jaxpr) for eqn in each.eqns]
    if all([eqn.params.keys().isdisjoint(eqn.primitive.facts.ignored_params) for eqn in eqns]):
        return closed
    return _without_ignored(closed)


def _without_ignored(value: Any) -> Any:
    """A jaxpr, or a parameter with jaxprs in it, without these."""
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return tuple(map(_without_ignored, value))
    if isinstance(value, ClosedJaxpr):
        return value.replace(_without_ignored(value.jaxpr))
    return value.replace(eqns=map(_read, value.eqns)) if isinstance(value, Jaxpr) else value


def _read(eqn: JaxprEqn) -> JaxprEqn:
    ignored, params = eqn.primitive.facts.ignored_params, eqn.params.items()
    return eqn.replace(params={k: _without_ignored(v) for k, v in params if k not in ignored})
