"""A loop that runs as long as a condition holds, in one equation: `while_loop`.

Its length is not known before it runs, so no residuals can be kept: it has no reverse mode.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tinyjax.core.array import ArrayImpl, ShapedArray
from tinyjax.core.avals import get_aval
from tinyjax.core.bind import (
    HigherOrderPrimitive,
    abstract_eval_rules,
    as_array,
    impl_rules,
    no_rule_reasons,
    watched,
)
from tinyjax.core.bodies import trace_body
from tinyjax.core.config import config
from tinyjax.core.debug_info import DebugInfo
from tinyjax.core.errors import ConcretizationTypeError
from tinyjax.core.inlining import eager_jaxpr_fun
from tinyjax.core.jaxpr import ClosedJaxpr, dce_jaxpr
from tinyjax.core.lists import drop, merge_lists, pick, split_list
from tinyjax.core.tree_util.pytrees import (
    LEAF,
    PyTreeDef,
    tree_flatten,
    tree_map,
    tree_structure,
    tree_unflatten,
)
from tinyjax.lax.control_flow.bodies import check_carry_type, promote_weak_carry

# ---- the primitive ----

# Parameters: cond_jaxpr of (cond_consts, carry), which gives the predicate, and body_jaxpr of
# (body_consts, carry), which gives the next carry; cond_nconsts and body_nconsts count the consts.
# Operands are cond_consts, body_consts and the first carry. Under vmap the predicate may have a shape,
# which then begins the shape of each carry: the loop runs until no predicate holds.
while_p = HigherOrderPrimitive("while", multiple_results=True, impl_binds_primitives=True)


def _while_impl(
    *args: Any,
    cond_nconsts: int,
    cond_jaxpr: ClosedJaxpr,
    body_nconsts: int,
    body_jaxpr: ClosedJaxpr,
) -> list[ArrayImpl]:
    """The loop, in Python."""
    cond_consts, body_consts, init = split_list(args, cond_nconsts, body_nconsts)
    cond_fun, body_fun = eager_jaxpr_fun(cond_jaxpr), eager_jaxpr_fun(body_jaxpr)

    def predicate(carry: list[ArrayImpl]) -> np.ndarray:
        return as_array(cond_fun(*cond_consts, *carry)[0])._value

    def step(carry: list[ArrayImpl]) -> list[ArrayImpl]:
        return [as_array(x) for x in body_fun(*body_consts, *carry)]

    carry = run_while(predicate, step, [as_array(x) for x in init])
    outs = [ArrayImpl(x._value, aval) for x, aval in zip(carry, body_jaxpr.out_avals)]
    params: dict[str, Any] = {"cond_nconsts": cond_nconsts, "body_nconsts": body_nconsts}
    params |= {"cond_jaxpr": cond_jaxpr, "body_jaxpr": body_jaxpr}
    return watched(while_p, params, args, outs)


def run_while(
    predicate: Callable[[list[ArrayImpl]], np.ndarray],
    step: Callable[[list[ArrayImpl]], list[ArrayImpl]],
    carry: list[ArrayImpl],
) -> list[ArrayImpl]:
    """The last carry: applies `step` repeatedly while the predicate holds for any example.

    `predicate(carry)` is a NumPy array of bools: a scalar, or under vmap one for each example. An
    example for which it does not hold is done, and keeps its carry while others go on (`_where`)."""
    while (pred := predicate(carry)).any():
        after = step(carry)
        carry = after if pred.all() else [_where(pred, x, y) for x, y in zip(after, carry)]
    return carry


def _where(pred: np.ndarray, x: ArrayImpl, y: ArrayImpl) -> ArrayImpl:
    """`x` for the examples whose predicate holds, `y` for the others."""
    return ArrayImpl(choose(pred, x._value, y._value), x.aval)


def choose(holds: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The same for NumPy arrays."""
    return np.where(holds.reshape(holds.shape + (1,) * (x.ndim - holds.ndim)), x, y)


impl_rules[while_p] = _while_impl
abstract_eval_rules[while_p] = lambda *avals, body_jaxpr, **params: body_jaxpr.out_avals
no_rule_reasons[while_p, "lowering"] = (
    "runtime/loops.py makes it a loop in the schedule, loop_kernels.py one in a kernel"
)


# ---- the front door ----


