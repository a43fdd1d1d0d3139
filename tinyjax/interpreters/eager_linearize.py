"""grad without a transformation around it: derivatives of single operations, remembered.

After this file you can say where the time of an eager `grad` goes. linearize_flat asks, each time that
`sin(x)` is differentiated, for the rule of sin, partial evaluation of what the rule does, and
transposition. But what these write down depends on the primitive, its parameters and its operands' avals
alone: three jaxprs (`Step`), made once by the same jvp_jaxpr, partial_eval_jaxpr and backward_pass
that derive a jitted function, and run as NumPy calls. A step is one equation of the linear jaxpr, with
its residuals in the parameters. All that this cannot do (custom rules, loops, jit) goes the plain way.

The fast path behind interpreters/vjp.py; nothing is lost by skipping it. Builds on numpy_program and vjp.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinyjax.array import ArrayImpl, ShapedArray
from tinyjax.config import config
from tinyjax.core import (
    EvalTrace,
    Primitive,
    Tracer,
    abstract_eval_rules,
    as_array,
    context,
    get_aval,
    missing_rule,
    run_quietly,
    set_current_trace,
    to_numpy,
)
from tinyjax.interpreters import jit, vjp
from tinyjax.interpreters.jit import PjitFunction
from tinyjax.interpreters.jvp import JVPTrace, JVPTracer, Zero, full, jvp_rules
from tinyjax.interpreters.jvp_of_jaxpr import jvp_jaxpr
from tinyjax.interpreters.numpy_program import NumpyProgram
from tinyjax.interpreters.partial_eval import (
    Linearized,
    PartialEvalTrace,
    partial_eval_jaxpr,
    trace_linear,
    with_outputs,
)
from tinyjax.interpreters.tracing import JaxprTrace, JaxprTracer, trace_to_jaxpr, user_line
from tinyjax.interpreters.transposition import UndefinedPrimal, backward_pass, transpose_rules
from tinyjax.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Var, cached_on_jaxpr
from tinyjax.lists import pick, split_list
from tinyjax.tree_util.pytrees import tree_unflatten

# ---- one operation, differentiated ----

CotangentAvals = tuple[ShapedArray | None, ...]  # None for one that is Zero


class Step:
    """A jaxpr of one operation, linearized for operands of which some (`nonzeros`) have tangents.

    Raises NotImplementedError where that is not a matter of avals alone."""

    def __init__(self, operation: ClosedJaxpr, nonzeros: tuple[bool, ...]):
        num_outs = len(operation.out_avals)
        derived, nonzero_outs = jvp_jaxpr(operation, nonzeros)
        num_tangents, num_tangents_out = sum(nonzeros), sum(nonzero_outs)
        known, self.linear, unknown_outs, out_sources, residual_sources = partial_eval_jaxpr(
            derived,
            (False,) * len(nonzeros) + (True,) * num_tangents,
            (False,) * num_outs + (True,) * num_tangents_out,
        )
        if any(unknown_outs[:num_outs]):
            raise NotImplementedError("a result that depends on a tangent")
        self.forward = NumpyProgram(with_outputs(known, out_sources + residual_sources))
        NumpyProgram(self.linear)  # raises now what its transpose would raise later
        self.out_avals = operation.out_avals
        avals = iter(self.linear.out_avals)
        self.tangent_avals = [next(avals) if nonzero else None for nonzero in nonzero_outs]
        self.num_residuals = len(residual_sources)
        self.backward_of: dict[CotangentAvals, tuple[NumpyProgram, CotangentAvals]] = {}

    def backward(self, ct_avals: CotangentAvals) -> tuple[NumpyProgram, CotangentAvals]:
        """From residuals and the cotangents that are not Zero to those of the operands that are not
        Zero: a program, and the avals."""
        if ct_avals not in self.backward_of:
            self.backward_of[ct_avals] = self._transposed(ct_avals)
        return self.backward_of[ct_avals]

    def _transposed(self, ct_avals: CotangentAvals) -> tuple[NumpyProgram, CotangentAvals]:
        jaxpr, consts = self.linear.jaxpr, self.linear.consts
        residuals, operands = split_list(jaxpr.invars, self.num_residuals)
        nonzero: list[bool] = []

        def backward(*flat: Any) -> list[Any]:
            values, cts = list(flat[: len(residuals)]), iter(flat[len(residuals) :])
            args = values + [UndefinedPrimal(v.aval) for v in operands]
            all_cts = [
                Zero(v.aval) if aval is None else next(cts)
                for v, aval in zip(jaxpr.outvars, ct_avals)
            ]
            outs = backward_pass(jaxpr, consts, args, all_cts)[len(residuals) :]
            nonzero.extend([type(ct) is not Zero for ct in outs])
            return pick(outs, nonzero)

        in_avals = [v.aval for v in residuals] + [aval for aval in ct_avals if aval is not None]
        with set_current_trace(EvalTrace()):
            transposed = trace_to_jaxpr(backward, in_avals)
        avals = iter(transposed.out_avals)
        return NumpyProgram(transposed), tuple([next(avals) if nz else None for nz in nonzero])


# The equation of a step: its operands are tangents. Parameters: step, and residuals (NumPy arrays).
linear_step_p = Primitive("linear_step", multiple_results=True)


def _transpose_step(cts: Any, *tangents: Any, step: Step, residuals: list[np.ndarray]) -> list[Any]:
    ct_avals = tuple([None if type(ct) is Zero else ct.aval for ct in cts])
    program, avals = step.backward(ct_avals)
    found = iter(program([*residuals, *[ct._value for ct in cts if type(ct) is not Zero]]))
    place = next((ct._device for ct in cts if type(ct) is not Zero and ct.committed), None)
    return [
        Zero(v.aval) if aval is None else ArrayImpl(next(found), aval, None, place, bool(place))
        for v, aval in zip(tangents, avals)
    ]


transpose_rules[linear_step_p] = _transpose_step

# A cotangent as NumPy sees it.
Cotangent = tuple[np.ndarray, ShapedArray]


def backward_steps(jaxpr: Jaxpr, cts: Sequence[Cotangent]) -> list[Cotangent | None]:
    """The same as backward_pass, of a jaxpr that has steps alone: None for what is Zero."""
    ct_of: dict[Any, Cotangent] = {}

    def accumulate(v: Any, ct: np.ndarray, aval: ShapedArray) -> None:
        if v in ct_of:
            before, other = ct_of[v]
            ct, aval = np.asarray(np.add(before, ct)), aval if other.weak_type else other
        ct_of[v] = ct, aval

    for v, (ct, aval) in zip(jaxpr.outvars, cts):
        accumulate(v, ct, aval)
    for eqn in reversed(jaxpr.eqns):
        values, ct_avals = list(eqn.params["residuals"]), []
        for v in eqn.outvars:
            of_result = ct_of.pop(v, None)
            ct_avals.append(None if of_result is None else of_result[1])
            if of_result is not None:
                values.append(of_result[0])
        program, avals = eqn.params["step"].backward(tuple(ct_avals))
        found = iter(program.run(values))
        for v, aval in zip(eqn.invars, avals):
            if aval is not None:
                accumulate(v, next(found), aval)
    return [ct_of.get(v) for v in jaxpr.invars]


# ---- steps, remembered ----


# What an operation is applied to: the primals, the tangents of those operands that have one, the avals of
# all, and which have tangents.
Operands = tuple[list[np.ndarray], list[Any], tuple[ShapedArray, ...], tuple[bool, ...]]

# (primitive, avals, which have tangents, parameters, config) -> the step, None if there can be none
_steps: dict[tuple, Step | None] = {}
MOST_STEPS = 10_000  # then all are forgotten: ever new shapes must not fill the memory


def step_of(primitive: Primitive, operands: Operands, params: dict) -> Step | None:
    """The step of a primitive; None where the plain way must be gone."""
    if primitive.takes_arrays or primitive.has_effects:
        return None
    _, _, avals, nonzeros = operands
    try:
        rule = jvp_rules.get(primitive)  # which may have been changed since
        key = (primitive, rule, avals, nonzeros, tuple(params.items()), config.key)
        return _steps[key]
    except TypeError:  # parameters without a hash
        return None
    except KeyError:
        if not all([_is_exact(x) for x in params.values()]):
            return None
    if len(_steps) >= MOST_STEPS:
        _steps.clear()
    _steps[key] = make_step(functools.partial(_operation, primitive, avals, params), nonzeros)
    return _steps[key]


@cached_on_jaxpr
def step_of_jaxpr(jaxpr: ClosedJaxpr, nonzeros: tuple[bool, ...]) -> Step | None:
    """The same for a whole jaxpr."""
    return make_step(lambda: jaxpr, nonzeros)


def make_step(operation: Callable[[], ClosedJaxpr], nonzeros: tuple[bool, ...]) -> Step | None:
    try:
        with set_current_trace(EvalTrace()):
            return Step(operation(), nonzeros)
    except NotImplementedError:
        return None


def _is_exact(param: Any) -> bool:
    """Whether equal parameters are the same: 0.0 and -0.0 are not, nor are 1 and 1.0."""
    if isinstance(param, tuple):
        return all([_is_exact(x) for x in param])
    return not isinstance(param, (float, complex, np.inexact))


def _operation(primitive: Primitive, avals: Sequence[ShapedArray], params: dict) -> ClosedJaxpr:
    """The jaxpr of one equation."""
    rule = abstract_eval_rules.get(primitive) or missing_rule(primitive, "abstract_eval")
    out = rule(*avals, **params)
    invars = [Var(aval) for aval in avals]
    outvars = [Var(aval) for aval in (out if primitive.multiple_results else [out])]
    return ClosedJaxpr(Jaxpr([], invars, outvars, [JaxprEqn(primitive, invars, outvars, params)]))


# ---- the trace ----


class EagerLinearizeTrace(JVPTrace):
    """Does what JVPTrace does above a PartialEvalTrace, by steps where there are any."""

    parent: PartialEvalTrace

    def process_primitive(self, primitive: Primitive, args: Sequence[Any], params: dict) -> Any:
        operands = self.split(args)
        step = step_of(primitive, operands, params) if operands is not None else None
        if operands is None or step is None:
            return super().process_primitive(primitive, args, params)
        results = self.apply(step, operands)
        return results if primitive.multiple_results else results[0]

    def split(self, args: Sequence[Any]) -> Operands | None:
        """What the step of an operation needs to know; None if no operand has a tangent, or a primal is
        not known or on a device of its own."""
        primals, tangents, avals, nonzeros = [], [], [], []
        for x in args:
            nonzero = type(x) is JVPTracer and x._trace is self
            if nonzero:
                tangents.append(x.tangent)
                x = x.primal
            if isinstance(x, ArrayImpl):
                if x.committed:  # the plain way knows where the results are to be
                    return None
                aval, value = x.aval, x._value
            elif isinstance(x, Tracer):
                return None
            else:
                aval = get_aval(x)
                value = to_numpy(x, aval)
            primals.append(value)
            avals.append(aval)
            nonzeros.append(nonzero)
        return (primals, tangents, tuple(avals), tuple(nonzeros)) if tangents else None

    def apply(self, step: Step, operands: Operands) -> list[Any]:
        """Computes the results, and writes the equation of their tangents."""
        primals, tangents, _, _ = operands
        found = run_quietly(step.forward.run, primals)
        unknown, source = self.parent.unknown, user_line()
        results: list[Any] = []
        outvars: list[Var] = []
        for x, aval, tangent_aval in zip(found, step.out_avals, step.tangent_avals):
            out = ArrayImpl(x, aval)
            if tangent_aval is None:
                results.append(out)
            else:
                var = Var(tangent_aval)
                outvars.append(var)
                tangent = JaxprTracer(unknown, tangent_aval, var, source)
                results.append(JVPTracer(self, out, tangent))
        params = {"step": step, "residuals": found[len(results) :]}
        invars = [
            t.atom if type(t) is JaxprTracer and t._trace is unknown else unknown.atom(t)
            for t in tangents
        ]
        unknown.eqns.append(JaxprEqn(linear_step_p, invars, outvars, params))
        return results


def call_as_step(function: PjitFunction, args: tuple, kwargs: dict) -> Any:
    """A whole function of jax.numpy as one step; NotImplemented where it must run as it is."""
    trace = context.trace
    if type(trace) is not EagerLinearizeTrace:
        return NotImplemented
    try:
        leaves, (jaxpr, out_tree, _), tracers = function.trace_cached(args, kwargs)
    except Exception:  # it runs as it is, and that will say what is wrong
        return NotImplemented
    operands = None if tracers else trace.split(leaves)
    step = step_of_jaxpr(jaxpr, operands[3]) if operands is not None else None
    if operands is None or step is None:
        return NotImplemented
    return tree_unflatten(out_tree, trace.apply(step, operands))


# ---- the front door ----


def vjp_eagerly(fun: Callable[..., list], primals: Sequence[Any]) -> tuple[list, Callable]:
    """As vjp_flat."""
    if type(context.trace) is not EvalTrace or config.jax_debug_nans or config.jax_debug_infs:
        return vjp.vjp_flat(fun, primals)
    trace = EagerLinearizeTrace(PartialEvalTrace(context.trace, JaxprTrace()))
    arrays = [as_array(x) for x in primals]
    outs, closed, *nonzeros = trace_linear(trace, fun, arrays)
    linearized = Linearized(closed.jaxpr, closed.consts, *nonzeros)
    return outs, functools.partial(pull_back_eagerly, linearized, arrays)


def pull_back_eagerly(linearized: Linearized, primals: list[Any], cts: list[Any]) -> list[Any]:
    """The cotangents of all primals, zeros made into arrays."""
    jaxpr = linearized.jaxpr
    is_steps_alone = not jaxpr.constvars and all([e.primitive is linear_step_p for e in jaxpr.eqns])
    if not is_steps_alone or any([x.committed for x in primals]):
        avals = [x.aval.to_tangent_aval() for x in primals]
        return vjp.pull_back(linearized, linearized.residuals, avals, cts)
    used = [(ct._value, ct.aval) for ct in pick(cts, linearized.nonzero_outs)]
    found = iter(run_quietly(backward_steps, jaxpr, used))
    gradients = []
    for x, nonzero in zip(primals, linearized.nonzero_ins):
        ct = next(found) if nonzero else None
        gradients.append(full(x.aval.to_tangent_aval(), 0) if ct is None else ArrayImpl(*ct))
    return gradients


vjp.vjp_for_grad = vjp_eagerly
jit.call_library_function = call_as_step
