"""The jvp, vmap, linearize, partial-eval, transpose and dce rules of `cond`: each transforms the branches.

The branches must keep equal types, so if one of them needs a tangent, a batch dim, a cotangent or a
residual, all of them get one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tinyjax.core.array import ShapedArray
from tinyjax.core.avals import get_aval
from tinyjax.core.bind import set_current_trace
from tinyjax.core.inlining import eager_jaxpr_fun
from tinyjax.core.jaxpr import (
    ClosedJaxpr,
    Jaxpr,
    JaxprEqn,
    Var,
    dce_closed_jaxpr,
    dce_rules,
    dce_with_inputs,
    jaxpr_as_fun,
    subjaxprs,
)
from tinyjax.core.lists import drop, merge_lists, pick, split_list
from tinyjax.core.primitives import broadcast_in_dim, shape_of
from tinyjax.core.tracing import trace_to_jaxpr
from tinyjax.lax.comparison import eq
from tinyjax.lax.control_flow.cond import cond_p
from tinyjax.lax.creation import empty_like_aval
from tinyjax.lax.elementwise import constant
from tinyjax.lax.selection import select_n
from tinyjax.transform.batching import (
    AxisData,
    axis_batch_rules,
    bdim_at_front,
    moveaxis,
    not_mapped,
)
from tinyjax.transform.batching_of_jaxpr import batch_jaxpr
from tinyjax.transform.custom.forward_rules import stop_gradient
from tinyjax.transform.jvp import Zero, jvp_rules
from tinyjax.transform.jvp_of_jaxpr import jvp_jaxpr, primals_and_tangents, with_zeros
from tinyjax.transform.linearize import LinearizeTrace, linearize_rules, partial_eval_rules
from tinyjax.transform.partial_eval import (
    Parts,
    ValueOrigin,
    linearize_jaxpr,
    partial_eval_jaxpr,
    values_of,
)
from tinyjax.transform.transposition import is_undefined_primal, require_known, transpose_rules
from tinyjax.transform.transposition_of_jaxpr import operand_cotangents, transpose_jaxpr

Branches = tuple[ClosedJaxpr, ...]


def _in_any(flags_by_branch: Iterable[Sequence[bool]]) -> tuple[bool, ...]:
    """Combines the branches' lists of flags: whether each flag is set in any branch."""
    return tuple([any(flags) for flags in zip(*flags_by_branch)])


# ---- forward mode ----


def _cond_jvp(primals: Any, tangents: Any, *, branches: Branches) -> Any:
    """The rule of cond for jvp: (results, their tangents), as primals_and_tangents makes it.

    The first primal is the index: it has no tangent (Zero), and branches do not take it. Each branch
    becomes one of operands and of those tangents that are not Zero, by jvp_jaxpr; it gives results and
    then tangents. Where any branch has a tangent, all must have one."""
    nonzeros = tuple([type(t) is not Zero for t in tangents[1:]])  # an index has no tangent
    nonzero_outs = _in_any(jvp_jaxpr(branch, nonzeros)[1] for branch in branches)
    jvp_branches = tuple([jvp_jaxpr(branch, nonzeros, nonzero_outs)[0] for branch in branches])
    nonzero_tangents = [t for t in tangents if type(t) is not Zero]
    outs = cond_p.bind(*primals, *nonzero_tangents, branches=jvp_branches)
    return primals_and_tangents(outs, nonzero_outs)


jvp_rules[cond_p] = _cond_jvp


# ---- vmap ----


def _cond_batch(axis: AxisData, vals: Any, dims: Any, *, branches: Branches) -> Any:
    """With one index for all examples, a cond of batched branches; otherwise all branches and a select."""
    if any(_has_io(branch.jaxpr) for branch in branches):
        raise NotImplementedError(
            "IO effect not supported in vmap-of-cond: io_callback in a branch would be called for the "
            "examples that take another branch too. Call it outside of cond"
        )
    if dims[0] is not not_mapped:
        return _select_branches(axis, vals, dims, branches)
    operands = [x if d is not_mapped else moveaxis(x, d, 0) for x, d in zip(vals[1:], dims[1:])]
    in_dims = tuple([d if d is not_mapped else 0 for d in dims[1:]])
    at_front = _in_any(
        [d is not not_mapped for d in batch_jaxpr(branch, axis, in_dims)[1]] for branch in branches
    )
    batched = tuple([batch_jaxpr(branch, axis, in_dims, at_front)[0] for branch in branches])
    outs = cond_p.bind(vals[0], *operands, branches=batched)
    return outs, [0 if is_batched else not_mapped for is_batched in at_front]