def while_loop(
    cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any
) -> Any:
    """`body_fun` applied to `init_val` again and again, as long as `cond_fun` of the result holds.

        val = init_val
        while cond_fun(val):
            val = body_fun(val)
        return val

    The carry `val` is a pytree of arrays whose tree, shapes and dtypes stay the same; `cond_fun` gives a
    boolean scalar. Both functions are traced, once, and may close over other arrays. Under
    jax.disable_jit the loop runs as it stands above, so that `print` and pdb see every iteration. There is
    forward mode (jvp, jacfwd), but no reverse mode: `scan` and `fori_loop` with static bounds have it.
    Raises TypeError where a function can't be called, the predicate is no boolean scalar, or the body
    gives another type than it takes."""
    if not (callable(body_fun) and callable(cond_fun)):
        raise TypeError(
            "lax.while_loop: body_fun and cond_fun arguments should be callable, got "
            f"cond_fun={cond_fun!r} and body_fun={body_fun!r}"
        )
    if config.jax_disable_jit:
        try:
            return _python_loop(cond_fun, body_fun, init_val)
        except ConcretizationTypeError:
            pass  # the predicate is not known, as under vmap: bind the primitive

    init, tree = tree_flatten(init_val)
    avals = [get_aval(x) for x in init]
    traced = _trace(cond_fun, body_fun, tree, avals)
    if traced.out_tree == tree:
        init, changed = promote_weak_carry(init, avals, traced.body_jaxpr.out_avals)
        if changed:
            avals = [get_aval(x) for x in init]
            traced = _trace(cond_fun, body_fun, tree, avals)
    out_avals = traced.body_jaxpr.out_avals
    check_carry_type("while_loop body", body_fun, tree, avals, traced.out_tree, out_avals)
    return tree_unflatten(tree, _bind(traced, init))


def _python_loop(cond_fun: Callable, body_fun: Callable, init_val: Any) -> Any:
    val = tree_map(as_array, init_val)
    while cond_fun(val):
        val = tree_map(as_array, body_fun(val))
    return val


class _Traced(NamedTuple):
    """Condition and body as jaxprs, their closed-over values, and the tree that the body returns."""

    cond_jaxpr: ClosedJaxpr
    cond_consts: list[Any]
    body_jaxpr: ClosedJaxpr
    body_consts: list[Any]
    out_tree: PyTreeDef


def _trace(
    cond_fun: Callable, body_fun: Callable, tree: PyTreeDef, avals: Sequence[ShapedArray]
) -> _Traced:
    in_tree = tree_structure(((tree_unflatten(tree, avals),), {}))
    info = DebugInfo(cond_fun, (), in_tree, traced_for="lax.while_loop", roles=("the carry",))
    cond_jaxpr, cond_consts, cond_tree = trace_body(cond_fun, in_tree, avals, info)
    if cond_tree != LEAF:
        raise TypeError(f"cond_fun must return a boolean scalar, but got pytree {cond_tree}.")
    pred = cond_jaxpr.out_avals[0]
    if pred.shape or pred.dtype != np.bool_:
        raise TypeError(
            f"cond_fun must return a boolean scalar, but got output type {pred.str_short()}: "
            "compare, as in x > 0, and reduce by jnp.any or jnp.all"
        )
    body_jaxpr, body_consts, out_tree = trace_body(
        body_fun, in_tree, avals, info._replace(fun=body_fun)
    )
    return _Traced(cond_jaxpr, cond_consts, body_jaxpr, body_consts, out_tree)


def _bind(traced: _Traced, init: Sequence[Any]) -> list[Any]:
    """The last carry. A carry that the body returns unchanged and the condition does not read becomes a
    const of the body, which needs no batching or masking."""
    cond_jaxpr, cond_consts, body_jaxpr, body_consts, _ = traced
    fixed = _fixed(traced)
    if any(fixed):
        cond_jaxpr, body_jaxpr = _without_fixed(traced, fixed)
    body_consts = pick(init, fixed) + body_consts
    params: dict[str, Any] = {"cond_nconsts": len(cond_consts), "cond_jaxpr": cond_jaxpr}
    params |= {"body_nconsts": len(body_consts), "body_jaxpr": body_jaxpr}
    outs = while_p.bind(*cond_consts, *body_consts, *drop(init, fixed), **params)
    return merge_lists(fixed, outs, pick(init, fixed))


def _fixed(traced: _Traced) -> list[bool]:
    """Which parts of the carry never change and are not read by the condition."""
    _, _, used = dce_jaxpr(traced.cond_jaxpr.jaxpr, [True])
    body, start = traced.body_jaxpr.jaxpr, len(traced.body_consts)
    return [
        v is out and not is_used
        for v, out, is_used in zip(
            body.invars[start:], body.outvars, used[len(traced.cond_consts) :]
        )
    ]


def _without_fixed(traced: _Traced, fixed: Sequence[bool]) -> tuple[ClosedJaxpr, ClosedJaxpr]:
    """The two jaxprs without these parts of the carry. The body takes them as its first arguments."""
    cond = dce_jaxpr(traced.cond_jaxpr.jaxpr, [True])[0]
    body = traced.body_jaxpr.jaxpr
    cond_consts, cond_carry = split_list(cond.invars, len(traced.cond_consts))
    body_consts, body_carry = split_list(body.invars, len(traced.body_consts))
    cond = cond.replace(invars=cond_consts + drop(cond_carry, fixed))
    body = body.replace(
        invars=pick(body_carry, fixed) + body_consts + drop(body_carry, fixed),
        outvars=drop(body.outvars, fixed),
    )
    return ClosedJaxpr(cond), ClosedJaxpr(body)
