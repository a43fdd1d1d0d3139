"""The jvp, vmap and dce rules of `scan`: each transforms the body.

Each iterates to a fixed point: what an element of the carry has after an iteration (a tangent, a batch dim, a
use), it also has before the next.
"""

from __future__ import annotations

from typing import Any

from tinyjax.core.jaxpr import (
    ClosedJaxpr,
    JaxprEqn,
    cached_on_jaxpr,
    dce_closed_jaxpr,
    dce_rules,
    dce_with_inputs,
)
from tinyjax.core.lists import Flags, split_list
from tinyjax.lax.control_flow.bodies import fixed_point
from tinyjax.lax.control_flow.scan import scan_p
from tinyjax.transform.batching import AxisData, axis_batch_rules, move_batch_dim, not_mapped
from tinyjax.transform.batching_of_jaxpr import batch_jaxpr
from tinyjax.transform.jvp import Zero, instantiate_zeros, jvp_rules
from tinyjax.transform.jvp_of_jaxpr import jvp_jaxpr, primals_and_tangents

# ---- forward mode ----


def _scan_jvp(
    primals: Any,
    tangents: Any,
    *,
    jaxpr: ClosedJaxpr,
    num_consts: int,
    num_carry: int,
    **params: Any,
) -> Any:
    nonzeros = [type(t) is not Zero for t in tangents]
    const_nz, init_nz, xs_nz = split_list(nonzeros, num_consts, num_carry)
    new_jaxpr, carry_nz, ys_nz = _jvp_body(
        jaxpr, tuple(const_nz), tuple(init_nz), tuple(xs_nz), num_carry
    )
    consts_dot, init_dot, xs_dot = split_list(tangents, num_consts, num_carry)
    init_dot = [instantiate_zeros(t) if nz else t for t, nz in zip(init_dot, carry_nz)]
    dots = [[t for t in ts if type(t) is not Zero] for ts in (consts_dot, init_dot, xs_dot)]
    consts, init, xs = split_list(primals, num_consts, num_carry)
    operands = [*consts, *dots[0], *init, *dots[1], *xs, *dots[2]]
    params |= {"num_consts": num_consts + len(dots[0]), "num_carry": num_carry + len(dots[1])}
    outs = scan_p.bind(*operands, jaxpr=new_jaxpr, **params)
    carry, carry_dot, ys, ys_dot = split_list(outs, num_carry, len(dots[1]), len(ys_nz))
    return primals_and_tangents(carry + ys + carry_dot + ys_dot, (*carry_nz, *ys_nz))


@cached_on_jaxpr
def _jvp_body(
    jaxpr: ClosedJaxpr, const_nz: Flags, init_nz: Flags, xs_nz: Flags, num_carry: int
) -> tuple[ClosedJaxpr, Flags, Flags]:
    """The body with tangents: (consts, their tangents, carry, tangents, xs, tangents) to (carry,
    tangents, ys, tangents). A carry has a tangent if its first value has one or if the body makes one."""
    no_ys = (False,) * (len(jaxpr.out_avals) - num_carry)

    def with_tangents(carry_nz: Flags) -> tuple[ClosedJaxpr, Flags]:
        return jvp_jaxpr(jaxpr, (*const_nz, *carry_nz, *xs_nz), (*carry_nz, *no_ys))

    carry_nz = fixed_point(lambda nz: with_tangents(nz)[1][:num_carry], init_nz)
    body, nonzero_outs = with_tangents(carry_nz)
    sizes = [len(const_nz), num_carry, len(xs_nz), sum(const_nz), sum(carry_nz)]
    consts, carry, xs, consts_dot, carry_dot, xs_dot = split_list(body.jaxpr.invars, *sizes)
    invars = [*consts, *consts_dot, *carry, *carry_dot, *xs, *xs_dot]
    carry, ys, carry_dot, ys_dot = split_list(
        body.jaxpr.outvars, num_carry, len(no_ys), sum(carry_nz)
    )
    outvars = [*carry, *carry_dot, *ys, *ys_dot]
    rearranged = ClosedJaxpr(body.jaxpr.replace(invars=invars, outvars=outvars), body.consts)
    return rearranged, carry_nz, nonzero_outs[num_carry:]


# ---- vmap ----


def _scan_batch(
    axis: AxisData,
    vals: Any,
    dims: Any,
    *,
    jaxpr: ClosedJaxpr,
    num_consts: int,
    num_carry: int,
    **params: Any,
) -> Any:
    """The rule of scan for vmap: (results, their batch dims), by a scan of the batched body.

    `vals` are consts, the first carry and xs, `dims` their batch dims. In the body, batch dims are in
    front: they are at 0 in consts and carry, and at 1 in xs and ys, behind the axis of the loop. A part
    of the carry has one if its first value has, or if the body gives it one."""
    mapped = [dim is not not_mapped for dim in dims]
    const_mapped, init_mapped, xs_mapped = split_list(mapped, num_consts, num_carry)
    no_ys = (False,) * (len(jaxpr.out_avals) - num_carry)

    def batched(carry_mapped: Flags) -> Any:
        flags = (*const_mapped, *carry_mapped, *xs_mapped)
        in_dims = tuple(0 if flag else not_mapped for flag in flags)
        return batch_jaxpr(jaxpr, axis, in_dims, (*carry_mapped, *no_ys))

    def carry_after(carry_mapped: Flags) -> list[bool]:
        return [dim is not not_mapped for dim in batched(carry_mapped)[1][:num_carry]]

    carry_mapped = fixed_point(carry_after, tuple(init_mapped))
    body, out_dims = batched(carry_mapped)
    carry_dims = [0 if flag else not_mapped for flag in carry_mapped]
    in_dims = [
        *[0 if flag else not_mapped for flag in const_mapped],
        *carry_dims,
        *[1 if flag else not_mapped for flag in xs_mapped],
    ]
    args = [move_batch_dim(x, d, to, axis.size) for x, d, to in zip(vals, dims, in_dims)]
    outs = scan_p.bind(*args, jaxpr=body, num_consts=num_consts, num_carry=num_carry, **params)
    ys_dims = [not_mapped if dim is not_mapped else 1 for dim in out_dims[num_carry:]]
    return outs, carry_dims + ys_dims


# ---- dead code ----


def _scan_dce(eqn: JaxprEqn, used_outputs: list[bool]) -> JaxprEqn:
    """Removes carries that no used result needs, in any iteration."""
    jaxpr, num_consts, num_carry = (eqn.params[k] for k in ("jaxpr", "num_consts", "num_carry"))
    carry_out_used, ys_used = split_list(used_outputs, num_carry)

    def needed(carry_used: Flags) -> list[bool]:
        return dce_closed_jaxpr(jaxpr, (*carry_used, *ys_used))[1]

    end = num_consts + num_carry
    carry_used = fixed_point(lambda used: needed(used)[num_consts:end], tuple(carry_out_used))
    consts_used, _, xs_used = split_list(needed(carry_used), num_consts, num_carry)
    used_inputs, used = (*consts_used, *carry_used, *xs_used), (*carry_used, *ys_used)
    sizes = {"num_consts": sum(consts_used), "num_carry": sum(carry_used)}
    params = eqn.params | sizes | {"jaxpr": dce_with_inputs(jaxpr, used, used_inputs)}
    return eqn.reduced(used_inputs, used, params)


jvp_rules[scan_p] = _scan_jvp
axis_batch_rules[scan_p] = _scan_batch
dce_rules[scan_p] = _scan_dce
