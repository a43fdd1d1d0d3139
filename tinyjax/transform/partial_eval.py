"""Partial evaluation: computing what is known now, and writing down the rest for later.

`linearize` runs the JVP of a function with the primals known and the tangents unknown; all that depends on
primals alone is computed, and what involves a tangent becomes a linear jaxpr, whose constvars are the
residuals.

Source: https://docs.jax.dev/en/latest/autodidax.html#part-4-linearize-and-vjp-and-partial-eval
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tinyjax.core import dtypes
from tinyjax.core.api_util import FlatFun, check_callable, split_aux
from tinyjax.core.avals import get_aval
from tinyjax.core.bind import Primitive, ResultsOf, Trace, check_values, context, set_current_trace
from tinyjax.core.jaxpr import (
    ClosedJaxpr,
    Jaxpr,
    Var,
    cached_on_jaxpr,
    constvars_as_invars,
    eval_jaxpr,
    jaxpr_as_fun,
    prepare_jaxpr,
    without_dead_code,
)
from tinyjax.core.lists import drop, pick
from tinyjax.core.tracing import JaxprTrace, JaxprTracer, user_line
from tinyjax.core.tree_util.partial import Partial
from tinyjax.core.tree_util.prefixes import structures_differ
from tinyjax.core.tree_util.pytrees import tree_flatten, tree_unflatten
from tinyjax.transform.jvp import JVPTrace, JVPTracer, Zero, full

# ---- the trace ----


class PartialEvalTrace(Trace):
    """Sends each primitive one of two ways: to `parent` if all operands are known, else to
    `unknown`, which writes a jaxpr. A known operand there becomes a constvar: a residual.

    It is JAX's JaxprTrace, a name that here is that of the trace which only writes a jaxpr."""

    def __init__(self, parent: Trace, unknown: JaxprTrace):
        self.parent = parent
        self.unknown = unknown

    def is_unknown(self, x: Any) -> bool:
        return type(x) is JaxprTracer and x._trace is self.unknown

    def process_primitive(self, primitive: Primitive, args: Sequence[Any], params: dict) -> Any:
        """Of a primitive with an unknown operand, the rule in partial_eval_rules if there is one."""
        if not any(map(self.is_unknown, args)):
            return self.parent.process_primitive(primitive, args, params)
        if primitive in partial_eval_rules:
            return partial_eval_rules[primitive](self, args, params)
        return self.unknown.process_primitive(primitive, args, params)


# primitive -> (trace, args, params) -> results; for those that can compute a part of themselves (jit)
partial_eval_rules: dict[Primitive, Callable[..., Any]] = {}


# Where a known value of a split jaxpr comes from: ("in", i) is known input i, ("out", i) is output i of
# the known part, ("const", x) is the value x itself.
ValueOrigin = tuple[str, Any]


@cached_on_jaxpr
def partial_eval_jaxpr(
    closed_jaxpr: ClosedJaxpr, unknown_ins: tuple[bool, ...], force_unknown: tuple[bool, ...] = ()
) -> tuple[ClosedJaxpr, ClosedJaxpr, tuple[bool, ...], list[ValueOrigin], list[ValueOrigin]]:
    """Splits a jaxpr in two: one of the known inputs, one of residuals and the unknown inputs.

    Gives (known, unknown, unknown_outs, known_outs, residuals); known outputs and residuals are listed
    by their sources, so that `known` computes each value once and gives no input back. The results
    that `force_unknown` names (an entry a result) are left to `unknown` also where they are known,
    as residuals."""
    known_trace, unknown_trace = JaxprTrace(), JaxprTrace()
    trace = PartialEvalTrace(known_trace, unknown_trace)
    args = [
        (unknown_trace if unknown else known_trace).new_arg(aval)
        for aval, unknown in zip(closed_jaxpr.in_avals, unknown_ins)
    ]
    with set_current_trace(trace):
        outs = jaxpr_as_fun(closed_jaxpr)(*args)
    forced = force_unknown or (False,) * len(outs)
    unknown_outs = tuple(f or trace.is_unknown(x) for x, f in zip(outs, forced))
    known_outs = drop(outs, unknown_outs)
    later = [
        x if trace.is_unknown(x) else unknown_trace.new_const(x) for x in pick(outs, unknown_outs)
    ]
    unknown = without_dead_code(unknown_trace.finish(later))
    residuals = unknown.consts

    known_args = [x for x in args if not trace.is_unknown(x)]
    sources: dict[int, ValueOrigin] = {id(x): ("in", i) for i, x in enumerate(known_args)}
    sources.update((id(x), ("const", x)) for x in closed_jaxpr.consts)
    computed: list[Any] = []
    for x in (*known_outs, *residuals):
        if id(x) not in sources:
            sources[id(x)] = ("out", len(computed))
            computed.append(x)
    known = without_dead_code(known_trace.finish(computed))
    unknown = constvars_as_invars(unknown)  # its constants were the residuals
    out_sources, residual_sources = ([sources[id(x)] for x in xs] for xs in (known_outs, residuals))
    return known, unknown, unknown_outs, out_sources, residual_sources


