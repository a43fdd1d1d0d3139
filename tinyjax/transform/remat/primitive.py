"""Rematerialisation: values that the backward pass needs are recomputed instead of kept.

grad keeps the inputs of a function under `jax.checkpoint`, and of the values known in the forward pass
only those that the policy saves. The rest is recomputed from these when the linear part runs.

Source: https://docs.jax.dev/en/latest/notebooks/autodiff_remat.html
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from tinyjax.core import dtypes
from tinyjax.core.bind import (
    HigherOrderPrimitive,
    Primitive,
    abstract_eval_rules,
    impl_rules,
    no_rule_reasons,
    set_current_trace,
)
from tinyjax.core.inlining import eager_jaxpr_fun
from tinyjax.core.jaxpr import (
    ClosedJaxpr,
    JaxprEqn,
    Var,
    cached_on_jaxpr,
    constvars_as_invars,
    dce_closed_jaxpr,
    dce_rules,
)
from tinyjax.core.lists import drop, merge_lists, pick
from tinyjax.core.tracing import trace_to_jaxpr
from tinyjax.transform.batching import AxisData, axis_batch_rules
from tinyjax.transform.batching_of_jaxpr import batch_jaxpr
from tinyjax.transform.jvp import Zero, jvp_rules
from tinyjax.transform.jvp_of_jaxpr import jvp_jaxpr, primals_and_tangents
from tinyjax.transform.linearize import LinearizeTrace, partial_eval_rules
from tinyjax.transform.partial_eval import partial_eval_jaxpr
from tinyjax.transform.remat.policies import (
    call_split,
    nothing_saveable,
    policy_rules,
    split_by_policy,
)
from tinyjax.transform.transposition import (
    ValAccum,
    backward_pass,
    is_undefined_primal,
    transpose_rules,
)
from tinyjax.transform.transposition_of_jaxpr import operand_cotangents

# Parameters: jaxpr (without constants), policy, prevent_cse (a bool, or one an operand) and
# differentiated: whether it is the staged part, which computes again.
# A residual, rounded to its own type: lax/reduce_precision.py
reduce_precision_p = Primitive("reduce_precision", axes="elementwise", cost=1, makes_nan=False)
remat_p = HigherOrderPrimitive("remat2", multiple_results=True, impl_binds_primitives=True)
impl_rules[remat_p] = lambda *args, jaxpr, **params: eager_jaxpr_fun(jaxpr)(*args)
abstract_eval_rules[remat_p] = lambda *avals, jaxpr, **params: jaxpr.out_avals
no_rule_reasons[remat_p, "lowering"] = "compile/passes/inline.py replaces it by its equations"


def bind_remat(jaxpr: ClosedJaxpr, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    """Binds remat_p; constants of the jaxpr, which it must not have, become its first operands."""
    prevent_cse, consts = params["prevent_cse"], jaxpr.consts
    if isinstance(prevent_cse, tuple):
        prevent_cse = (False,) * len(consts) + prevent_cse
    params = params | {"jaxpr": constvars_as_invars(jaxpr), "prevent_cse": prevent_cse}
    return remat_p.bind(*consts, *args, **params)


def extended(prevent_cse: bool | tuple[bool, ...], number: int) -> bool | tuple[bool, ...]:
    """prevent_cse for `number` more operands."""
    return prevent_cse + (True,) * number if isinstance(prevent_cse, tuple) else prevent_cse


def _remat_jvp(primals: Any, tangents: Any, *, jaxpr: ClosedJaxpr, **params: Any) -> Any:
    nonzeros = tuple(type(t) is not Zero for t in tangents)
    new_jaxpr, nonzero_outs = jvp_jaxpr(jaxpr, nonzeros)
    nonzero_tangents = pick(tangents, nonzeros)
    params["prevent_cse"] = extended(params["prevent_cse"], len(nonzero_tangents))
    outs = bind_remat(new_jaxpr, [*primals, *nonzero_tangents], params)
    return primals_and_tangents(outs, nonzero_outs)


def _remat_batch(axis: AxisData, vals: Any, dims: Any, *, jaxpr: ClosedJaxpr, **params: Any) -> Any:
    new_jaxpr, out_dims = batch_jaxpr(jaxpr, axis, dims, (False,) * len(jaxpr.out_avals))
    return bind_remat(new_jaxpr, vals, params), out_dims


def _remat_partial_eval(trace: LinearizeTrace, args: Sequence[Any], params: dict) -> list[Any]:
    """The known part is computed now, as if there were no remat; the staged part becomes a remat."""
    unknown_ins = tuple(trace.is_unknown(x) for x in args)
    policy = params["policy"] or nothing_saveable
    split = split_by_policy(params["jaxpr"], unknown_ins, (True,) * len(args), policy)
    num_residuals, num_known = split.num_residuals, split.unknown_outs.count(False)
    # Keep the equations of the staged part that the unknown results need, then those of the known part
    # that the staged part needs.
    later = tuple(pick(split.unknown_outs, split.available_outs))
    staged, used = dce_closed_jaxpr(split.staged, later)
    used_residuals, used_args = used[:num_residuals], used[num_residuals:]
    known, used_known = dce_closed_jaxpr(split.known, (True,) * num_known + tuple(used_residuals))
    known = with_rounded_residuals(known, sum(used_residuals))

    with set_current_trace(trace.parent):
        computed = eager_jaxpr_fun(known)(*pick(drop(args, unknown_ins), used_known))
    residuals = computed[num_known:]
    prevent_cse = params["prevent_cse"]
    if isinstance(prevent_cse, tuple):
        prevent_cse = (True,) * len(residuals) + tuple(pick(prevent_cse, used_args))
    unknown = (
        trace.unknown.process_primitive(
            remat_p,
            [*residuals, *pick(args, used_args)],
            params | {"jaxpr": staged, "prevent_cse": prevent_cse, "differentiated": True},
        )
        if any(split.unknown_outs)
        else []
    )
    return merge_lists(split.unknown_outs, computed[:num_known], unknown)


@cached_on_jaxpr
def with_rounded_residuals(closed_jaxpr: ClosedJaxpr, num_residuals: int) -> ClosedJaxpr:
    """The jaxpr with its last results rounded to their dtype if its equations also use them.

    A compiler may keep more bits between two operations; both passes must see the same number."""
    jaxpr = closed_jaxpr.jaxpr
    used = {v for eqn in jaxpr.eqns for v in eqn.invars if isinstance(v, Var)}
    residuals = set(jaxpr.outvars[len(jaxpr.outvars) - num_residuals :]) & used
    eqns: list[JaxprEqn] = []
    for eqn in jaxpr.eqns:
        rounded = {
            v: Var(v.aval)
            for v in eqn.outvars
            if v in residuals and dtypes.kind(v.aval.dtype) == "f"
        }
        eqns.append(eqn.replace(outvars=[rounded.get(v, v) for v in eqn.outvars]))
        for v, unrounded in rounded.items():
            info = dtypes.finfo(v.aval.dtype)
            bits = {"exponent_bits": info.nexp, "mantissa_bits": info.nmant}
            eqns.append(JaxprEqn(reduce_precision_p, [unrounded], [v], bits, eqn.source_info))
    return ClosedJaxpr(jaxpr.replace(eqns=eqns), closed_jaxpr.consts)


def _remat_transpose(cts: Any, *args: Any, jaxpr: ClosedJaxpr, **params: Any) -> list[Any]:
    linear = tuple(is_undefined_primal(x) for x in args)
    zero_cts = tuple(type(ct) is Zero for ct in cts)
    new_jaxpr, nonzero = _transposed(jaxpr, linear, zero_cts)
    nonzero_cts = drop(cts, zero_cts)
    prevent_cse = params["prevent_cse"]
    if isinstance(prevent_cse, tuple):
        prevent_cse = tuple(drop(prevent_cse, linear))
    params["prevent_cse"] = extended(prevent_cse, len(nonzero_cts))
    outs = bind_remat(new_jaxpr, [*drop(args, linear), *nonzero_cts], params)
    return operand_cotangents(args, outs, nonzero)


@cached_on_jaxpr
def _transposed(
    closed_jaxpr: ClosedJaxpr, linear: tuple[bool, ...], zero_cts: tuple[bool, ...]
) -> tuple[ClosedJaxpr, tuple[bool, ...]]:
    """Like transpose_jaxpr, for a jaxpr that also has nonlinear equations. It recomputes the values that the
    linear part needs, then runs that part backwards."""
    parts = partial_eval_jaxpr(closed_jaxpr, linear)
    in_avals = drop(closed_jaxpr.in_avals, linear)
    nonzero: list[bool] = []

    def backward(*flat: Any) -> list[Any]:
        values, given = flat[: len(in_avals)], iter(flat[len(in_avals) :])
        cts = [
            Zero(aval) if is_zero else next(given)
            for aval, is_zero in zip(closed_jaxpr.out_avals, zero_cts)
        ]
        _, residuals = parts.values(values, eager_jaxpr_fun(parts.known)(*values))
        accums = [ValAccum(aval) for aval in pick(closed_jaxpr.in_avals, linear)]
        jaxpr, consts = parts.later.jaxpr, parts.later.consts
        backward_pass(jaxpr, consts, [*residuals, *accums], pick(cts, parts.later_outs))
        outs = [accum.freeze() for accum in accums]
        nonzero.extend(type(ct) is not Zero for ct in outs)
        return [ct for ct in outs if type(ct) is not Zero]

    ct_avals = drop(closed_jaxpr.out_avals, zero_cts)
    return trace_to_jaxpr(backward, in_avals + ct_avals), tuple(nonzero)


def _remat_dce(eqn: JaxprEqn, used_outputs: list[bool]) -> JaxprEqn:
    jaxpr, used_inputs = dce_closed_jaxpr(eqn.params["jaxpr"], tuple(used_outputs))
    params = eqn.params | {"jaxpr": jaxpr}
    if isinstance(params["prevent_cse"], tuple):
        params["prevent_cse"] = tuple(pick(params["prevent_cse"], used_inputs))
    return eqn.reduced(used_inputs, used_outputs, params)


jvp_rules[remat_p] = _remat_jvp
axis_batch_rules[remat_p] = _remat_batch
partial_eval_rules[remat_p] = _remat_partial_eval
transpose_rules[remat_p] = _remat_transpose
dce_rules[remat_p] = _remat_dce


def _params_of_part(eqn: JaxprEqn, jaxpr: ClosedJaxpr, is_staged: bool) -> dict[str, Any]:
    """For a nested remat: both parts of it are remats."""
    prevent_cse = eqn.params["prevent_cse"]
    return eqn.params | {
        "jaxpr": jaxpr,
        "prevent_cse": any(prevent_cse) if isinstance(prevent_cse, tuple) else prevent_cse,
        "differentiated": is_staged or eqn.params["differentiated"],
    }


policy_rules[remat_p] = functools.partial(call_split, _params_of_part)
