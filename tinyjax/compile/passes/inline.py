"""Calls put in their place: the equations of a called jaxpr stand where the call was.

After this file you can say what becomes of a jitted function within another: nothing is left of it but its
equations. Rematerialised code (jax.checkpoint) stays a call at first: it repeats on purpose what the
forward pass computed, so that nothing must be kept in memory meanwhile. It is put in its place when all
else is done, so that no equation of it is merged with one outside of it. Builds on inlining.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tinyjax.compile.record import event, is_recording
from tinyjax.core.inlining import FORWARDS, called_jaxpr, inline_calls, is_call
from tinyjax.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn
from tinyjax.core.places import without_places


def inline(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The same without calls, but for those of rematerialised code."""
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
    closed = without_places(closed)  # a program runs on one device
    if next(_calls(closed.jaxpr, keep), None) is None:
        return closed
    if is_recording():
        for eqn in _calls(closed.jaxpr, keep):
            if eqn.primitive.name in FORWARDS:
                event(eqn, ("is", eqn.invars), "a program runs on one device", eqn)
            else:
                name = eqn.params.get("name", eqn.primitive.name)
                event(eqn, f"in its place, the equations of {name}", "", eqn)
    return inline_calls(closed, keep)


def _calls(jaxpr: Jaxpr, keep: Callable[[JaxprEqn], bool]) -> Iterator[JaxprEqn]:
    """The equations that go, those of called jaxprs after their call."""
    for eqn in jaxpr.eqns:
        if eqn.primitive.name in FORWARDS:
            yield eqn
        elif is_call(eqn) and not keep(eqn):
            yield eqn
            yield from _calls(called_jaxpr(eqn).jaxpr, keep)
