"""The jvp, partial-eval, dce, transpose and vmap rules of `while_loop`: each transforms condition and body.

A rule finds by a fixed point which parts of the carry have a tangent (or a batch dim). vmap runs loops of
different lengths together: all examples go on until the last one is done, and those that are done keep their
carry. There is no reverse mode.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from tinyjax.core.avals import get_aval
from tinyjax.core.jaxpr import (
    ClosedJaxpr,
    JaxprEqn,
    Var,
    cached_on_jaxpr,
    dce_closed_jaxpr,
    dce_rules,
    dce_with_inputs,
    jaxpr_as_fun,
)
from tinyjax.core.lists import Flags, drop, merge_lists, pick, split_list
from tinyjax.core.tracing import trace_to_jaxpr
from tinyjax.lax.control_flow.bodies import fixed_point
from tinyjax.lax.control_flow.while_loop import while_p
from tinyjax.transform.batching import AxisData, axis_batch_rules, move_batch_dim, not_mapped
from tinyjax.transform.batching_of_jaxpr import batch_jaxpr
from tinyjax.transform.jvp import Zero, instantiate_zeros, jvp_rules
from tinyjax.transform.jvp_of_jaxpr import jvp_jaxpr, primals_and_tangents
from tinyjax.transform.linearize import LinearizeTrace, partial_eval_rules
from tinyjax.transform.partial_eval import partial_eval_jaxpr, with_outputs
from tinyjax.transform.transposition import transpose_rules

# ---- forward mode ----


def _while_jvp(
    primals: Any,
    tangents: Any,
    *,
    cond_nconsts: int,
    cond_jaxpr: ClosedJaxpr,
    body_nconsts: int,
    body_jaxpr: ClosedJaxpr,
) -> tuple[list, list]:
    """One loop that carries primals and tangents. The condition reads primals alone."""
    sizes = cond_nconsts, body_nconsts
    nonzeros = [type(t) is not Zero for t in tangents]
    _, const_nonzeros, init_nonzeros = split_list(nonzeros, *sizes)

    def body_jvp_for(carry: tuple[bool, ...]) -> tuple[ClosedJaxpr, tuple[bool, ...]]:
        return jvp_jaxpr(body_jaxpr, (*const_nonzeros, *carry), carry)

    carry_nonzeros = fixed_point(lambda carry: body_jvp_for(carry)[1], tuple(init_nonzeros))
    body_jvp, _ = body_jvp_for(carry_nonzeros)

    cond_consts, body_consts, carry = split_list(primals, *sizes)
    _, const_dots, carry_dots = split_list(tangents, *sizes)
    const_dots = [t for t in const_dots if type(t) is not Zero]
    carry_dots = [instantiate_zeros(t) for t in pick(carry_dots, carry_nonzeros)]
    # The arguments of body_jvp are consts, carry, tangents of consts, tangents of the carry.
    body = body_jvp.jaxpr
    parts = split_list(body.invars, len(body_consts), len(carry), len(const_dots))
    const_vars, carry_vars, const_dot_vars, carry_dot_vars = parts
    invars = [*const_vars, *const_dot_vars, *carry_vars, *carry_dot_vars]
    cond = cond_jaxpr.jaxpr
    cond_invars = cond.invars + [Var(get_aval(t)) for t in carry_dots]
    operands = [*cond_consts, *body_consts, *const_dots, *carry, *carry_dots]
    outs = while_p.bind(
        *operands,
        cond_nconsts=cond_nconsts,
        cond_jaxpr=cond_jaxpr.replace(cond.replace(invars=cond_invars)),
        body_nconsts=body_nconsts + len(const_dots),
        body_jaxpr=body_jvp.replace(body.replace(invars=invars)),
    )
    return primals_and_tangents(outs, carry_nonzeros)


jvp_rules[while_p] = _while_jvp


# ---- partial evaluation, and why not grad ----


def _while_partial_eval(trace: LinearizeTrace, args: Sequence[Any], params: dict) -> list[Any]:
    """The loop over the known carries, now, and the whole loop once more, later.

    No residuals are saved: their number is the number of iterations, which is unknown."""
    counts = params["cond_nconsts"], params["body_nconsts"]
    unknown = [trace.is_unknown(x) for x in args]
    unknown_cond_consts, unknown_body_consts, unknown_init = split_list(unknown, *counts)

    def known_body_for(carry: tuple[bool, ...]) -> tuple[ClosedJaxpr, tuple[bool, ...]]:
        return _known_part(params["body_jaxpr"], (*unknown_body_consts, *carry), carry)

    unknown_carry = fixed_point(lambda carry: known_body_for(carry)[1], tuple(unknown_init))
    known_body, _ = known_body_for(unknown_carry)
    known_cond, (unknown_pred,) = _known_part(
        params["cond_jaxpr"], (*unknown_cond_consts, *unknown_carry), ()
    )
    later = trace.unknown.process_primitive(while_p, args, params)
    if unknown_pred or all(unknown):
        return later
    unknown = [*unknown_cond_consts, *unknown_body_consts, *unknown_carry]
    now = trace.parent.process_primitive(
        while_p,
        drop(args, unknown),
        {
            "cond_nconsts": unknown_cond_consts.count(False),
            "cond_jaxpr": known_cond,
            "body_nconsts": unknown_body_consts.count(False),
            "body_jaxpr": known_body,
        },
    )
    return merge_lists(unknown_carry, now, pick(later, unknown_carry))


def _known_part(
    closed: ClosedJaxpr, unknown_ins: tuple[bool, ...], force_unknown: tuple[bool, ...]
) -> tuple[ClosedJaxpr, tuple[bool, ...]]:
    """The jaxpr from known inputs to known results, and which results are unknown."""
    parts = partial_eval_jaxpr(closed, unknown_ins, force_unknown)
    return with_outputs(parts.known, parts.known_outs), parts.later_outs


def _while_transpose(cts: Any, *args: Any, **params: Any) -> NoReturn:
    raise ValueError(
        "Reverse-mode differentiation does not work for lax.while_loop or lax.fori_loop with dynamic "
        "start/stop values: how many residuals to keep is not known. Use lax.scan, or fori_loop with "
        "static start/stop; forward mode (jax.jvp, jax.jacfwd); or a rule of your own (jax.custom_vjp)"
    )


def _while_dce(eqn: JaxprEqn, used_outputs: list[bool]) -> JaxprEqn:
    """Removes carries that neither the condition nor a used result needs, in any iteration."""
    cond, body = eqn.params["cond_jaxpr"], eqn.params["body_jaxpr"]
    num_cond, num_body = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
    _, used_by_cond = dce_closed_jaxpr(cond, (True,))
    used_cond_consts, in_cond = split_list(used_by_cond, num_cond)

    def carry_before(carry: Flags) -> list[bool]:
        return dce_closed_jaxpr(body, carry)[1][num_body:]

    used = tuple([out or c for out, c in zip(used_outputs, in_cond)])
    carry_used = fixed_point(carry_before, used)
    used_body_consts = dce_closed_jaxpr(body, carry_used)[1][:num_body]
    params = {
        "cond_nconsts": sum(used_cond_consts),
        "cond_jaxpr": dce_with_inputs(cond, (True,), (*used_cond_consts, *carry_used)),
        "body_nconsts": sum(used_body_consts),
        "body_jaxpr": dce_with_inputs(body, carry_used, (*used_body_consts, *carry_used)),
    }
    used_inputs = (*used_cond_consts, *used_body_consts, *carry_used)
    return eqn.reduced(used_inputs, carry_used, params)


dce_rules[while_p] = _while_dce
partial_eval_rules[while_p] = _while_partial_eval
transpose_rules[while_p] = _while_transpose


# ---- vmap ----


def _while_batch(
    axis: AxisData, vals: Any, dims: Any, *, cond_nconsts: int, cond_jaxpr: ClosedJaxpr,
    body_nconsts: int, body_jaxpr: ClosedJaxpr,
) -> tuple[list, list]:  # fmt: skip
    """One loop for all examples, until none of them goes on."""
    cond_dims, body_dims, init_dims = split_list(dims, cond_nconsts, body_nconsts)

    def dims_at(place: int, carry: Sequence[bool]) -> list[int | None]:
        return [place if is_batched else not_mapped for is_batched in carry]

    def batched_after(carry: tuple[bool, ...]) -> list[bool]:
        in_dims = (*body_dims, *dims_at(0, carry))
        return [d is not not_mapped for d in batch_jaxpr(body_jaxpr, axis, in_dims, carry)[1]]

    batched = fixed_point(batched_after, tuple([d is not not_mapped for d in init_dims]))
    _, (pred_dim,) = batch_jaxpr(cond_jaxpr, axis, (*cond_dims, *dims_at(0, batched)))

    if pred_dim is not_mapped:
        # An outer vmap may have given the predicate a shape: our batch dim goes behind that.
        carry_dims = dims_at(cond_jaxpr.out_avals[0].ndim, batched)
    else:  # examples stop at different times, so each needs its own carry
        pred_dim, carry_dims = 0, [0] * len(batched)
    cond_consts, body_consts, init = split_list(vals, cond_nconsts, body_nconsts)
    init = [move_batch_dim(x, d, to, axis.size) for x, d, to in zip(init, init_dims, carry_dims)]
    cond = _batch_to(cond_jaxpr, axis, (*cond_dims, *carry_dims), (pred_dim,))
    body = _batch_to(body_jaxpr, axis, (*body_dims, *carry_dims), tuple(carry_dims))
    counts = {"cond_nconsts": cond_nconsts, "body_nconsts": body_nconsts}
    operands = [*cond_consts, *body_consts, *init]
    outs = while_p.bind(*operands, cond_jaxpr=cond, body_jaxpr=body, **counts)
    return outs, carry_dims


@cached_on_jaxpr
def _batch_to(
    closed: ClosedJaxpr,
    axis: AxisData,
    in_dims: tuple[int | None, ...],
    out_dims: tuple[int | None, ...],
) -> ClosedJaxpr:
    """Like batch_jaxpr, with the results' batch dims at `out_dims`."""
    batched, dims = batch_jaxpr(closed, axis, in_dims)

    def fun(*vals: Any) -> list[Any]:
        outs = jaxpr_as_fun(batched)(*vals)
        return [move_batch_dim(x, d, to, axis.size) for x, d, to in zip(outs, dims, out_dims)]

    return batched if dims == out_dims else trace_to_jaxpr(fun, batched.in_avals)


axis_batch_rules[while_p] = _while_batch