def values_of(sources: Sequence[ValueOrigin], values: Mapping[str, Sequence[Any]]) -> list[Any]:
    """What the sources name: `values` has the known inputs as "in", the known part's outputs as "out"."""
    return [x if kind == "const" else values[kind][x] for kind, x in sources]


def with_outputs(known: ClosedJaxpr, sources: Sequence[ValueOrigin]) -> ClosedJaxpr:
    """The known part of a split jaxpr with a result for each source."""
    jaxpr = known.jaxpr
    consts = [x for kind, x in sources if kind == "const"]
    constvars = [Var(get_aval(x)) for x in consts]
    variables: dict[str, Sequence[Any]] = {"in": jaxpr.invars, "out": jaxpr.outvars}
    given = iter(constvars)
    outvars = [next(given) if kind == "const" else variables[kind][i] for kind, i in sources]
    jaxpr = jaxpr.replace(constvars=jaxpr.constvars + constvars, outvars=outvars)
    return ClosedJaxpr(jaxpr, known.consts + consts)


# ---- linearize ----


class Linearized:
    """The linear jaxpr of a function at a point: residuals as consts, tangents as arguments.

    `nonzero_ins` and `nonzero_outs` say which inputs and outputs have tangents in the jaxpr."""

    def __init__(
        self,
        jaxpr: Jaxpr,
        residuals: Sequence[Any],
        nonzero_ins: Sequence[bool],
        nonzero_outs: Sequence[bool],
    ):
        self.jaxpr = jaxpr
        self.residuals = residuals
        self.nonzero_ins = nonzero_ins
        self.nonzero_outs = nonzero_outs


def linearize_flat(fun: Callable[..., list], primals: Sequence[Any]) -> tuple[list, Linearized]:
    """The results of `fun` at `primals`, and its derivative there as a linear jaxpr."""
    trace = JVPTrace(PartialEvalTrace(context.trace, JaxprTrace()))
    outs, closed, nonzero_ins, nonzero_outs = trace_linear(trace, fun, primals)
    closed = without_dead_code(closed)
    return outs, Linearized(closed.jaxpr, closed.consts, nonzero_ins, nonzero_outs)


