"""checkify of jit, branches and loops: jit returns an error, a branch gives its own, a loop carries it.

Source: https://docs.jax.dev/en/latest/debugging/checkify_guide.html
"""

from __future__ import annotations

import functools
from typing import Any

from tinyjax.core.avals import get_aval
from tinyjax.core.inlining import eager_jaxpr_fun
from tinyjax.core.jaxpr import ClosedJaxpr
from tinyjax.core.lists import split_list
from tinyjax.core.tracing import trace_to_jaxpr
from tinyjax.core.tree_util.pytrees import tree_leaves
from tinyjax.experimental.checkify_error import Error, first_error
from tinyjax.experimental.checkify_trace import checked_jaxpr, checkify_rules, cut, no_error
from tinyjax.lax.control_flow.cond import cond_p
from tinyjax.lax.control_flow.scan import scan_p
from tinyjax.lax.control_flow.while_loop import while_p
from tinyjax.transform.jit.primitive import jit_p
from tinyjax.transform.remat.primitive import remat_p


def _jit(errors: Any, *args: Any, jaxpr: ClosedJaxpr, **params: Any) -> Any:
    new_jaxpr, kind = checked_jaxpr(jaxpr, errors)
    return cut(kind, jit_p.bind(*args, jaxpr=new_jaxpr, **params))


def _remat(errors: Any, *args: Any, jaxpr: ClosedJaxpr, **params: Any) -> Any:
    new_jaxpr, kind = checked_jaxpr(jaxpr, errors)
    return cut(kind, remat_p.bind(*args, jaxpr=new_jaxpr, **params))


def _cond(errors: Any, index: Any, *operands: Any, branches: Any, **params: Any) -> Any:
    """Each branch gives the error of all: its own, and no others."""
    checked = [checked_jaxpr(branch, errors) for branch in branches]
    kinds = [kind for _, kind in checked]
    whole = functools.reduce(first_error_kind, kinds)

    def branch(number: int, *args: Any) -> list[Any]:
        jaxpr, kind = checked[number]
        error, outs = cut(kind, eager_jaxpr_fun(jaxpr)(*args))
        parts = [error if i == number else no_error(k) for i, k in enumerate(kinds)]
        return [*tree_leaves(functools.reduce(first_error, parts)), *outs]

    avals = [get_aval(x) for x in operands]
    new = [trace_to_jaxpr(functools.partial(branch, i), avals) for i in range(len(branches))]
    return cut(whole, cond_p.bind(index, *operands, branches=tuple(new), **params))


def first_error_kind(one: Error, other: Error) -> Error:
    """first_error, of errors with avals as leaves."""
    return Error(one.code, (*one.payloads, *other.payloads), (*one.sites, *other.sites))


def _scan(
    errors: Any, *args: Any, jaxpr: ClosedJaxpr, num_consts: int, num_carry: int, **params: Any
) -> Any:
    """The error is a part of the carry."""
    checked, kind = checked_jaxpr(jaxpr, errors)
    start, size = tree_leaves(no_error(kind)), len(tree_leaves(kind))
    consts, rest = split_list(args, num_consts)

    def step(*flat: Any) -> list[Any]:
        consts, before, rest = split_list(flat, num_consts, size)
        error, outs = cut(kind, eager_jaxpr_fun(checked)(*consts, *rest))
        return [*tree_leaves(cut(kind, before)[0].or_else(error)), *outs]

    in_avals = jaxpr.in_avals
    avals = [*in_avals[:num_consts], *map(get_aval, start), *in_avals[num_consts:]]
    body = trace_to_jaxpr(step, avals)
    outs = scan_p.bind(
        *consts,
        *start,
        *rest,
        jaxpr=body,
        num_consts=num_consts,
        num_carry=size + num_carry,
        **params,
    )
    return cut(kind, outs)


def _while(
    errors: Any,
    *args: Any,
    cond_nconsts: int,
    cond_jaxpr: ClosedJaxpr,
    body_nconsts: int,
    body_jaxpr: ClosedJaxpr,
) -> Any:
    """The error is a part of the carry. The condition is evaluated once more, for its checks: before the
    loop, and at the end of each iteration."""
    checked_cond, cond_kind = checked_jaxpr(cond_jaxpr, errors)
    checked_body, body_kind = checked_jaxpr(body_jaxpr, errors)
    cond_consts, body_consts, init = split_list(args, cond_nconsts, body_nconsts)
    kind = first_error_kind(cond_kind, body_kind)
    size = len(tree_leaves(kind))

    def error_of_cond(*flat: Any) -> Error:
        return cut(cond_kind, eager_jaxpr_fun(checked_cond)(*flat))[0]

    def new_cond(*flat: Any) -> list[Any]:
        consts, _, carry = split_list(flat, cond_nconsts, size)
        return cut(cond_kind, eager_jaxpr_fun(checked_cond)(*consts, *carry))[1]

    def new_body(*flat: Any) -> list[Any]:
        consts, own_consts, before, carry = split_list(flat, cond_nconsts, body_nconsts, size)
        error, new = cut(body_kind, eager_jaxpr_fun(checked_body)(*own_consts, *carry))
        after = error_of_cond(*consts, *new)
        now = first_error(no_error(cond_kind), error).or_else(
            first_error(after, no_error(body_kind))
        )
        return [*tree_leaves(cut(kind, before)[0].or_else(now)), *new]

    start = tree_leaves(first_error(error_of_cond(*cond_consts, *init), no_error(body_kind)))
    carry_avals = [*map(get_aval, start), *body_jaxpr.in_avals[body_nconsts:]]
    cond_avals, body_avals = cond_jaxpr.in_avals, body_jaxpr.in_avals
    body = trace_to_jaxpr(
        new_body, [*cond_avals[:cond_nconsts], *body_avals[:body_nconsts], *carry_avals]
    )
    outs = while_p.bind(
        *cond_consts,
        *cond_consts,
        *body_consts,
        *start,
        *init,
        cond_nconsts=cond_nconsts,
        cond_jaxpr=trace_to_jaxpr(new_cond, [*cond_avals[:cond_nconsts], *carry_avals]),
        body_nconsts=cond_nconsts + body_nconsts,
        body_jaxpr=body,
    )
    return cut(kind, outs)


checkify_rules[jit_p] = _jit
checkify_rules[remat_p] = _remat
checkify_rules[cond_p] = _cond
checkify_rules[scan_p] = _scan
checkify_rules[while_p] = _while