def _has_io(jaxpr: Jaxpr) -> bool:
    if any(eqn.primitive.name == "io_callback" for eqn in jaxpr.eqns):
        return True
    return any(_has_io(sub) for eqn in jaxpr.eqns for sub in subjaxprs(eqn.params))


def _select_branches(axis: AxisData, vals: Any, dims: Any, branches: Branches) -> Any:
    """Runs all branches for all examples, and selects each example's results: (results, batch dims).

    `vals` are the index and the operands, `dims` their batch dims. Before branch i, each operand is
    its stop_gradient for the examples whose index is another than i. Batch dims go to the front."""
    index, *operands = [bdim_at_front(x, d, axis.size) for x, d in zip(vals, dims)]
    outs_by_branch = []
    for i, branch in enumerate(branches):
        in_dims, at_front = (0,) * len(operands), (True,) * len(branch.out_avals)
        batched, _ = batch_jaxpr(branch, axis, in_dims, at_front)
        # Examples that take another branch must not make this one's derivative nan: for them its
        # operands are constants, whose zero tangents never meet the branch's infinite derivative.
        takes_it = eq(index, constant(index, i))
        own = [_choose(takes_it, stop_gradient(x), x) for x in operands]
        outs_by_branch.append(eager_jaxpr_fun(batched)(*own))
    outs = [_choose(index, *cases) for cases in zip(*outs_by_branch)]
    return outs, [0] * len(outs)


def _choose(which: Any, *cases: Any) -> Any:
    """select_n by a batch of scalars, of a batch of arrays: for each example, its whole array of the case
    that its scalar says. select_n itself takes an index for each element, so `which`, of shape (n,), is
    broadcast to the shape of the cases, (n, ...)."""
    shape = shape_of(cases[0])
    return select_n(which if len(shape) == 1 else broadcast_in_dim(which, shape, (0,)), *cases)


axis_batch_rules[cond_p] = _cond_batch


# ---- two conds: one now, one later ----


def _cond_linearize(
    primals: Any, nonzeros: Any, *, branches: Branches
) -> tuple[list[Any], Callable[..., list[Any]]]:
    """One cond computes the branches' results and residuals, another their linear parts. If any branch
    has a tangent, all must give one."""
    nonzeros = tuple(nonzeros[1:])  # an index has no tangent
    nonzero_outs = _in_any(linearize_jaxpr(branch, nonzeros).later_outs for branch in branches)
    parts = [linearize_jaxpr(branch, nonzeros, nonzero_outs) for branch in branches]
    index, *operands = primals
    outs, residuals, linear_branches = _cond_now(parts, index, operands)

    def linear(_: Any, *tangents: Any) -> list[Any]:
        given = [index, *residuals, *pick(tangents, nonzeros)]
        found = cond_p.bind(*given, branches=linear_branches) if any(nonzero_outs) else []
        return with_zeros(found, nonzero_outs, outs)

    return outs, linear


def _cond_partial_eval(trace: LinearizeTrace, args: Sequence[Any], params: dict) -> list[Any]:
    """Partial evaluation, for branches with some known operands."""
    index, *operands = args
    if trace.is_unknown(index):
        return trace.unknown.process_primitive(cond_p, args, params)
    branches: Branches = params["branches"]
    unknown_ins = tuple([trace.is_unknown(x) for x in operands])
    unknown_outs = _in_any(
        partial_eval_jaxpr(branch, unknown_ins).later_outs for branch in branches
    )
    parts = [partial_eval_jaxpr(branch, unknown_ins, unknown_outs) for branch in branches]
    with set_current_trace(trace.parent):
        outs, residuals, later_branches = _cond_now(parts, index, drop(operands, unknown_ins))
    given = [index, *residuals, *pick(operands, unknown_ins)]
    with set_current_trace(trace.unknown):
        later = cond_p.bind(*given, branches=later_branches) if any(unknown_outs) else []
    return merge_lists(unknown_outs, outs, later)