def trace_linear(
    jvp_trace: JVPTrace, fun: Callable[..., list], primals: Sequence[Any]
) -> tuple[list, ClosedJaxpr, list[bool], list[bool]]:
    """Runs `fun` on primals that are known and tangents that are not, in a JVPTrace above a
    PartialEvalTrace. Gives the results, the jaxpr of what was left for later, and which arguments and
    which results have tangents there: an integer has none. Raises ValueError if a result is unknown."""
    partial_trace = jvp_trace.parent
    assert isinstance(partial_trace, PartialEvalTrace)
    unknown, source = partial_trace.unknown, user_line()
    args, nonzero_ins = [], []
    for primal in primals:
        aval = get_aval(primal).to_tangent_aval()
        nonzero = dtypes.is_inexact(aval.dtype)  # an integer has no tangent
        nonzero_ins.append(nonzero)
        args.append(
            JVPTracer(jvp_trace, primal, unknown.new_arg(aval, source)) if nonzero else primal
        )
    with set_current_trace(jvp_trace):
        outs = fun(*args)
    for check in check_values:
        check(ResultsOf("the function that is differentiated"), outs)
    pairs = [jvp_trace.primal_and_tangent(x) for x in outs]
    if any([partial_trace.is_unknown(primal) for primal, _ in pairs]):
        raise ValueError(
            "a result depends on a tangent and cannot be known before it: some operation maps primals "
            "and tangents together and has no rule to part them (while_loop and reduce_window have "
            "none, nor may a JVP rule of your own). Reverse-mode differentiation needs them apart; "
            "jax.jvp does not"
        )
    nonzero_outs = [type(tangent) is not Zero for _, tangent in pairs]
    closed = unknown.finish([tangent for _, tangent in pairs if type(tangent) is not Zero])
    for prepare in prepare_jaxpr:
        closed = prepare(closed, False)
    return [primal for primal, _ in pairs], closed, nonzero_ins, nonzero_outs


def with_aux_apart(fun: Callable, has_aux: bool) -> tuple[Callable, list[Any]]:
    """`fun` without its auxiliary result, and the list that a call puts that into, if there is one."""
    aux: list[Any] = []
    if not has_aux:
        return fun, aux

    def main(*args: Any) -> Any:
        out, raw_aux = split_aux(fun(*args))
        aux.append(strip_tracers(raw_aux))
        return out

    return main, aux


def strip_tracers(tree: Any) -> Any:
    """The primals of an auxiliary result, which is not differentiated."""
    leaves, treedef = tree_flatten(tree)
    trace = context.trace
    assert isinstance(trace, JVPTrace)
    return tree_unflatten(treedef, [trace.primal(x) for x in leaves])


def linearize(fun: Callable, *primals: Any, has_aux: bool = False) -> Any:
    """The value of `fun` at `primals`, and a function that maps tangents to the result's tangent.

    The function can be called many times: it holds the residuals and does the linear part alone. It is
    a node whose leaves they are: jit can take and return it. With has_aux, gives (out, f_jvp, aux).
    Source: https://docs.jax.dev/en/latest/_autosummary/jax.linearize.html"""
    check_callable(fun, "linearize")
    main, aux = with_aux_apart(fun, has_aux)
    leaves, in_tree = tree_flatten((primals, {}))
    flat_fun = FlatFun(main, in_tree)
    outs, linearized = linearize_flat(flat_fun, leaves)
    out_tree = flat_fun.out_tree
    tangent_tree = tree_flatten(primals)[1]
    in_avals, out_avals = ([get_aval(x).to_tangent_aval() for x in xs] for xs in (leaves, outs))

    def f_jvp(residuals: Sequence[Any], *tangents: Any) -> Any:
        flat, tree = tree_flatten(tangents)
        if tree != tangent_tree:
            raise TypeError(
                f"linearized function takes tangents of structure {tangent_tree}, got {tree}"
                + structures_differ("primals", tangent_tree, "tangents", tree)
            )
        for expected, got in zip(in_avals, map(get_aval, flat)):
            if expected.shape != got.shape or expected.dtype != got.dtype:
                raise ValueError(
                    "linearized function called on tangent values inconsistent with the original "
                    f"primal values: got tangent {got.str_short()} for primal aval "
                    f"{expected.str_short()}"
                )
        used = [t for t, nonzero in zip(flat, linearized.nonzero_ins) if nonzero]
        results = iter(eval_jaxpr(linearized.jaxpr, residuals, *used))
        return tree_unflatten(
            out_tree,
            [
                next(results) if nonzero else full(aval, 0)
                for aval, nonzero in zip(out_avals, linearized.nonzero_outs)
            ],
        )

    return tree_unflatten(out_tree, outs), Partial(f_jvp, linearized.residuals), *aux
