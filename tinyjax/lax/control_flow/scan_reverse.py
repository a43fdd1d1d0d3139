"""`scan` in reverse mode: one loop that runs now, and a linear one for later, which is run backwards.

Partial evaluation makes one loop that runs now and saves what the other, linear one needs of each iteration
(stacked; what is the same at each iteration is saved once), and transposition runs the linear one backwards.

Source: https://docs.jax.dev/en/latest/_autosummary/jax.lax.scan.html
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tinyjax.core.array import ShapedArray
from tinyjax.core.avals import get_aval
from tinyjax.core.bind import set_current_trace
from tinyjax.core.inlining import eager_jaxpr_fun
from tinyjax.core.jaxpr import ClosedJaxpr, Literal, cached_on_jaxpr, has_effects, literal_value
from tinyjax.core.lists import Flags, drop, merge_lists, pick, split_list
from tinyjax.core.primitives import broadcast_in_dim_p
from tinyjax.core.tracing import JaxprTrace, JaxprTracer, trace_to_jaxpr
from tinyjax.lax.control_flow.bodies import fixed_point
from tinyjax.lax.control_flow.scan import scan_p
from tinyjax.transform.jvp import Zero, full, instantiate_zeros
from tinyjax.transform.partial_eval import (
    PartialEvalTrace,
    ValueOrigin,
    partial_eval_jaxpr,
    partial_eval_rules,
    values_of,
    with_outputs,
)
from tinyjax.transform.transposition import (
    UndefinedPrimal,
    backward_pass,
    is_undefined_primal,
    transpose_rules,
)

# ---- partial evaluation: one loop now, one later ----


class SplitBody(NamedTuple):
    """The body of a loop of which some operands are unknown, in three parts.

    `before`: what the known part needs of known consts alone, to be computed once, before the loop.
    `known`: the loop that can run now; its consts come from `known_consts`, and it gives the known
    results and then the residuals that differ from iteration to iteration, to be stacked.
    `unknown`: the loop for later, of (residuals that are the same at each iteration, unknown operands,
    residuals that differ)."""

    before: ClosedJaxpr
    known: ClosedJaxpr
    known_consts: list[ValueOrigin]
    unknown: ClosedJaxpr
    same_residuals: list[ValueOrigin]
    stacked_residuals: list[ValueOrigin]
    unknown_outs: Flags


@cached_on_jaxpr
def _split_body(
    jaxpr: ClosedJaxpr, const_uk: Flags, init_uk: Flags, xs_uk: Flags, num_carry: int
) -> SplitBody:
    """The parts of a body of which the named operands are unknown."""
    no_ys = (False,) * (len(jaxpr.out_avals) - num_carry)

    def split(carry_uk: Flags) -> Any:
        return partial_eval_jaxpr(jaxpr, (*const_uk, *carry_uk, *xs_uk), (*carry_uk, *no_ys))

    carry_uk = fixed_point(lambda uk: split(uk)[2][:num_carry], init_uk)
    known, unknown, unknown_outs, out_sources, residual_sources = split(carry_uk)
    num_consts, first_x = const_uk.count(False), const_uk.count(False) + carry_uk.count(False)

    def is_made(source: ValueOrigin) -> bool:
        """Whether the known loop has to give a residual: a value of the body, or a carry."""
        kind, i = source
        return kind == "out" or kind == "in" and num_consts <= i < first_x

    made = [source for source in residual_sources if is_made(source)]
    known = with_outputs(known, [*out_sources, *made])
    before, loop, from_loop, hoisted, loop_consts = partial_eval_jaxpr(
        known,
        (False,) * num_consts + (True,) * (len(known.in_avals) - num_consts),
        (True,) * len(out_sources) + (False,) * len(made),
    )
    stacked = iter([("loop", i) for i in range(len(out_sources), len(loop.out_avals))])
    values, in_loop = iter(hoisted), iter(from_loop[len(out_sources) :])
    residuals = [
        source if not is_made(source) else next(stacked) if next(in_loop) else next(values)
        for source in residual_sources
    ]
    differs = [kind == "loop" or kind == "in" and i >= num_consts for kind, i in residuals]
    binders, operands = split_list(unknown.jaxpr.invars, len(residuals))
    invars = drop(binders, differs) + operands + pick(binders, differs)
    return SplitBody(
        before,
        loop,
        loop_consts,
        unknown.replace(jaxpr=unknown.jaxpr.replace(invars=invars)),
        drop(residuals, differs),
        pick(residuals, differs),
        unknown_outs,
    )


def _scan_partial_eval(trace: PartialEvalTrace, args: Sequence[Any], params: dict) -> list[Any]:
    num_consts, num_carry = params["num_consts"], params["num_carry"]
    flags = [trace.is_unknown(x) for x in args]
    const_uk, init_uk, xs_uk = map(tuple, split_list(flags, num_consts, num_carry))
    body = _split_body(params["jaxpr"], const_uk, init_uk, xs_uk, num_carry)
    carry_uk = body.unknown_outs[:num_carry]
    flags = [*const_uk, *carry_uk, *xs_uk]
    args = [_zeros_again(trace, x) if uk else x for x, uk in zip(args, flags)]
    unknown_args, known_args = pick(args, flags), drop(args, flags)
    known_consts, carry_and_xs = split_list(known_args, const_uk.count(False))

    with set_current_trace(trace.parent):
        computed = eager_jaxpr_fun(body.before)(*known_consts)
        values = {"in": known_args, "out": computed}
        known_consts = values_of(body.known_consts, values)
        values["loop"] = _bind_needed(
            body.known,
            [*known_consts, *carry_and_xs],
            params | {"num_consts": len(known_consts), "num_carry": carry_uk.count(False)},
        )
    same = values_of(body.same_residuals, values)
    differing = values_of(body.stacked_residuals, values)
    with set_current_trace(trace.unknown):
        later = _bind_needed(
            body.unknown,
            [*same, *unknown_args, *differing],
            params | {"num_consts": len(same) + sum(const_uk), "num_carry": sum(carry_uk)},
        )
    return merge_lists(body.unknown_outs, values["loop"], later)


def _zeros_again(trace: PartialEvalTrace, x: Any) -> Any:
    """An operand of the unknown loop. Zeros that are there to begin a carry's tangent are not kept
    for it, but made again."""
    if isinstance(trace.parent, JaxprTrace) and isinstance(x, JaxprTracer):
        for eqn in trace.parent.eqns:
            if x.atom in eqn.outvars and eqn.primitive is broadcast_in_dim_p:
                (operand,) = eqn.invars
                if isinstance(operand, Literal):
                    zero = literal_value(operand)
                    return trace.unknown.process_primitive(eqn.primitive, [zero], eqn.params)
    return x


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

    One scan the other way round, of `_transpose_body`. Cotangents of the carry go from one to the next;
    those of linear consts are added up on the way, from zeros on, so they are carried too, before the
    others; those of ys are its xs, those of linear xs its ys. Known consts and xs stay what they are:
    its consts are the known ones, and known xs come behind the cotangents of ys.
    Some of ys have a Zero as cotangent, which no array stands for; for the carry's it is made one."""
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
    # Of a first carry that is known (zeros, say) there is a cotangent too, which nobody asks for.
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
    and of ys that are not Zero, and known xs; gives cotangents of linear consts, carry and linear xs.
    `in_avals` are the avals of what it takes, in this order; of ys and xs, those of one step."""
    linear = (*consts_lin, *(True,) * num_carry, *xs_lin)
    const_avals, _, x_avals = split_list(jaxpr.in_avals, len(consts_lin), num_carry)
    y_avals = jaxpr.out_avals[num_carry:]
    sizes = consts_lin.count(False), sum(consts_lin), num_carry, zero_ys.count(False)

    def backward(*flat: Any) -> list[Any]:
        consts, so_far, ct_carry, ct_ys, xs = split_list(flat, *sizes)
        values, sums, nonzero_ys = iter(consts + xs), iter(so_far), iter(ct_ys)
        # A carry has the (weak) type of its cotangent, not that of the first carry, as in JAX.
        avals = [*const_avals, *map(get_aval, ct_carry), *x_avals]
        operands = [UndefinedPrimal(a) if lin else next(values) for a, lin in zip(avals, linear)]
        cts = ct_carry + [Zero(a) if z else next(nonzero_ys) for a, z in zip(y_avals, zero_ys)]
        start = [next(sums) if lin else None for lin in consts_lin]
        outs = backward_pass(jaxpr.jaxpr, jaxpr.consts, operands, cts, start)
        return [instantiate_zeros(ct) for ct in pick(outs, linear)]

    return trace_to_jaxpr(backward, in_avals)


partial_eval_rules[scan_p] = _scan_partial_eval
transpose_rules[scan_p] = _scan_transpose
