"""Linearize: a function's value at a point, and its derivative there as a linear jaxpr.

One trace does both. Its tracers are pairs of a primal, which is known, and a tangent, which is not: a
variable of the linear jaxpr. Each operation on such pairs is parted there and then. What depends on primals
alone is computed, in the parent trace; what involves a tangent is written into the linear jaxpr. A computed
value that the linear jaxpr reads is one of its constvars: a residual.

Source: https://docs.jax.dev/en/latest/direct_linearize_migration.html
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tinyjax.core import dtypes
from tinyjax.core.api_util import FlatArgsFun, check_callable, split_aux
from tinyjax.core.array import ShapedArray
from tinyjax.core.avals import get_aval
from tinyjax.core.bind import (
    Primitive,
    ResultsOf,
    Trace,
    Tracer,
    check_values,
    context,
    missing_rule,
    set_current_trace,
)
from tinyjax.core.jaxpr import Jaxpr, eval_jaxpr, prepare_jaxpr, without_dead_code
from tinyjax.core.tracing import JaxprTrace, JaxprTracer, user_line
from tinyjax.core.tree_util.partial import Partial
from tinyjax.core.tree_util.prefixes import structures_differ
from tinyjax.core.tree_util.pytrees import tree_flatten, tree_unflatten
from tinyjax.transform.jvp import JVPTracer, Zero, full, jvp_rules, zero_tangent

# ---- the trace ----


class LinearizeTracer(JVPTracer):
    """A pair of a primal, which is known, and its tangent, which is not: a variable of the linear jaxpr."""

    __slots__ = ()

    def __repr__(self) -> str:
        tangent = get_aval(self.tangent).str_short(short_dtypes=True)
        return f"GradTracer(primal={self.primal}, typeof(tangent)={tangent})"


class LinearizeTrace(Trace):
    """Sends each operation one of three ways, by its operands.

    With a pair among them, it is linearized by a rule of its primitive. A JVP rule is run in this trace too,
    which then meets what the rule does with primals and tangents. An operation on known values alone goes to
    `parent`, which computes it; one that involves a tangent goes to `unknown`, which writes a jaxpr."""

    def __init__(self, parent: Trace, unknown: JaxprTrace):
        self.parent = parent
        self.unknown = unknown

    def is_unknown(self, x: Any) -> bool:
        """Whether `x` is a tracer of the trace `unknown`."""
        return type(x) is JaxprTracer and x._trace is self.unknown

    def primal_and_tangent(self, x: Any) -> tuple[Any, Any]:
        """What a tracer of this trace carries. All else is a constant here: its tangent is Zero."""
        if type(x) is LinearizeTracer and x._trace is self:
            return x.primal, x.tangent
        return x, zero_tangent(x)

    def process_primitive(self, primitive: Primitive, args: Sequence[Any], params: dict) -> Any:
        """An operation with an unknown operand uses its rule in partial_eval_rules, if there is one."""
        trace = self.parent
        for x in args:
            if isinstance(x, Tracer):
                if x._trace is self:
                    return self.linearize(primitive, args, params)
                if x._trace is self.unknown:
                    trace = self.unknown
        if trace is self.unknown and primitive in partial_eval_rules:
            return partial_eval_rules[primitive](self, args, params)
        return trace.process_primitive(primitive, args, params)

    def linearize(self, primitive: Primitive, args: Sequence[Any], params: dict) -> Any:
        """The primitive's linearize rule, or else its JVP rule, applied to primals and tangents. A primitive
        of several results gives a list."""
        primals, tangents = zip(*map(self.primal_and_tangent, args))
        if primitive in linearize_rules:
            out, tangent_out = self.by_rule(linearize_rules[primitive], primals, tangents, params)
        else:
            rule = jvp_rules.get(primitive) or missing_rule(primitive, "jvp")
            with set_current_trace(self):
                out, tangent_out = rule(primals, tangents, **params)
        if primitive.multiple_results:
            return list(map(self.pair, out, tangent_out))
        return self.pair(out, tangent_out)

    def by_rule(
        self, rule: Callable, primals: Sequence[Any], tangents: Sequence[Any], params: dict
    ) -> tuple[Any, Any]:
        """The result and its tangent, by a linearize rule, which runs in the parent. The linear function that
        it gives runs in the trace that writes the linear jaxpr."""
        with set_current_trace(self.parent):
            out, linear = rule(primals, [type(t) is not Zero for t in tangents], **params)
        with set_current_trace(self.unknown):
            return out, linear(*tangents)

    def pair(self, primal: Any, tangent: Any) -> Any:
        """A tracer of this trace. A tangent that depends on no tangent is zero: the primal needs no tracer.
        Raises ValueError if the primal is unknown."""
        if type(primal) is JaxprTracer and primal._trace is self.unknown:
            raise ValueError(_UNKNOWN_PRIMAL)
        if type(tangent) is JaxprTracer and tangent._trace is self.unknown:
            return LinearizeTracer(self, primal, tangent)
        return primal


_UNKNOWN_PRIMAL = (
    "a result depends on a tangent and cannot be known before it: some operation maps primals and tangents "
    "together and has no rule to part them (reduce_window has none, nor may a JVP rule of your own). "
    "Reverse-mode differentiation needs them apart; jax.jvp does not"
)

# ---- rules ----

# primitive -> (primals, nonzeros, **params) -> (out, linear), for those that have jaxprs as parameters (jit,
# cond, scan): `nonzeros` marks primals with tangents, and linear(*tangents) gives the results' tangents;
# a tangent may be a Zero. All others are linearized by their JVP rules.
linearize_rules: dict[Primitive, Callable[..., Any]] = {}

# primitive -> (trace, args, params) -> results; for those of which a part can be computed, such as a jit that
# a JVP rule calls: partial evaluation
partial_eval_rules: dict[Primitive, Callable[..., Any]] = {}


# ---- linearize ----


class Linearized(NamedTuple):
    """The linear jaxpr of a function at a point: residuals as consts, tangents as arguments."""

    jaxpr: Jaxpr
    residuals: list[Any]
    # Those of all inputs' tangents. An integer's, of dtype float0, is no argument of the jaxpr.
    in_avals: list[ShapedArray]
    # Which results have tangents.
    nonzero_outs: list[bool]


def linearize_flat(fun: Callable[..., list], primals: Sequence[Any]) -> tuple[list, Linearized]:
    """The results of `fun` at `primals`, and its derivative there as a linear jaxpr."""
    return trace_linear(LinearizeTrace(context.trace, JaxprTrace()), fun, primals)


def trace_linear(
    trace: LinearizeTrace, fun: Callable[..., list], primals: Sequence[Any]
) -> tuple[list, Linearized]:
    """Linearizes in a given trace: runs `fun` on known primals with unknown tangents."""
    source = user_line()
    args, in_avals = [], []
    for primal in primals:
        aval = get_aval(primal).to_tangent_aval()
        in_avals.append(aval)
        if aval.dtype != dtypes.float0:
            tangent = trace.unknown.new_arg(aval, source)
            args.append(LinearizeTracer(trace, primal, tangent))
        else:
            args.append(primal)
    with set_current_trace(trace):
        outs = fun(*args)
    for check in check_values:
        check(ResultsOf("the function that is differentiated"), outs)
    results, tangents, nonzero_outs = [], [], []
    for x in outs:
        primal, tangent = trace.primal_and_tangent(x)
        results.append(primal)
        nonzero_outs.append(type(tangent) is not Zero)
        if type(tangent) is not Zero:
            tangents.append(tangent)
    closed = trace.unknown.finish(tangents)
    for prepare in prepare_jaxpr:
        closed = prepare(closed, False)
    closed = without_dead_code(closed)
    return results, Linearized(closed.jaxpr, closed.consts, in_avals, nonzero_outs)


def with_aux_apart(fun: Callable, has_aux: bool) -> tuple[Callable, list[Any]]:
    """`fun` without its auxiliary result, and the list to which a call appends that result."""
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
    ours = [type(x) is LinearizeTracer and x._trace is trace for x in leaves]
    return tree_unflatten(treedef, [x.primal if own else x for x, own in zip(leaves, ours)])


def linearize(fun: Callable, *primals: Any, has_aux: bool = False) -> Any:
    """The value of `fun` at `primals`, and a function that maps tangents to the result's tangent.

    The function can be called many times: it holds the residuals and does the linear part alone. It is a
    node whose leaves are the residuals: jit can take and return it. With has_aux, gives (out, f_jvp,
    aux)."""
    check_callable(fun, "linearize")
    main, aux = with_aux_apart(fun, has_aux)
    leaves, in_tree = tree_flatten(primals)
    flat_fun = FlatArgsFun(main, in_tree)
    outs, linearized = linearize_flat(flat_fun, leaves)
    out_tree = flat_fun.out_tree
    out_avals = [get_aval(x).to_tangent_aval() for x in outs]

    def f_jvp(residuals: Sequence[Any], *tangents: Any) -> Any:
        flat, tree = tree_flatten(tangents)
        if tree != in_tree:
            raise TypeError(
                f"linearized function takes tangents of structure {in_tree}, got {tree}"
                + structures_differ("primals", in_tree, "tangents", tree)
            )
        for expected, got in zip(linearized.in_avals, map(get_aval, flat)):
            if expected.shape != got.shape or expected.dtype != got.dtype:
                raise ValueError(
                    "linearized function called on tangent values inconsistent with the original "
                    f"primal values: got tangent {got.str_short()} for primal aval "
                    f"{expected.str_short()}"
                )
        used = [t for t, a in zip(flat, linearized.in_avals) if a.dtype != dtypes.float0]
        results = iter(eval_jaxpr(linearized.jaxpr, residuals, *used))
        return tree_unflatten(
            out_tree,
            [
                next(results) if nonzero else full(aval, 0)
                for aval, nonzero in zip(out_avals, linearized.nonzero_outs)
            ],
        )

    return tree_unflatten(out_tree, outs), Partial(f_jvp, linearized.residuals), *aux
