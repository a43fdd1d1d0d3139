"""in_shardings and out_shardings as constraints within the jaxpr, for the rules of jit's transformations."""

from __future__ import annotations

from typing import Any

from tinyjax.core.jaxpr import ClosedJaxpr, cached_on_jaxpr, jaxpr_as_fun
from tinyjax.core.tracing import trace_to_jaxpr


def constraints_within(params: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a jit equation, with constraints in its jaxpr instead of in_shardings and
    out_shardings."""
    if "in_shardings" not in params:
        return params
    kept = dict(params)
    ins, outs = kept.pop("in_shardings"), kept.pop("out_shardings")
    if not any((*ins, *outs)):
        return kept
    return kept | {"jaxpr": _constrained(params["jaxpr"], ins, outs)}


@cached_on_jaxpr
def _constrained(jaxpr: ClosedJaxpr, ins: tuple, outs: tuple) -> ClosedJaxpr:
    from tinyjax.many_devices.constraint_rules import constrained  # with the first sharding

    def fun(*args: Any) -> list[Any]:
        results = jaxpr_as_fun(jaxpr)(*map(constrained, args, ins))
        return list(map(constrained, results, outs))

    return trace_to_jaxpr(fun, jaxpr.in_avals)
