"""Dead code elimination: equations that no result needs are dropped.

All equations are dead except those that a result depends on and those with effects. Constants that nothing
reads any more are dropped too.
"""

from __future__ import annotations

from tinyjax.compile.record import event, is_recording
from tinyjax.core.jaxpr import ClosedJaxpr, without_dead_code


def dce(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The same without dead equations, also within loops (by `dce_rules`); arguments are all kept."""
    after = without_dead_code(closed)
    if (after.eqns, after.jaxpr.constvars) == (closed.eqns, closed.jaxpr.constvars):
        return closed
    if is_recording():
        alive = {v for eqn in after.eqns for v in eqn.outvars}
        for eqn in closed.eqns:
            dead = [v for v in eqn.outvars if v not in alive]
            if dead:
                change = "dropped" if dead == eqn.outvars else ("gives no", dead)
                event(eqn, change, "no result needs it", eqn)
    return after
