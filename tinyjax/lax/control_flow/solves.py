"""Derivatives of solutions found by a solver: `custom_root` and `custom_linear_solve`.

A solver's derivative comes from the equation that the solution fulfils, not from the solver's steps. For
f(a, x) = 0 that is the implicit function theorem, dx = -(df/dx)^-1 df/da da; for A x = b it is dx = A^-1
(db - dA x), whose transpose is a solve with the transpose of A.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tinyjax.core.array import ShapedArray
from tinyjax.core.avals import get_aval
from tinyjax.core.bind import Primitive, abstract_eval_rules, impl_rules, no_rule_reasons
from tinyjax.core.bodies import trace_body
from tinyjax.core.inlining import custom_inline_rules, eager_jaxpr_fun
from tinyjax.core.jaxpr import ClosedJaxpr, JaxprEqn, Var
from tinyjax.core.lists import split_list
from tinyjax.core.primitives import neg, shape_of
from tinyjax.core.tree_util.pytrees import PyTreeDef, tree_flatten, tree_unflatten
from tinyjax.lax.control_flow.bodies import fixed_point
from tinyjax.transform.batching import AxisData, axis_batch_rules, move_batch_dim
from tinyjax.transform.batching_of_jaxpr import batch_jaxpr
from tinyjax.transform.custom.forward_rules import custom_jvp
from tinyjax.transform.jvp import (
    Zero,
    add_tangents,
    instantiate_zeros,
    jvp,
    jvp_rules,
    zero_tangent,
)
from tinyjax.transform.jvp_of_jaxpr import jvp_jaxpr
from tinyjax.transform.linear_transpose import linear_transpose
from tinyjax.transform.linearize import linearize
from tinyjax.transform.transposition import is_undefined_primal, transpose_rules

# ---- what both share ----


def _trace(fun: Callable, *args: Any) -> tuple[ClosedJaxpr, list[Any], PyTreeDef]:
    """The jaxpr of `fun` at `args`, what it closes over, and its result's tree."""
    leaves, in_tree = tree_flatten((args, {}))
    return trace_body(fun, in_tree, [get_aval(x) for x in leaves])


def _without_aux(name: str, out_tree: PyTreeDef, has_aux: bool) -> PyTreeDef:
    """The tree of the solution. Raises ValueError if has_aux promised a pair and there is none."""
    if not has_aux:
        return out_tree
    if out_tree.node_type is not tuple or len(out_tree.children()) != 2:
        raise ValueError(
            f"{name}() produced a pytree with structure {out_tree}, but a pair (solution, aux) was "
            "expected because has_aux=True"
        )
    return out_tree.children()[0]


def _check_tree(name: str, expected_name: str, tree: PyTreeDef, expected: PyTreeDef) -> None:
    if tree != expected:
        raise TypeError(
            f"{name}() output pytree structure must match {expected_name}, got {tree} and {expected}."
        )


# ---- roots ----


def custom_root(
    f: Callable[[Any], Any],
    initial_guess: Any,
    solve: Callable[[Callable, Any], Any],
    tangent_solve: Callable[[Callable, Any], Any],
    has_aux: bool = False,
) -> Any:
    """`solve(f, initial_guess)`, an x with f(x) = 0, differentiable in what `f` closes over.

    `f` gives a tree like that of its one argument. `tangent_solve(g, y)` gives the x with g(x) = y for
    the linear function g, which is f linearized at the root: `lambda g, y: y / g(1.0)` for scalars.
    With has_aux, `solve` gives a pair of the root and something that is not differentiated.
    Raises TypeError where one of the functions gives a tree other than initial_guess."""
    guess, tree = tree_flatten(initial_guess)
    f_jaxpr, f_consts, f_tree = _trace(f, initial_guess)
    _check_tree("f", "initial_guess", f_tree, tree)
    solve_jaxpr, solve_consts, out_tree = _trace(lambda x: solve(f, x), initial_guess)
    _check_tree("solve", "initial_guess", _without_aux("solve", out_tree, has_aux), tree)

    def linearize_and_solve(x: Any, b: Any) -> Any:
        return tangent_solve(linearize(f, x)[1], b)

    tangent_jaxpr, tangent_consts, tangent_tree = _trace(
        linearize_and_solve, initial_guess, initial_guess
    )
    _check_tree("tangent_solve", "x", tangent_tree, tree)
    first, second = len(f_consts), len(f_consts) + len(solve_consts)

    @custom_jvp
    def _custom_root(*args: Any) -> list[Any]:
        return eager_jaxpr_fun(solve_jaxpr)(*args[first:second], *args[-len(guess) :])

    @_custom_root.defjvp
    def _root_jvp(args: Any, dots: Any) -> tuple[list, list]:
        outs = _custom_root(*args)
        root, aux = outs[: len(guess)], outs[len(guess) :]

        def f_at_root(*consts: Any) -> list[Any]:
            return eager_jaxpr_fun(f_jaxpr)(*consts, *root)

        _, moved = jvp(f_at_root, args[:first], dots[:first])
        root_dot = eager_jaxpr_fun(tangent_jaxpr)(*args[second : -len(guess)], *root, *moved)
        return outs, [neg(x) for x in root_dot] + [instantiate_zeros(zero_tangent(x)) for x in aux]

    outs = _custom_root(*f_consts, *solve_consts, *tangent_consts, *guess)
    return tree_unflatten(out_tree, outs)


