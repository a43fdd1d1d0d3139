"""The trace of `jet`: a value carries its Taylor series along, as in jvp it carries its tangent.

A series is a list of Taylor coefficients [x0, x1, ..., xK], of x0 + x1 t + ... + xK t^K. Most rules follow
from what a primitive declares; the others stand in jet.py.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

from tinyjax.core import dtypes
from tinyjax.core.array import ShapedArray
from tinyjax.core.avals import get_aval
from tinyjax.core.bind import Primitive, Trace, Tracer, context, missing_rule, set_current_trace
from tinyjax.core.jaxpr import ClosedJaxpr, cached_on_jaxpr, jaxpr_as_fun
from tinyjax.core.tracing import trace_to_jaxpr
from tinyjax.transform.custom.forward_rules import custom_jvp_call_p
from tinyjax.transform.custom.vjp_call import custom_vjp_call_p
from tinyjax.transform.jit.primitive import jit_p
from tinyjax.transform.jvp import full, instantiate_zeros, jvp_rules, zero_tangent

Series = list[Any]

# ---- the trace ----


class JetTracer(Tracer):
    """A value and how it goes on: a series."""

    __slots__ = ("aval", "series")

    def __init__(self, trace: JetTrace, series: Series):
        self._trace = trace
        self.aval = get_aval(series[0])
        self.series = series

    def concrete(self) -> Any:
        primal = self.series[0]
        return primal.concrete() if isinstance(primal, Tracer) else primal


class JetTrace(Trace):
    """Applies jet rules to series of `order` terms after the value; their binds go to `parent`."""

    def __init__(self, parent: Trace, order: int):
        self.parent = parent
        self.order = order

    def series(self, x: Any) -> Series:
        if type(x) is JetTracer and x._trace is self:
            return x.series
        return [x] + [full(get_aval(x), 0)] * self.order

    def process_primitive(self, primitive: Primitive, args: Sequence[Any], params: dict) -> Any:
        if primitive in (custom_jvp_call_p, custom_vjp_call_p):  # their rules are of first order
            with set_current_trace(self):
                return params["fun"](*args)
        moving = [i for i, x in enumerate(args) if type(x) is JetTracer and x._trace is self]
        if not moving:
            return self.parent.process_primitive(primitive, args, params)
        rule = jet_rules.get(primitive) or derived_rule(primitive, moving)
        with set_current_trace(self.parent):
            out = rule(*[self.series(x) for x in args], **params)
        return [self.value(v) for v in out] if primitive.multiple_results else self.value(out)

    def value(self, series: Series) -> Any:
        """A rule's result; a value without terms is a constant."""
        return JetTracer(self, series) if len(series) > 1 else series[0]


def taylor(fun: Callable, *series: Series) -> Series:
    """The series of fun(x, ...) for those of x, ...; for rules that are written as other operations."""
    trace = JetTrace(context.trace, len(series[0]) - 1)
    with set_current_trace(trace):
        out = fun(*[JetTracer(trace, u) for u in series])
    return trace.series(out)


# primitive -> (*series, **params) -> series (a list of them if multiple_results)
jet_rules: dict[Primitive, Callable[..., Any]] = {}


# ---- rules that follow from a primitive's facts ----


def derived_rule(primitive: Primitive, moving: Sequence[int]) -> Callable[..., Any]:
    """The rule of a primitive that is a step or linear, or works element by element and has a JVP rule, for
    calls in which these operands are no constants.

    Raises NotImplementedError for others."""
    facts = primitive.facts
    if facts.is_step:
        return functools.partial(constant, primitive)
    if facts.linear == "all":
        return functools.partial(linear, primitive)
    if facts.linear == "each":
        return lambda u, w, **params: product(u, w, functools.partial(primitive.bind, **params))
    if isinstance(facts.linear, tuple):
        return functools.partial(_linear_in, primitive, facts.linear)
    if facts.axes == "elementwise" and primitive in jvp_rules:
        return functools.partial(_by_slopes, primitive, moving)
    missing_rule(primitive, "jet")


