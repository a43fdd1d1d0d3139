"""How a custom_vjp function is differentiated.

fwd runs instead of the function and keeps residuals. The linear part is one equation, `custom_lin`, that
can only be transposed; its transpose is bwd.

Source: https://docs.jax.dev/en/latest/notebooks/Custom_derivative_rules_for_Python_code.html
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from tinyjax.compile.kernel.rules import lowering_rules
from tinyjax.core.array import ShapedArray
from tinyjax.core.avals import get_aval
from tinyjax.core.bind import (
    Primitive,
    abstract_eval_rules,
    context,
    impl_rules,
    no_rule_reasons,
    set_current_trace,
)
from tinyjax.core.inlining import eager_jaxpr_fun
from tinyjax.core.jaxpr import ClosedJaxpr, JaxprEqn, dce_jaxpr, dce_rules
from tinyjax.core.lists import drop, pick
from tinyjax.core.pretty_printer import JaxprPpContext, Params, printed_params
from tinyjax.core.tracing import trace_to_jaxpr
from tinyjax.transform.batching import AxisData, BatchTrace, axis_batch_rules, batch_rules
from tinyjax.transform.custom.calls import (
    BatchDims,
    CallWithRules,
    batched_function,
    cotangent_of_batch,
    from_symbolic_zero,
)
from tinyjax.transform.jvp import Zero, jvp_rules
from tinyjax.transform.linearize import linearize_rules
from tinyjax.transform.transposition import transpose_rules

# ---- custom_lin: a linear function that is known by its transpose alone ----


def no_forward_mode(*args: Any, **params: Any) -> NoReturn:
    raise TypeError(
        "can't apply forward-mode autodiff (jvp) to a custom_vjp function: its rule pulls cotangents "
        "back, and says nothing of tangents. Use grad or vjp, or define the rule by custom_jvp"
    )


def _custom_lin_transpose(
    cts: Any, *args: Any, num_res: int, bwd: Callable, in_zeros: list[bool], **params: Any
) -> list[Any]:
    """The cotangents of the operands: None for each residual, then those that bwd returns.

    bwd(residuals, cts) returns one for each argument of the function; those whose tangent was Zero
    (`in_zeros`) aren't operands here, and are left out. A cotangent may be a Zero: this bwd, which calls
    the user's, replaces it."""
    wanted = drop(bwd(args[:num_res], cts), in_zeros)
    return [None] * num_res + wanted


def _custom_lin_params(eqn: JaxprEqn, context: JaxprPpContext) -> Params:
    bwd_name = eqn.params["names"][2]
    shown = [(name, eqn.params[name]) for name in ("in_zeros", "num_res", "symbolic_zeros")]
    return [("bwd", bwd_name), *shown]


# Parameters: num_res, of the operands that are residuals; bwd, (residuals, cotangents) -> cotangents;
# out_avals, of the results' tangents; in_zeros, which tangents are Zero and so no operands; names;
# symbolic_zeros.
# jvp of a custom_vjp function binds it; it can only be transposed.
custom_lin_p = Primitive("custom_lin", multiple_results=True, impl_binds_primitives=True)
abstract_eval_rules[custom_lin_p] = lambda *avals, out_avals, **params: out_avals
for _table in (impl_rules, jvp_rules, batch_rules, lowering_rules):
    _table[custom_lin_p] = no_forward_mode
transpose_rules[custom_lin_p] = _custom_lin_transpose
printed_params["custom_lin"] = _custom_lin_params
no_rule_reasons[custom_lin_p, "impl"] = "a custom_vjp function has no forward-mode derivative"


# ---- custom_vjp_call ----

# Parameters: fun; fwd, (primals, which of them have tangents) -> (outs, residuals, bwd), where bwd maps
# (residuals, cotangents) to the primals' cotangents, any of which may be a Zero; names, of the
# function and of both rules; symbolic_zeros.


class CustomVJPException(Exception):
    """A value that a custom_vjp function closes over is differentiated."""

    def __init__(self) -> None:
        super().__init__(
            "Detected differentiation of a custom_vjp function with respect to a closed-over value: its "
            "rule gives cotangents of arguments alone. Make the value an argument"
        )


def _vjp_functions(
    *, call_jaxpr: ClosedJaxpr, num_consts: int, fwd: Callable, **params: Any
) -> dict[str, Any]:
    """An equation's parameters as functions. The rule does not get the closed-over values."""

    def rule(primals: Any, perturbed: Any) -> Any:
        if any(perturbed[:num_consts]):
            raise CustomVJPException
        outs, residuals, bwd = _call_traced(fwd, primals[num_consts:], perturbed[num_consts:])
        zeros = [Zero(get_aval(x).to_tangent_aval()) for x in primals[:num_consts]]
        return outs, residuals, lambda res, cts: [*zeros, *bwd(res, cts)]

    return {"fun": lambda *args: eager_jaxpr_fun(call_jaxpr)(*args), "fwd": rule, **params}


def _call_traced(fwd: Callable, primals: Any, perturbed: Any) -> tuple[list, list, Callable]:
    """Traces fwd and runs its jaxpr: it sees tracers, as the function did when it was traced."""
    found: list[Any] = []

    def traced(*args: Any) -> list[Any]:
        outs, residuals, bwd = fwd(args, perturbed)
        found.extend((len(outs), bwd))
        return [*outs, *residuals]

    flat = eager_jaxpr_fun(trace_to_jaxpr(traced, [get_aval(x) for x in primals]))(*primals)
    num_outs, bwd = found
    return flat[:num_outs], flat[num_outs:], bwd


custom_vjp_call_p = CallWithRules("custom_vjp_call", _vjp_functions)


