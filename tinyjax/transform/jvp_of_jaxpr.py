"""Forward mode for a whole jaxpr, for primitives that have a jaxpr as a parameter.

The JVP rule of jit, cond or scan replaces its jaxpr by one that computes tangents too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinyjax.core.bind import context, set_current_trace
from tinyjax.core.jaxpr import ClosedJaxpr, cached_on_jaxpr, jaxpr_as_fun
from tinyjax.core.lists import pick, split_list
from tinyjax.core.tracing import trace_to_jaxpr
from tinyjax.transform.jvp import JVPTrace, JVPTracer, Zero, instantiate_zeros, zero_tangent


@cached_on_jaxpr
def jvp_jaxpr(
    closed_jaxpr: ClosedJaxpr, nonzeros: tuple[bool, ...], instantiate: tuple[bool, ...] = ()
) -> tuple[ClosedJaxpr, tuple[bool, ...]]:
    """The jaxpr from primals and non-zero tangents to results and their non-zero tangents.

    Also returns which results have a tangent. Results that `instantiate` (a flag for each) selects always
    do."""
    nonzero_outs: list[bool] = []
    in_avals = closed_jaxpr.in_avals

    def jvp_fun(*flat: Any) -> list[Any]:
        primals, tangents = flat[: len(in_avals)], iter(flat[len(in_avals) :])
        trace = JVPTrace(context.trace)
        args = [
            JVPTracer(trace, p, next(tangents)) if nz else p for p, nz in zip(primals, nonzeros)
        ]
        with set_current_trace(trace):
            outs = jaxpr_as_fun(closed_jaxpr)(*args)
        pairs = [trace.primal_and_tangent(x) for x in outs]
        forced = instantiate or (False,) * len(outs)
        tangents_out = [instantiate_zeros(t) if f else t for (_, t), f in zip(pairs, forced)]
        nonzero_outs.extend(type(t) is not Zero for t in tangents_out)
        return [p for p, _ in pairs] + [t for t in tangents_out if type(t) is not Zero]

    tangent_avals = [aval.to_tangent_aval() for aval in pick(in_avals, nonzeros)]
    return trace_to_jaxpr(jvp_fun, in_avals + tangent_avals), tuple(nonzero_outs)


def primals_and_tangents(
    outs: Sequence[Any], nonzero_outs: Sequence[bool]
) -> tuple[list[Any], list[Any]]:
    """Splits the outputs of jvp_jaxpr's jaxpr: the results, and a tangent (or Zero) for each."""
    primals_out, nonzero_tangents = split_list(outs, len(nonzero_outs))
    return primals_out, with_zeros(nonzero_tangents, nonzero_outs, primals_out)


def with_zeros(
    tangents: Sequence[Any], nonzeros: Sequence[bool], primals: Sequence[Any]
) -> list[Any]:
    """A tangent for each primal: Zero for primals without one in `tangents`."""
    found = iter(tangents)
    return [next(found) if nz else zero_tangent(x) for x, nz in zip(primals, nonzeros)]
