"""Where a program says how results are split over devices: parameters of some primitives.

After this file you can take such parameters out of a jaxpr: a compiled program computes with whole arrays.
Builds on jaxpr.
"""

from __future__ import annotations

from typing import Any

from tinyjax.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, all_jaxprs

# primitive name -> the parameter, if it is there, that says how the result is split over devices
PLACES = {
    "broadcast_in_dim": "sharding",
    "conv_general_dilated": "out_sharding",
    "dot_general": "out_sharding",
    "iota": "sharding",
    "reduce_sum": "out_sharding",
    "reshape": "sharding",
}


def sharding_said(name: str, params: Any) -> Any:
    """The sharding that a program asks for the result of a primitive; None if it does not."""
    return params.get(PLACES[name]) if name in PLACES else None


def without_places(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The same, and nothing in it says how results are split over devices."""
    return closed.replace(jaxpr=_without_places(closed.jaxpr))


def _without_places(jaxpr: Jaxpr) -> Jaxpr:
    said = (sharding_said(e.primitive.name, e.params) for j in all_jaxprs(jaxpr) for e in j.eqns)
    if all(place is None for place in said):
        return jaxpr
    return jaxpr.replace(eqns=[eqn.replace(params=_params_without(eqn)) for eqn in jaxpr.eqns])


def _params_without(eqn: JaxprEqn) -> dict[str, Any]:
    def changed(value: Any) -> Any:
        if isinstance(value, tuple) and not hasattr(value, "_fields"):
            return tuple(map(changed, value))
        if isinstance(value, ClosedJaxpr):
            return without_places(value)
        return _without_places(value) if isinstance(value, Jaxpr) else value

    place = PLACES.get(eqn.primitive.name)
    return {k: changed(v) for k, v in eqn.params.items() if k != place}
