"""Inlining: the equations of a called jaxpr replace the call.

Only the equations of a jitted function within another remain. Rematerialised code (jax.checkpoint) stays a
call at first: it deliberately repeats what the forward pass computed, so that nothing must be kept in memory
meanwhile. It is inlined after all other passes, so that none of its equations is merged with one outside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tinyjax.compile.passes.patterns import Producer, walk
from tinyjax.compile.record import event, is_recording
from tinyjax.core.inlining import called_jaxpr, inline_calls, is_call
from tinyjax.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn


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
    if is_recording():
        for eqn in _calls(closed.jaxpr, keep):
            if eqn.primitive.facts.is_identity:
                event(eqn, ("is", eqn.invars), "a program runs on one device", eqn)
            else:
                name = eqn.params.get("name", eqn.primitive.name)
                event(eqn, f"replaced by the equations of {name}", "", eqn)
    if next(_calls(closed.jaxpr, keep), None) is not None:
        closed = inline_calls(closed, keep)
    return walk(closed, _without_ignored_params)


def _calls(jaxpr: Jaxpr, keep: Callable[[JaxprEqn], bool]) -> Iterator[JaxprEqn]:
    """The equations that inlining removes: identities and calls, each call followed by those in its jaxpr."""
    for eqn in jaxpr.eqns:
        if eqn.primitive.facts.is_identity:
            yield eqn
        elif is_call(eqn) and not keep(eqn):
            yield eqn
            yield from _calls(called_jaxpr(eqn).jaxpr, keep)


def _without_ignored_params(eqn: JaxprEqn, producer: Producer) -> list[JaxprEqn] | None:
    """The equation without the parameters that no program reads (core/facts.py)."""
    ignored = eqn.primitive.facts.ignored_params
    if eqn.params.keys().isdisjoint(ignored):
        return None
    return [eqn.replace(params={k: v for k, v in eqn.params.items() if k not in ignored})]