def _cond_now(
    parts: Sequence[Parts], index: Any, inputs: Sequence[Any]
) -> tuple[list[Any], list[Any], Branches]:
    """Binds the cond of the known parts. Returns its results, all branches' residuals, and the branches
    of the later cond, which take the residuals first. A residual that is an input is no result of the
    first cond."""
    made = [[origin for origin in p.residuals if origin[0] != "in"] for p in parts]
    made_avals = [
        [a for a, (kind, _) in zip(p.later.in_avals, p.residuals) if kind != "in"] for p in parts
    ]
    avals, places = common_residuals(made_avals)
    known_branches = tuple(
        [
            with_residual_outputs(p.known, p.known_outs, m, place, avals)
            for p, m, place in zip(parts, made, places)
        ]
    )
    computed = cond_p.bind(index, *inputs, branches=known_branches)
    outs, residuals = split_list(computed, len(parts[0].known_outs))

    numbers = dict.fromkeys(i for p in parts for kind, i in p.residuals if kind == "in")
    inputs_at = {i: len(avals) + n for n, i in enumerate(numbers)}
    avals = avals + [get_aval(inputs[i]) for i in numbers]
    later = []
    for part, own in zip(parts, places):
        given = iter(own)
        at = [inputs_at[i] if kind == "in" else next(given) for kind, i in part.residuals]
        later.append(with_residual_inputs(part.later, at, avals))
    return outs, residuals + [inputs[i] for i in numbers], tuple(later)


def common_residuals(
    avals_by_branch: Sequence[Sequence[ShapedArray]],
) -> tuple[list[ShapedArray], list[list[int]]]:
    """Places for the residuals of any one branch: those of different branches share a place where
    they have one type. Gives the places' avals, and each branch's places in order.

    [x], [y], [x, x] have the places [x, y, x], in which they are at [0], [1] and [0, 2]."""
    common: list[ShapedArray] = []
    places = []
    for avals in avals_by_branch:
        free = list(range(len(common)))
        own = []
        for aval in avals:
            place = next((i for i in free if common[i] == aval), len(common))
            if place == len(common):
                common.append(aval)
            else:
                free.remove(place)
            own.append(place)
        places.append(own)
    return common, places


def with_residual_outputs(
    known: ClosedJaxpr,
    known_outs: Sequence[ValueOrigin],
    residuals: Sequence[ValueOrigin],
    places: Sequence[int],
    avals: Sequence[ShapedArray],
) -> ClosedJaxpr:
    """The known part of a branch, which returns its residuals at their places and fillings at the others."""

    def branch(*args: Any) -> list[Any]:
        values = {"in": args, "out": jaxpr_as_fun(known)(*args)}
        filled = [empty_like_aval(aval) for aval in avals]
        for place, x in zip(places, values_of(residuals, values)):
            filled[place] = x
        return values_of(known_outs, values) + filled

    return trace_to_jaxpr(branch, known.in_avals)


def with_residual_inputs(
    later: ClosedJaxpr, places: Sequence[int], avals: Sequence[ShapedArray]
) -> ClosedJaxpr:
    """The later part of a branch, which takes all branches' residuals and reads its own."""
    invars = later.jaxpr.invars
    residuals = [Var(aval) for aval in avals]
    for place, v in zip(places, invars):
        residuals[place] = v
    return later.replace(later.jaxpr.replace(invars=residuals + invars[len(places) :]))


linearize_rules[cond_p] = _cond_linearize
partial_eval_rules[cond_p] = _cond_partial_eval


# ---- reverse mode ----


def _cond_transpose(cts: Any, index: Any, *operands: Any, branches: Branches) -> list[Any]:
    require_known(cond_p, index)
    linear = tuple([is_undefined_primal(x) for x in operands])
    zero_cts = tuple([type(ct) is Zero for ct in cts])
    nonzero = _in_any(transpose_jaxpr(branch, linear, zero_cts)[1] for branch in branches)
    transposed = tuple(
        [transpose_jaxpr(branch, linear, zero_cts, nonzero)[0] for branch in branches]
    )
    inputs = [x for x in operands if not is_undefined_primal(x)]
    inputs += [ct for ct in cts if type(ct) is not Zero]
    outs = cond_p.bind(index, *inputs, branches=transposed)
    return [None, *operand_cotangents(operands, outs, nonzero)]


transpose_rules[cond_p] = _cond_transpose


# ---- dead code ----


def _cond_dce(eqn: JaxprEqn, used_outputs: list[bool]) -> JaxprEqn:
    """Removes unused results, and the operands that no branch then reads."""
    branches, used = eqn.params["branches"], tuple(used_outputs)
    used_inputs = _in_any(dce_closed_jaxpr(branch, used)[1] for branch in branches)
    return eqn.replace(
        invars=[eqn.invars[0], *pick(eqn.invars[1:], used_inputs)],
        outvars=pick(eqn.outvars, used),
        params={"branches": tuple([dce_with_inputs(b, used, used_inputs) for b in branches])},
    )


dce_rules[cond_p] = _cond_dce
