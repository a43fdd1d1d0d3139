"""`scan` in reverse mode: one loop that runs now, and a linear one for later, which is run backwards.

The derivative of a loop is two loops. Linearizing makes a loop that runs now, and a linear one. The first
saves the values that the second needs of each iteration (stacked; values that are the same at each
iteration are saved once). Transposition runs the linear one backwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tinyjax.core.array import ShapedArray
from tinyjax.core.avals import get_aval
from tinyjax.core.bind import set_current_trace
from tinyjax.core.inlining import eager_jaxpr_fun
from tinyjax.core.jaxpr import ClosedJaxpr, cached_on_jaxpr, has_effects
from tinyjax.core.lists import Flags, drop, merge_lists, pick, split_list
from tinyjax.core.tracing import trace_to_jaxpr
from tinyjax.lax.control_flow.bodies import fixed_point
from tinyjax.lax.control_flow.scan import scan_p
from tinyjax.transform.jvp import Zero, full, instantiate_zeros
from tinyjax.transform.jvp_of_jaxpr import with_zeros
from tinyjax.transform.linearize import LinearizeTrace, linearize_rules, partial_eval_rules
from tinyjax.transform.partial_eval import (
    Parts,
    ValueOrigin,
    linearize_jaxpr,
    partial_eval_jaxpr,
    values_of,
    with_outputs,
)
from tinyjax.transform.transposition import (
    ValAccum,
    backward_pass,
    is_undefined_primal,
    transpose_rules,
)

# ---- two loops: one now, one later ----


class SplitBody(NamedTuple):
    """The body of a loop in three parts.

    `before`: the computations on known consts alone, which run once, before the loop. `known`: the loop
    that can run now; its consts come from `known_consts`, and it gives the known results and then the
    residuals that differ from iteration to iteration, to be stacked. `later`: the loop for later, of
    (residuals that are the same at each iteration, what comes later, residuals that differ)."""

    before: ClosedJaxpr
    known: ClosedJaxpr
    known_consts: list[ValueOrigin]
    later: ClosedJaxpr
    same_residuals: list[ValueOrigin]
    stacked_residuals: list[ValueOrigin]
    later_outs: Flags


@cached_on_jaxpr
def _linearized_body(
    jaxpr: ClosedJaxpr, const_nz: Flags, init_nz: Flags, xs_nz: Flags
) -> SplitBody:
    """The parts of a body whose named operands have tangents. A carry has a tangent if its first value
    has one, or if the body makes one."""
    num_consts, num_carry = len(const_nz), len(init_nz)
    no_ys = (False,) * (len(jaxpr.out_avals) - num_carry)

    def parts(carry_nz: Flags) -> Parts:
        return linearize_jaxpr(jaxpr, (*const_nz, *carry_nz, *xs_nz), (*carry_nz, *no_ys))

    carry_nz = fixed_point(lambda nz: parts(nz).later_outs[:num_carry], init_nz)
    body = _split_body(parts(carry_nz), num_consts, num_carry)
    return _without_copies(body, num_carry)


def _without_copies(body: SplitBody, num_carry: int) -> SplitBody:
    """The known loop returns no residual twice, and none that it already returns as a y."""
    outvars = body.known.jaxpr.outvars
    first: dict[Any, int] = {}
    for i, v in enumerate(outvars[num_carry:], num_carry):
        first.setdefault(v, i)
    num_outs = len(body.later_outs)
    kept = [i for i, v in enumerate(outvars) if i < num_outs or first[v] == i]
    jaxpr = body.known.jaxpr.replace(outvars=[outvars[i] for i in kept])
    residuals = [
        (kind, kept.index(first[outvars[i]])) if kind == "loop" else (kind, i)
        for kind, i in body.stacked_residuals
    ]
    return body._replace(known=body.known.replace(jaxpr), stacked_residuals=residuals)


@cached_on_jaxpr
def _partly_known_body(
    jaxpr: ClosedJaxpr, const_uk: Flags, init_uk: Flags, xs_uk: Flags
) -> SplitBody:
    """The parts of a body whose named operands are unknown."""
    num_carry = len(init_uk)
    no_ys = (False,) * (len(jaxpr.out_avals) - num_carry)

    def parts(carry_uk: Flags) -> Parts:
        return partial_eval_jaxpr(jaxpr, (*const_uk, *carry_uk, *xs_uk), (*carry_uk, *no_ys))

    carry_uk = fixed_point(lambda uk: parts(uk).later_outs[:num_carry], init_uk)
    return _split_body(parts(carry_uk), const_uk.count(False), carry_uk.count(False))


def _split_body(parts: Parts, num_consts: int, num_carry: int) -> SplitBody:
    """The known part has that many consts and carries. Equations that depend only on its consts move out
    of the loop."""
    first_x = num_consts + num_carry

    def is_made(origin: ValueOrigin) -> bool:
        """Whether the known loop has to give a residual: a value of the body, or a carry."""
        kind, i = origin
        return kind == "out" or kind == "in" and num_consts <= i < first_x

    made = [origin for origin in parts.residuals if is_made(origin)]
    known = with_outputs(parts.known, [*parts.known_outs, *made])
    num_outs = len(parts.known_outs)
    before, loop, from_loop, hoisted, loop_consts = partial_eval_jaxpr(
        known,
        (False,) * num_consts + (True,) * (len(known.in_avals) - num_consts),
        (True,) * num_outs + (False,) * len(made),
    )
    stacked = iter([("loop", i) for i in range(num_outs, len(loop.out_avals))])
    values, in_loop = iter(hoisted), iter(from_loop[num_outs:])
    residuals = [
        origin if not is_made(origin) else next(stacked) if next(in_loop) else next(values)
        for origin in parts.residuals
    ]
    differs = [kind == "loop" or kind == "in" and i >= num_consts for kind, i in residuals]
    binders, operands = split_list(parts.later.jaxpr.invars, len(residuals))
    invars = drop(binders, differs) + operands + pick(binders, differs)
    return SplitBody(
        before,
        loop,
        loop_consts,
        parts.later.replace(parts.later.jaxpr.replace(invars=invars)),
        drop(residuals, differs),
        pick(residuals, differs),
        parts.later_outs,
    )


def _scan_now(
    body: SplitBody, num_consts: int, num_carry: int, args: Sequence[Any], params: dict
) -> tuple[list[Any], list[Any], list[Any]]:
    """Runs the known loop: its results, the residuals that are the same at each iteration, and those that
    differ."""
    consts, carry_and_xs = split_list(args, num_consts)
    values: dict[str, Any] = {"in": args, "out": eager_jaxpr_fun(body.before)(*consts)}
    loop_consts = values_of(body.known_consts, values)
    numbers = {"num_consts": len(loop_consts), "num_carry": num_carry}
    values["loop"] = _bind_needed(body.known, [*loop_consts, *carry_and_xs], params | numbers)
    same = values_of(body.same_residuals, values)
    return values["loop"], same, values_of(body.stacked_residuals, values)


def _scan_linearize(
    primals: Any, nonzeros: Any, **params: Any
) -> tuple[list[Any], Callable[..., list[Any]]]:
    num_consts, num_carry = params["num_consts"], params["num_carry"]
    const_nz, init_nz, xs_nz = map(tuple, split_list(nonzeros, num_consts, num_carry))
    body = _linearized_body(params["jaxpr"], const_nz, init_nz, xs_nz)
    loop_outs, same, differing = _scan_now(body, num_consts, num_carry, primals, params)
    outs = loop_outs[: len(body.later_outs)]
    carry_nz = body.later_outs[:num_carry]

    def linear(*tangents: Any) -> list[Any]:
        flags = (*const_nz, *carry_nz, *xs_nz)
        given = [instantiate_zeros(t) for t in pick(tangents, flags)]
        numbers = {"num_consts": len(same) + sum(const_nz), "num_carry": sum(carry_nz)}
        found = _bind_needed(body.later, [*same, *given, *differing], params | numbers)
        return with_zeros(found, body.later_outs, outs)

    return outs, linear


def _scan_partial_eval(trace: LinearizeTrace, args: Sequence[Any], params: dict) -> list[Any]:
    num_consts, num_carry = params["num_consts"], params["num_carry"]
    flags = [trace.is_unknown(x) for x in args]
    const_uk, init_uk, xs_uk = map(tuple, split_list(flags, num_consts, num_carry))
    body = _partly_known_body(params["jaxpr"], const_uk, init_uk, xs_uk)
    carry_uk = body.later_outs[:num_carry]
    flags = [*const_uk, *carry_uk, *xs_uk]
    with set_current_trace(trace.parent):
        outs, same, differing = _scan_now(
            body, const_uk.count(False), carry_uk.count(False), drop(args, flags), params
        )
    numbers = {"num_consts": len(same) + sum(const_uk), "num_carry": sum(carry_uk)}
    with set_current_trace(trace.unknown):
        given = [*same, *pick(args, flags), *differing]
        later = _bind_needed(body.later, given, params | numbers)
    return merge_lists(body.later_outs, outs, later)


def _bind_needed(jaxpr: ClosedJaxpr, args: list[Any], params: dict) -> list[Any]:
    """A loop of the body `jaxpr`, if it has results or effects."""
    if not jaxpr.out_avals and not any(map(has_effects, jaxpr.eqns)):
        return []
    return scan_p.bind(*args, **params | {"jaxpr": jaxpr})


# ---- reverse mode: the linear loop, backwards ----


def _scan_transpose(
    cts: Any,
    *args: Any,
    jaxpr: ClosedJaxpr,
    num_consts: int,
    num_carry: int,
    reverse: bool,
    **params: Any,
) -> list[Any]:
    """The rule of scan for transposition: for each operand its cotangent, None where it is known.

    One scan of `_transpose_body` in the opposite direction. Its carry has the cotangents of linear
    consts, which are summed from zeros, then the cotangents of the carry. Its xs are the cotangents of
    ys, then the known xs; its ys are the cotangents of linear xs; its consts are the known consts. A Zero
    cotangent of a y is left out; a Zero cotangent of the carry becomes an array."""
    consts, _, xs = split_list(args, num_consts, num_carry)
    consts_lin, xs_lin = (tuple(map(is_undefined_primal, part)) for part in (consts, xs))
    ct_carry, ct_ys = split_list(cts, num_carry)
    ct_carry = [instantiate_zeros(ct) for ct in ct_carry]
    so_far = [full(x.aval, 0) for x in pick(consts, consts_lin)]
    each_iteration = drop(consts, consts_lin)
    sliced = [ct for ct in ct_ys if type(ct) is not Zero]
    sliced += drop(xs, xs_lin)

    avals = [get_aval(x) for x in (*each_iteration, *so_far, *ct_carry)]
    avals += [get_aval(x).without_axis(0) for x in sliced]
    zero_ys = tuple(type(ct) is Zero for ct in ct_ys)
    outs = scan_p.bind(
        *each_iteration,
        *so_far,
        *ct_carry,
        *sliced,
        jaxpr=_transpose_body(jaxpr, tuple(avals), consts_lin, num_carry, xs_lin, zero_ys),
        num_consts=len(each_iteration),
        num_carry=len(so_far) + num_carry,
        reverse=not reverse,
        **params,
    )
    found = iter(outs)
    # A known initial carry, such as zeros, gets a cotangent too, which is discarded.
    linear = (*consts_lin, *(True,) * num_carry, *xs_lin)
    return [next(found) if lin else None for lin in linear]


@cached_on_jaxpr
def _transpose_body(
    jaxpr: ClosedJaxpr,
    in_avals: tuple[ShapedArray, ...],
    consts_lin: Flags,
    num_carry: int,
    xs_lin: Flags,
    zero_ys: Flags,
) -> ClosedJaxpr:
    """The body backwards: of known consts, the linear consts' cotangents so far, those of the carry
    and of ys that are not Zero, and known xs; returns the cotangents of linear consts, carry and linear
    xs. `in_avals` are the avals of what it takes, in this order; of ys and xs, those of one step."""
    linear = (*consts_lin, *(True,) * num_carry, *xs_lin)
    const_avals, _, x_avals = split_list(jaxpr.in_avals, len(consts_lin), num_carry)
    y_avals = jaxpr.out_avals[num_carry:]
    sizes = consts_lin.count(False), sum(consts_lin), num_carry, zero_ys.count(False)

    def backward(*flat: Any) -> list[Any]:
        consts, so_far, ct_carry, ct_ys, xs = split_list(flat, *sizes)
        values, nonzero_ys = iter(consts + xs), iter(ct_ys)
        # A carry has the (weak) type of its cotangent, not that of the first carry, as in JAX.
        avals = [*const_avals, *map(get_aval, ct_carry), *x_avals]
        operands = [ValAccum(a) if lin else next(values) for a, lin in zip(avals, linear)]
        for accum, total in zip(pick(operands[: len(consts_lin)], consts_lin), so_far):
            accum.accum(total)
        cts = ct_carry + [Zero(a) if z else next(nonzero_ys) for a, z in zip(y_avals, zero_ys)]
        backward_pass(jaxpr.jaxpr, jaxpr.consts, operands, cts)
        return [instantiate_zeros(accum.freeze()) for accum in pick(operands, linear)]

    return trace_to_jaxpr(backward, in_avals)


linearize_rules[scan_p] = _scan_linearize
partial_eval_rules[scan_p] = _scan_partial_eval
transpose_rules[scan_p] = _scan_transpose