# ---- linear systems: the primitive ----


class _LinearSolveTuple(NamedTuple):
    """One entry for each of the four functions: A x, its transpose, and the solves with both."""

    matvec: Any
    vecmat: Any
    solve: Any
    transpose_solve: Any

    def transpose(self) -> _LinearSolveTuple:
        return _LinearSolveTuple(self.vecmat, self.matvec, self.transpose_solve, self.solve)


# Parameters: for each function its jaxpr and how many consts it has. Operands: all consts, then b.
linear_solve_p = Primitive("custom_linear_solve", multiple_results=True, impl_binds_primitives=True)


def _split(xs: Sequence[Any], const_lengths: _LinearSolveTuple) -> tuple[_LinearSolveTuple, list]:
    """Splits operands, or a list parallel to them, into the consts of the four functions, and b."""
    *parts, b = split_list(xs, *const_lengths)
    return _LinearSolveTuple(*parts), b


def _linear_solve_impl(*args: Any, const_lengths: Any, jaxprs: Any) -> list[Any]:
    consts, b = _split(args, const_lengths)
    return eager_jaxpr_fun(jaxprs.solve)(*consts.solve, *b)


def _linear_solve_aval(*avals: ShapedArray, const_lengths: Any, jaxprs: Any) -> list[ShapedArray]:
    _, b = _split(avals, const_lengths)
    return [*b, *jaxprs.solve.out_avals[len(b) :]]


def _linear_solve_jvp(primals: Any, tangents: Any, *, const_lengths: Any, jaxprs: Any) -> Any:
    """A x = b, so dA x + A dx = db: one more solve, for dx."""
    params = {"const_lengths": const_lengths, "jaxprs": jaxprs}
    outs = linear_solve_p.bind(*primals, **params)
    consts, b = _split(primals, const_lengths)
    consts_dot, rhs = _split(tangents, const_lengths)
    x = outs[: len(b)]
    nonzeros = [type(t) is not Zero for t in consts_dot.matvec]
    if any(nonzeros):
        matvec_jvp, moves = jvp_jaxpr(jaxprs.matvec, (*nonzeros, *[False] * len(x)))
        dots = [t for t in consts_dot.matvec if type(t) is not Zero]
        found = iter(eager_jaxpr_fun(matvec_jvp)(*consts.matvec, *x, *dots)[len(x) :])
        moved = [neg(next(found)) if m else zero_tangent(y) for m, y in zip(moves, x)]
        rhs = [add_tangents(b_dot, t) for b_dot, t in zip(rhs, moved)]
    rhs = [instantiate_zeros(t) for t in rhs]
    flat_consts = [c for part in consts for c in part]
    x_dot = linear_solve_p.bind(*flat_consts, *rhs, **params)[: len(b)]
    return outs, [*x_dot, *[zero_tangent(aux) for aux in outs[len(b) :]]]


def _linear_solve_transpose(cts: Any, *args: Any, const_lengths: Any, jaxprs: Any) -> list[Any]:
    if jaxprs.transpose_solve is None:
        raise TypeError(
            "transpose_solve required for backwards mode automatic differentiation of "
            "custom_linear_solve: pass it, or symmetric=True if the matrix is"
        )
    consts, b = _split(args, const_lengths)
    if any([is_undefined_primal(c) for part in consts for c in part]):
        raise NotImplementedError("custom_linear_solve can be transposed in b alone, not in matvec")
    flat_consts = [c for part in consts.transpose() for c in part]
    cts_b = [instantiate_zeros(ct) for ct in cts[: len(b)]]
    params = {"const_lengths": const_lengths.transpose(), "jaxprs": jaxprs.transpose()}
    ct_b = linear_solve_p.bind(*flat_consts, *cts_b, **params)
    return [None] * len(flat_consts) + ct_b[: len(b)]