def _custom_vjp_linearize(
    primals: Any, nonzeros: Any, *, fwd: Callable, names: Any, symbolic_zeros: bool, **params: Any
) -> tuple[list[Any], Callable[..., list[Any]]]:
    """The results are those of fwd. The linear function is custom_lin, which is bound to the residuals and
    to the tangents that are not Zero; see its parameters above.

    Results of dtype float0 (tangents of integers and bools) are returned as Zeros, by from_symbolic_zero."""
    outs, residuals, bwd = fwd(primals, nonzeros)
    out_avals = [get_aval(x).to_tangent_aval() for x in outs]

    def linear(*tangents: Any) -> list[Any]:
        tangents_out = custom_lin_p.bind(
            *residuals,
            *pick(tangents, nonzeros),
            num_res=len(residuals),
            bwd=bwd,
            out_avals=out_avals,
            in_zeros=[not nonzero for nonzero in nonzeros],
            names=names,
            symbolic_zeros=symbolic_zeros,
        )
        return [from_symbolic_zero(t) for t in tangents_out]

    return outs, linear


def _custom_vjp_jvp(primals: Any, tangents: Any, **params: Any) -> tuple[list[Any], list[Any]]:
    nonzeros = [type(t) is not Zero for t in tangents]
    outs, linear = _custom_vjp_linearize(primals, nonzeros, **params)
    return outs, linear(*tangents)


def _custom_vjp_batch(
    axis: AxisData, vals: Any, dims: Any, *, fun: Callable, fwd: Callable, **params: Any
) -> Any:
    batch = BatchDims(axis, dims)

    def batched_fwd(vals: Any, perturbed: Any) -> Any:
        trace = BatchTrace(context.trace, axis)
        with set_current_trace(trace):
            primals = [trace.tracer(x, d) for x, d in zip(vals, dims)]
            outs, residuals, bwd = fwd(primals, perturbed)
        res_pairs = [trace.val_and_dim(x) for x in residuals]
        outs = batch.settle([trace.val_and_dim(x) for x in outs])
        avals, res_dims = [get_aval(x) for x in vals], [dim for _, dim in res_pairs]
        batched_bwd = functools.partial(_batched_bwd, bwd, batch, avals, res_dims)
        return outs, [x for x, _ in res_pairs], batched_bwd

    batched_fun = batched_function(fun, batch)
    outs = custom_vjp_call_p.bind(*vals, fun=batched_fun, fwd=batched_fwd, **params)
    return outs, batch.out_dims


def _batched_bwd(
    bwd: Callable,
    batch: BatchDims,
    in_avals: Sequence[ShapedArray],
    res_dims: Sequence[int | None],
    residuals: Sequence[Any],
    cts: Sequence[Any],
) -> list[Any]:
    """The cotangents of a batch. An argument that all examples share gets the sum of their cotangents."""
    trace = BatchTrace(context.trace, batch.axis)
    with set_current_trace(trace):
        cts = [_example_ct(trace, ct, dim) for ct, dim in zip(cts, batch.out_dims)]
        cts_in = bwd([trace.tracer(x, d) for x, d in zip(residuals, res_dims)], cts)

    def of_batch(ct: Any, aval: ShapedArray, to: int | None) -> Any:
        if type(ct) is Zero:
            return Zero(aval.to_tangent_aval())
        return cotangent_of_batch(*trace.val_and_dim(ct), to, batch.axis.size)

    return [of_batch(*each) for each in zip(cts_in, in_avals, batch.in_dims)]


def _example_ct(trace: BatchTrace, ct: Any, dim: int | None) -> Any:
    if type(ct) is not Zero or dim is None:
        return ct if type(ct) is Zero else trace.tracer(ct, dim)
    shape = ct.aval.shape
    return Zero(ct.aval.update(shape=shape[:dim] + shape[dim + 1 :]))


def _custom_vjp_dce(eqn: JaxprEqn, used: list[bool]) -> JaxprEqn:
    """Drops unused results, whose cotangents are zero. All operands stay: fwd may need them."""
    closed, fwd = eqn.params["call_jaxpr"], eqn.params["fwd"]
    zeros = [Zero(aval.to_tangent_aval()) for aval in closed.out_avals]

    def smaller_fwd(primals: Any, perturbed: Any) -> Any:
        outs, residuals, bwd = fwd(primals, perturbed)

        def smaller_bwd(residuals: Any, cts: Any) -> Any:
            given = iter(cts)
            all_cts = [next(given) if u else zero for u, zero in zip(used, zeros)]
            return bwd(residuals, all_cts)

        return pick(outs, used), residuals, smaller_bwd

    jaxpr = dce_jaxpr(closed.jaxpr, used)[0]
    params = eqn.params | {"call_jaxpr": ClosedJaxpr(jaxpr), "fwd": smaller_fwd}
    return eqn.replace(outvars=pick(eqn.outvars, used), params=params)


def _custom_vjp_params(eqn: JaxprEqn, context: JaxprPpContext) -> Params:
    name, fwd_name, bwd_name = eqn.params["names"]
    shown = [("name", name), ("bwd", bwd_name), ("call_jaxpr", eqn.params["call_jaxpr"])]
    shown.append(("fwd", fwd_name))
    if eqn.params["num_consts"]:
        shown.append(("num_consts", eqn.params["num_consts"]))
    return [*shown, ("symbolic_zeros", eqn.params["symbolic_zeros"])]


linearize_rules[custom_vjp_call_p] = _custom_vjp_linearize
jvp_rules[custom_vjp_call_p] = _custom_vjp_jvp
axis_batch_rules[custom_vjp_call_p] = _custom_vjp_batch
dce_rules[custom_vjp_call_p] = _custom_vjp_dce
printed_params["custom_vjp_call"] = _custom_vjp_params