def linear(primitive: Primitive, *series: Series, **params: Any) -> Any:
    outs = [primitive.bind(*terms, **params) for terms in zip(*series)]
    return [list(v) for v in zip(*outs)] if primitive.multiple_results else outs


def _linear_in(
    primitive: Primitive, operands: Sequence[int], *series: Series, **params: Any
) -> Any:
    """The other operands are indices, which do not move."""

    def terms(k: int) -> list[Any]:
        return [u[k] if i in operands else u[0] for i, u in enumerate(series)]

    return [primitive.bind(*terms(k), **params) for k in range(len(series[0]))]


def constant(primitive: Primitive, *series: Series, **params: Any) -> Any:
    out = primitive.bind(*[u[0] for u in series], **params)
    return [[x] for x in out] if primitive.multiple_results else [out]


def product(u: Series, w: Series, times: Callable = operator.mul) -> Series:
    """The coefficients of u * w, for any bilinear operation."""
    return [sum_of([times(u[j], w[k - j]) for j in range(k + 1)]) for k in range(len(u))]


def sum_of(terms: list[Any]) -> Any:
    return functools.reduce(operator.add, terms, 0) if terms else 0


def chain(k: int, slope: Series, u: Series) -> Any:
    """The k-th coefficient of v where v' = slope * u': k v_k = sum of j u_j slope_(k - j)."""
    return sum_of([j * slope[k - j] * u[j] for j in range(1, k + 1)]) / k


def _by_slopes(
    primitive: Primitive, moving: Sequence[int], *series: Series, **params: Any
) -> Series:
    """v' is the sum of slope * u' over the moving operands u. The JVP rule gives the slopes. Their series are
    needed to one order less, and follow from the rules of the primitives that it binds."""
    v = [primitive.bind(*[u[0] for u in series], **params)]
    if len(series[0]) == 1 or not dtypes.is_inexact(get_aval(v[0]).dtype):
        return v

    def slope(operand: int, *moved: Any) -> Any:
        xs = [u[0] for u in series]
        for i, x in zip(moving, moved):
            xs[i] = x
        tangents = [zero_tangent(x) for x in xs]
        tangents[operand] = full(get_aval(xs[operand]), 1)
        return instantiate_zeros(jvp_rules[primitive](xs, tangents, **params)[1])

    shorter = [series[i][:-1] for i in moving]
    slopes = {i: taylor(functools.partial(slope, i), *shorter) for i in moving}
    for k in range(1, len(series[0])):
        v.append(sum_of([chain(k, slopes[i], series[i]) for i in moving]))
    return v


# ---- jit ----


@cached_on_jaxpr
def jet_jaxpr(
    closed_jaxpr: ClosedJaxpr, order: int, in_avals: tuple[ShapedArray, ...]
) -> ClosedJaxpr:
    """The jaxpr of all coefficients of all operands that gives those of all results."""

    def fun(*flat: Any) -> list[Any]:
        trace = JetTrace(context.trace, order)
        with set_current_trace(trace):
            outs = jaxpr_as_fun(closed_jaxpr)(*[JetTracer(trace, u) for u in _cut(flat, order)])
        return [term for x in outs for term in trace.series(x)]

    return trace_to_jaxpr(fun, in_avals)


def _cut(flat: Sequence[Any], order: int) -> list[Series]:
    return [list(flat[i : i + order + 1]) for i in range(0, len(flat), order + 1)]


def _jit(*series: Series, jaxpr: ClosedJaxpr, **params: Any) -> list[Series]:
    order, flat = len(series[0]) - 1, [term for u in series for term in u]
    new_jaxpr = jet_jaxpr(jaxpr, order, tuple([get_aval(x) for x in flat]))
    params["donated_invars"] = (False,) * len(flat)
    return _cut(jit_p.bind(*flat, jaxpr=new_jaxpr, **params), order)


jet_rules[jit_p] = _jit