def _linear_solve_batch(
    axis: AxisData, vals: Any, dims: Any, *, const_lengths: Any, jaxprs: Any
) -> tuple[list, list]:
    """x and b have the same tree: a part that is batched in one is batched in the other."""
    vals = [x if d is None else move_batch_dim(x, d, 0, axis.size) for x, d in zip(vals, dims)]
    consts, b = _split(vals, const_lengths)
    const_dims, b_dims = _split([None if d is None else 0 for d in dims], const_lengths)

    def batched(which: str, parts: tuple[bool, ...]) -> tuple[ClosedJaxpr, tuple[int | None, ...]]:
        closed = getattr(jaxprs, which)
        in_dims = (*getattr(const_dims, which), *[0 if part else None for part in parts])
        num_aux = len(closed.out_avals) - len(parts)
        return batch_jaxpr(closed, axis, in_dims, (*parts, *[True] * num_aux))

    there = [name for name, closed in zip(jaxprs._fields, jaxprs) if closed is not None]

    def after(parts: tuple[bool, ...]) -> list[bool]:
        outs = [batched(name, parts)[1][: len(parts)] for name in there]
        return [any(d == 0 for d in column) for column in zip(*outs)]

    parts = fixed_point(after, tuple([d == 0 for d in b_dims]))
    to = [0 if part else None for part in parts]
    b = [move_batch_dim(x, d, t, axis.size) for x, d, t in zip(b, b_dims, to)]
    new_jaxprs = jaxprs._replace(**{name: batched(name, parts)[0] for name in there})
    flat_consts = [c for part in consts for c in part]
    outs = linear_solve_p.bind(*flat_consts, *b, const_lengths=const_lengths, jaxprs=new_jaxprs)
    return outs, [*to, *[0] * (len(outs) - len(to))]


def _linear_solve_inlined(eqn: JaxprEqn) -> ClosedJaxpr:
    """The solver as a function of all operands: it reads its own constants and b."""
    solve = eqn.params["jaxprs"].solve
    consts, b = _split([Var(v.aval) for v in eqn.invars], eqn.params["const_lengths"])
    own = solve.jaxpr.invars
    consts = consts._replace(solve=own[: len(consts.solve)])
    invars = [*(v for part in consts for v in part), *own[len(own) - len(b) :]]
    return solve.replace(jaxpr=solve.jaxpr.replace(invars=invars))


impl_rules[linear_solve_p] = _linear_solve_impl
abstract_eval_rules[linear_solve_p] = _linear_solve_aval
jvp_rules[linear_solve_p] = _linear_solve_jvp
transpose_rules[linear_solve_p] = _linear_solve_transpose
axis_batch_rules[linear_solve_p] = _linear_solve_batch
custom_inline_rules[linear_solve_p] = _linear_solve_inlined
no_rule_reasons[linear_solve_p, "lowering"] = "the equations of its solver replace it"


# ---- linear systems: the front door ----


def custom_linear_solve(
    matvec: Callable[[Any], Any],
    b: Any,
    solve: Callable[[Callable, Any], Any],
    transpose_solve: Callable[[Callable, Any], Any] | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> Any:
    """`solve(matvec, b)`, an x with matvec(x) = b, differentiable in b and what `matvec` closes over.

    `matvec` is linear, and its trees and shapes in and out are those of `b`. Reverse mode needs
    `transpose_solve(vecmat, b)`, a solve with the transpose of matvec, which is found by transposition;
    with `symmetric` both are the same. With has_aux, the solvers give pairs (x, aux).
    Raises TypeError or ValueError where a function gives another tree, or other shapes, than b."""
    if transpose_solve is None and symmetric:
        transpose_solve = solve
    leaves, tree = tree_flatten(b)

    def traced(name: str, fun: Callable, aux: bool) -> tuple[ClosedJaxpr, list[Any], PyTreeDef]:
        closed, consts, out_tree = _trace(fun, b)
        main = _without_aux(name, out_tree, aux)
        shapes = [aval.shape for aval in closed.out_avals[: main.num_leaves]]
        expected = [shape_of(x) for x in leaves]
        if shapes != expected:
            raise ValueError(f"{name}() output shapes must match b, got {shapes} and {expected}")
        _check_tree(name, "b", main, tree)
        return closed, consts, out_tree

    absent: Any = (None, [], None)
    matvec_parts = traced("matvec", matvec, False)
    solve_parts = traced("solve", lambda x: solve(matvec, x), has_aux)
    vecmat_parts = transpose_parts = absent
    if transpose_solve is not None:
        vecmat = matvec if symmetric else _transposed(matvec, b)
        vecmat_parts = matvec_parts if symmetric else traced("vecmat", vecmat, False)
        transpose_parts = traced("transpose_solve", lambda x: transpose_solve(vecmat, x), has_aux)
    parts = _LinearSolveTuple(matvec_parts, vecmat_parts, solve_parts, transpose_parts)
    outs = linear_solve_p.bind(
        *[c for _, consts, _ in parts for c in consts],
        *leaves,
        const_lengths=_LinearSolveTuple(*[len(consts) for _, consts, _ in parts]),
        jaxprs=_LinearSolveTuple(*[closed for closed, _, _ in parts]),
    )
    return tree_unflatten(solve_parts[2], outs)


def _transposed(matvec: Callable, b: Any) -> Callable:
    transposed = linear_transpose(matvec, b)
    return lambda x: transposed(x)[0]
