"""Discharging loops, branches and calls that take Refs: a Ref that a loop writes to becomes a part of its
carry.

`for i in range(n): ref[0] += x[i]` becomes a scan whose first carry is the Ref's value, and whose last
carry is written back.

Source: https://docs.jax.dev/en/latest/array_refs.html
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinyjax.core.jaxpr import ClosedJaxpr, Var
from tinyjax.core.lists import Flags, drop, pick, split_list
from tinyjax.lax.control_flow.cond import cond_p
from tinyjax.lax.control_flow.scan import scan_p
from tinyjax.lax.control_flow.while_loop import while_p
from tinyjax.refs.discharge import discharge_refs, discharge_rules
from tinyjax.transform.jit.primitive import jit_p
from tinyjax.transform.jit.rules import with_inputs
from tinyjax.transform.remat.primitive import remat_p


def _cond(values: Any, refs: Flags, *, branches: Sequence[ClosedJaxpr]) -> Any:
    """Each branch returns the last values of all Refs, even of Refs that it does not write to."""
    branches = tuple(discharge_refs(branch, refs[1:]) for branch in branches)
    outs = cond_p.bind(*values, branches=branches)
    return split_list(outs, len(outs) - sum(refs))


def _scan(
    values: Any, refs: Flags, *, jaxpr: ClosedJaxpr, num_consts: int, num_carry: int, **params: Any
) -> Any:
    """A Ref among the consts becomes a carry. A Ref among the xs becomes an x, of which each iteration
    takes a slice, and a y."""
    const_refs, _, x_refs = split_list(refs, num_consts, num_carry)
    consts, init, xs = split_list(values, num_consts, num_carry)
    body = discharge_refs(jaxpr, refs)
    const_vars, carry_vars, x_vars = split_list(body.jaxpr.invars, num_consts, num_carry)
    num_ys = len(jaxpr.out_avals) - num_carry
    carry, ys, box_carry, box_ys = split_list(
        body.jaxpr.outvars, num_carry, num_ys, sum(const_refs)
    )
    new_body = body.jaxpr.replace(
        invars=[*drop(const_vars, const_refs), *pick(const_vars, const_refs), *carry_vars, *x_vars],
        outvars=[*box_carry, *carry, *ys, *box_ys],
    )
    outs = scan_p.bind(
        *drop(consts, const_refs),
        *pick(consts, const_refs),
        *init,
        *xs,
        jaxpr=ClosedJaxpr(new_body, body.consts),
        num_consts=num_consts - sum(const_refs),
        num_carry=num_carry + sum(const_refs),
        **params,
    )
    last_consts, results, last_xs = split_list(outs, sum(const_refs), num_carry + num_ys)
    return results, last_consts + last_xs


def _while(
    values: Any,
    refs: Flags,
    *,
    cond_jaxpr: ClosedJaxpr,
    cond_nconsts: int,
    body_jaxpr: ClosedJaxpr,
    body_nconsts: int,
) -> Any:
    """A Ref that the body takes becomes a carry, which the condition does not read. A Ref that the
    condition takes is not written by the body, so its value is constant."""
    cond_refs, body_refs, _ = split_list(refs, cond_nconsts, body_nconsts)
    cond_consts, body_consts, init = split_list(values, cond_nconsts, body_nconsts)
    no_carry = (False,) * len(init)
    cond = discharge_refs(cond_jaxpr, (*cond_refs, *no_carry))
    body = discharge_refs(body_jaxpr, (*body_refs, *no_carry))
    cond_vars, cond_carry = split_list(cond.jaxpr.invars, cond_nconsts)
    if cond.jaxpr.outvars[1:] != pick(cond_vars, cond_refs):
        raise ValueError("the condition of a while_loop writes to a Ref: only its body may do so")
    body_vars, body_carry = split_list(body.jaxpr.invars, body_nconsts)
    boxes = pick(body_vars, body_refs)
    carry, last = split_list(body.jaxpr.outvars, len(init))
    new_cond = cond.jaxpr.replace(
        invars=[*cond_vars, *[Var(v.aval) for v in boxes], *cond_carry],
        outvars=cond.jaxpr.outvars[:1],
    )
    new_body = body.jaxpr.replace(
        invars=[*drop(body_vars, body_refs), *boxes, *body_carry], outvars=[*last, *carry]
    )
    outs = while_p.bind(
        *cond_consts,
        *drop(body_consts, body_refs),
        *pick(body_consts, body_refs),
        *init,
        cond_nconsts=cond_nconsts,
        cond_jaxpr=cond.replace(jaxpr=new_cond),
        body_nconsts=body_nconsts - sum(body_refs),
        body_jaxpr=body.replace(jaxpr=new_body),
    )
    last, carry = split_list(outs, sum(body_refs))
    return carry, pick(cond_consts, cond_refs) + last


def _jit(values: Any, refs: Flags, *, jaxpr: ClosedJaxpr, **params: Any) -> Any:
    outs = jit_p.bind(*values, **with_inputs(params, discharge_refs(jaxpr, refs)))
    return split_list(outs, len(jaxpr.out_avals))


def _remat(values: Any, refs: Flags, *, jaxpr: ClosedJaxpr, **params: Any) -> Any:
    outs = remat_p.bind(*values, jaxpr=discharge_refs(jaxpr, tuple(refs)), **params)
    return split_list(outs, len(jaxpr.out_avals))


discharge_rules[jit_p] = _jit
discharge_rules[remat_p] = _remat
discharge_rules[cond_p] = _cond
discharge_rules[scan_p] = _scan
discharge_rules[while_p] = _while
