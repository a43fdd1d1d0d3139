"""Splitting a jaxpr: the known part runs now, the other part later.

The rules of primitives that have a jaxpr as a parameter need it. For a linearize rule, the known part
computes the results and the residuals, and the later part is linear. For partial evaluation, any inputs are
known: a JVP rule may call a jitted function of primals and tangents, and `jax.checkpoint` has a jaxpr that
computes primals and tangents together.

Source: https://docs.jax.dev/en/latest/autodidax.html#part-4-linearize-and-vjp-and-partial-eval
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tinyjax.core.avals import get_aval
from tinyjax.core.bind import set_current_trace
from tinyjax.core.jaxpr import (
    ClosedJaxpr,
    Var,
    cached_on_jaxpr,
    constvars_as_invars,
    jaxpr_as_fun,
    without_dead_code,
)
from tinyjax.core.lists import Flags, drop, pick
from tinyjax.core.tracing import JaxprTrace, JaxprTracer
from tinyjax.transform.jvp import Zero, instantiate_zeros
from tinyjax.transform.linearize import LinearizeTrace, LinearizeTracer

# Where a value comes from: ("in", i) is known input i, ("out", i) is output i of the known part,
# ("const", x) is the value x itself.
ValueOrigin = tuple[str, Any]


class Parts(NamedTuple):
    """`known` computes each value once and returns no input: `known_outs` and `residuals` list the
    origins of the known results and the residuals. `later` takes the residuals, then the later inputs;
    `later_outs` flags the results that it gives."""

    known: ClosedJaxpr
    later: ClosedJaxpr
    later_outs: Flags
    known_outs: list[ValueOrigin]
    residuals: list[ValueOrigin]

    def values(self, inputs: Sequence[Any], computed: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """The known results and the residuals, from the inputs and outputs of the known part."""
        values = {"in": inputs, "out": computed}
        return values_of(self.known_outs, values), values_of(self.residuals, values)


def values_of(origins: Sequence[ValueOrigin], values: dict[str, Sequence[Any]]) -> list[Any]:
    """The values of `origins`: `values` has the known inputs as "in", the known part's outputs as "out"."""
    return [x if kind == "const" else values[kind][x] for kind, x in origins]


@cached_on_jaxpr
def linearize_jaxpr(closed_jaxpr: ClosedJaxpr, nonzeros: Flags, instantiate: Flags = ()) -> Parts:
    """The jaxpr in two: one of the primals, which gives all results, and the linear one, of residuals and
    tangents. `nonzeros` flags the inputs that have tangents, `later_outs` the results that have. Results
    that `instantiate` flags always have one."""
    known, linear = JaxprTrace(), JaxprTrace()
    trace = LinearizeTrace(known, linear)
    primals = [known.new_arg(aval) for aval in closed_jaxpr.in_avals]
    args = [
        LinearizeTracer(trace, x, linear.new_arg(x.aval.to_tangent_aval())) if nonzero else x
        for x, nonzero in zip(primals, nonzeros)
    ]
    with set_current_trace(trace):
        outs = jaxpr_as_fun(closed_jaxpr)(*args)
    pairs = [trace.primal_and_tangent(x) for x in outs]
    forced = instantiate or (False,) * len(outs)
    with set_current_trace(known):  # a zero tangent is a residual, as in JAX
        tangents = [
            linear.new_const(instantiate_zeros(t)) if f and type(t) is Zero else t
            for (_, t), f in zip(pairs, forced)
        ]
    nonzero_outs = tuple([type(t) is not Zero for t in tangents])
    later = linear.finish(pick(tangents, nonzero_outs))
    results = [primal for primal, _ in pairs]
    return _parts(closed_jaxpr, known, primals, results, later, nonzero_outs)


@cached_on_jaxpr
def partial_eval_jaxpr(
    closed_jaxpr: ClosedJaxpr, unknown_ins: Flags, force_unknown: Flags = ()
) -> Parts:
    """The jaxpr in two: one of the known inputs, one of residuals and the unknown inputs. The second also
    returns the results that `force_unknown` flags, even known ones, which are then residuals."""
    known, unknown = JaxprTrace(), JaxprTrace()
    trace = LinearizeTrace(known, unknown)  # it will meet no pairs
    args = [
        (unknown if is_unknown else known).new_arg(aval)
        for aval, is_unknown in zip(closed_jaxpr.in_avals, unknown_ins)
    ]
    with set_current_trace(trace):
        outs = jaxpr_as_fun(closed_jaxpr)(*args)
    forced = force_unknown or (False,) * len(outs)
    unknown_outs = tuple([f or trace.is_unknown(x) for x, f in zip(outs, forced)])
    left = [x if trace.is_unknown(x) else unknown.new_const(x) for x in pick(outs, unknown_outs)]
    inputs = [x for x in args if not trace.is_unknown(x)]
    results = drop(outs, unknown_outs)
    return _parts(closed_jaxpr, known, inputs, results, unknown.finish(left), unknown_outs)


def _parts(
    closed_jaxpr: ClosedJaxpr,
    known: JaxprTrace,
    inputs: Sequence[JaxprTracer],
    results: Sequence[Any],
    later: ClosedJaxpr,
    later_outs: Flags,
) -> Parts:
    """The two parts, from a finished later part, whose constants are the residuals."""
    later = without_dead_code(later)
    residuals = later.consts
    origins: dict[int, ValueOrigin] = {id(x): ("in", i) for i, x in enumerate(inputs)}
    origins.update((id(x), ("const", x)) for x in closed_jaxpr.consts)
    computed: list[Any] = []
    known_outs = []
    for x in results:  # a residual used twice is an output twice, as in JAX
        known_outs.append(origins.get(id(x), ("out", len(computed))))
        if known_outs[-1][0] == "out":
            computed.append(x)
    for i, x in enumerate(computed):
        origins.setdefault(id(x), ("out", i))
    for x in residuals:
        if id(x) not in origins:
            origins[id(x)] = ("out", len(computed))
            computed.append(x)
    return Parts(
        without_dead_code(known.finish(computed)),
        constvars_as_invars(later),
        later_outs,
        known_outs,
        [origins[id(x)] for x in residuals],
    )


def with_outputs(known: ClosedJaxpr, origins: Sequence[ValueOrigin]) -> ClosedJaxpr:
    """The known part with a result for each origin."""
    jaxpr = known.jaxpr
    consts = [x for kind, x in origins if kind == "const"]
    constvars = [Var(get_aval(x)) for x in consts]
    variables: dict[str, Sequence[Any]] = {"in": jaxpr.invars, "out": jaxpr.outvars}
    given = iter(constvars)
    outvars = [next(given) if kind == "const" else variables[kind][i] for kind, i in origins]
    jaxpr = jaxpr.replace(constvars=jaxpr.constvars + constvars, outvars=outvars)
    return ClosedJaxpr(jaxpr, known.consts + consts)
