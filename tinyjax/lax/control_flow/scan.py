"""A loop over the leading axis of arrays, in one equation, that can be run backwards: `scan`.

A loop of any length is one equation. Its operands are the constants, the carry that goes from one
iteration to the next, and the arrays of which each iteration takes a slice. `fori_loop` and `map` are
built on it; scan_reverse explains why it can be run backwards.

    carry, ys = scan(f, init, xs)    # carry, y = f(carry, x) for each x; all y stacked
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinyjax.core.array import ArrayImpl, ShapedArray
from tinyjax.core.avals import get_aval, to_numpy
from tinyjax.core.bind import (
    HigherOrderPrimitive,
    Tracer,
    abstract_eval_rules,
    impl_rules,
    no_rule_reasons,
    watched,
)
from tinyjax.core.bodies import trace_body
from tinyjax.core.config import config
from tinyjax.core.debug_info import DebugInfo
from tinyjax.core.errors import ConcretizationTypeError
from tinyjax.core.inlining import eager_jaxpr_fun
from tinyjax.core.jaxpr import ClosedJaxpr, JaxprTypeError, cached_on_jaxpr
from tinyjax.core.lists import drop, merge_lists, pick, split_list
from tinyjax.core.shortcuts import with_shortcut
from tinyjax.core.tree_util.pytrees import tree_flatten, tree_leaves, tree_map, tree_unflatten
from tinyjax.lax.control_flow.bodies import check_carry_type, promote_weak_carry, same_type
from tinyjax.transform.jvp import full

# ---- the primitive ----

# Parameters: jaxpr, the body, of (consts, carry, x), which gives (carry, y); length, the number of
# iterations; num_consts and num_carry, which say where the parts of the operands begin; reverse: from the
# last x to the first; unroll: a hint to the compiler, how many iterations to write out.
# Operands are consts, the first carry and xs; results are the last carry and ys.
scan_p = HigherOrderPrimitive("scan", multiple_results=True, impl_binds_primitives=True)


@with_shortcut
def run_eagerly(
    *args: Any, jaxpr: ClosedJaxpr, length: int, num_carry: int, num_consts: int, reverse: bool,
    **_: Any,
) -> list[ArrayImpl]:  # fmt: skip
    """The loop, in Python."""
    consts, init, xs = split_list(args, num_consts, num_carry)
    x_avals = jaxpr.in_avals[num_consts + num_carry :]
    carry_avals, y_avals = split_list(jaxpr.out_avals, num_carry)
    body = eager_jaxpr_fun(jaxpr)

    def step(carry: list[Any], slices: list[np.ndarray]) -> tuple[list[Any], list[np.ndarray]]:
        x = [ArrayImpl(np.asarray(x), aval) for x, aval in zip(slices, x_avals)]
        carry, y = split_list(body(*consts, *carry, *x), num_carry)
        return carry, [to_numpy(value, aval) for value, aval in zip(y, y_avals)]

    xs = [to_numpy(x, get_aval(x)) for x in xs]
    ys = [np.empty((length, *aval.shape), aval.dtype) for aval in y_avals]
    carry = run_scan(step, init, xs, ys, length, reverse)
    carry = [ArrayImpl(to_numpy(x, aval), aval) for x, aval in zip(carry, carry_avals)]
    stacks = [ArrayImpl(y, stacked_aval(aval, length)) for y, aval in zip(ys, y_avals)]
    params = {"jaxpr": jaxpr, "length": length, "num_carry": num_carry, "num_consts": num_consts}
    return watched(scan_p, params, args, [*carry, *stacks])


def run_scan(
    step: Callable[[list[Any], list[np.ndarray]], tuple[list[Any], list[np.ndarray]]],
    carry: list[Any],
    xs: list[np.ndarray],
    ys: list[np.ndarray],
    length: int,
    reverse: bool,
) -> list[Any]:
    """Fills `ys`, and gives the last carry: `length` iterations of `carry, y = step(carry, x)`.

    x has the slice i of each of `xs`, and y, a list too, is what becomes the slice i of each of `ys`:
    for i from 0 on, or with `reverse` from the last one back to 0."""
    for i in reversed(range(length)) if reverse else range(length):
        carry, y = step(carry, [x[i] for x in xs])
        for stacked, value in zip(ys, y):
            stacked[i] = value
    return carry


def stacked_aval(aval: ShapedArray, length: int) -> ShapedArray:
    return aval.with_axis(0, length)


def _scan_aval(
    *avals: ShapedArray, jaxpr: ClosedJaxpr, length: int, num_carry: int, num_consts: int, **_: Any
) -> list[ShapedArray]:
    consts_and_carry, x_avals = split_list(jaxpr.in_avals, num_consts + num_carry)
    expected = [*consts_and_carry, *[stacked_aval(aval, length) for aval in x_avals]]
    carry_avals, y_avals = split_list(jaxpr.out_avals, num_carry)
    for what, given, wanted in (
        ("operands", avals, expected),
        ("carry results", carry_avals, consts_and_carry[num_consts:]),
    ):
        if len(given) != len(wanted) or not all(map(same_type, given, wanted)):
            raise JaxprTypeError(
                f"scan's {what} have types {list(map(str, given))}, but its body takes "
                f"{list(map(str, wanted))}"
            )
    return [*carry_avals, *[stacked_aval(aval, length) for aval in y_avals]]


impl_rules[scan_p] = run_eagerly
abstract_eval_rules[scan_p] = _scan_aval
no_rule_reasons[scan_p, "lowering"] = (
    "runtime/loops.py makes it a loop in the schedule, loop_kernels.py one in a kernel"
)


# ---- the front door ----


def scan(
    f: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any = None, length: int | None = None,
    reverse: bool = False, unroll: int | bool = 1, _split_transpose: bool = False,
    _debug_info: DebugInfo | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    """`carry, y = f(carry, x)` for each `x` along axis 0 of `xs`: (the last carry, all y stacked).

    `init`, the first carry, `xs` and `y` are pytrees; all arrays of `xs` have one length of axis 0,
    which is the number of iterations (without xs, `length` is). The carry keeps its tree, shapes and
    dtypes. `reverse` goes from the last x to the first. `unroll` is how many iterations the compiler may
    write out in a row (0 or True: all of them). `f` is traced once, whatever the length: under
    jax_disable_jit it runs as Python at each iteration instead, and can be stepped through.
    Raises TypeError where f gives no pair or another type of carry, ValueError for lengths that differ."""
    if not callable(f):
        raise TypeError(f"lax.scan: f argument should be a callable, got {f!r}")
    init_leaves, init_tree = tree_flatten(init)
    xs_leaves = tree_leaves(xs)
    init_avals = [get_aval(x) for x in init_leaves]
    xs_avals = [get_aval(x) for x in xs_leaves]
    length = _scan_length(xs_avals, length)
    unroll = _unroll_count(unroll, length)
    if config.jax_disable_jit:
        return _python_scan(f, init, xs, length, reverse)

    in_tree = tree_flatten(((init, xs), {}))[1]
    x_avals = [aval.without_axis(0) for aval in xs_avals]
    roles = ("the carry", "one slice of xs")
    info = _debug_info or DebugInfo(f, (), in_tree, traced_for="lax.scan", roles=roles)
    jaxpr, consts, out_tree = trace_body(f, in_tree, init_avals + x_avals, info)
    if out_tree.node_type not in (tuple, list) or len(out_tree.child_defs) != 2:
        out = tree_unflatten(out_tree, jaxpr.out_avals)
        raise TypeError(f"scan body output must be a pair (carry, y), got {out}")
    num_carry = out_tree.child_defs[0].num_leaves
    init_leaves, changed = promote_weak_carry(init_leaves, init_avals, jaxpr.out_avals[:num_carry])
    if changed:
        init_avals = [get_aval(x) for x in init_leaves]
        jaxpr, consts, out_tree = trace_body(f, in_tree, init_avals + x_avals, info)
    carry_tree = out_tree.child_defs[0]
    check_carry_type("scan body", f, init_tree, init_avals, carry_tree, jaxpr.out_avals[:num_carry])
    outs = _bind_what_changes(
        jaxpr, consts, init_leaves, xs_leaves, length=length, reverse=reverse, unroll=unroll
    )
    return tree_unflatten(out_tree, outs)


def _scan_length(xs_avals: Sequence[ShapedArray], length: Any) -> int:
    """The number of iterations: the length of all xs, and `length` if it is given."""
    scalars = [aval.str_short() for aval in xs_avals if not aval.shape]
    if scalars:
        raise ValueError(
            f"scan got value with no leading axis to scan over: {', '.join(scalars)} in xs. Let the "
            "body close over what is the same at each iteration"
        )
    for aval in xs_avals:
        if aval.extra is not None:
            aval.extra.check_scanned(xs_avals)
    lengths = [aval.shape[0] for aval in xs_avals]
    if isinstance(length, Tracer):
        raise ConcretizationTypeError(
            length,
            "the `length` argument to `scan`",
            "fori_loop and while_loop run as often as a value says.",
        )
    if length is not None and any(n != int(length) for n in lengths):
        raise ValueError(
            f"scan got `length` argument of {length} which disagrees with leading axis sizes {lengths} "
            "of xs"
        )
    if length is not None:
        return int(length)
    if not lengths:
        raise ValueError("scan got no values to scan over and `length` not provided: give one")
    if len(set(lengths)) > 1:
        raise ValueError(
            f"scan got values with different leading axis sizes: {', '.join(map(str, lengths))}"
        )
    return lengths[0]


def _unroll_count(unroll: int | bool, length: int) -> int:
    if isinstance(unroll, bool):
        return max(length, 1) if unroll else 1
    if operator.index(unroll) < 0:
        raise ValueError(f"`unroll` must be a `bool` or a non-negative `int`, got {unroll}")
    return operator.index(unroll)


def _python_scan(f: Callable, carry: Any, xs: Any, length: int, reverse: bool) -> tuple[Any, Any]:
    """scan under jax_disable_jit: a Python loop over `f` itself."""
    if length == 0:
        raise ValueError(
            "zero-length scan is not supported in disable_jit() mode because the output type is unknown"
        )
    ys = []
    for i in reversed(range(length)) if reverse else range(length):
        carry, y = f(carry, tree_map(operator.itemgetter(i), xs))
        ys.append(y)
    if reverse:
        ys.reverse()
    return carry, tree_map(lambda *parts: _stack(parts), *ys)


def _stack(xs: Sequence[Any]) -> Any:
    aval = get_aval(xs[0]).update(weak_type=all(get_aval(x).weak_type for x in xs))
    out = full(stacked_aval(aval, len(xs)), 0)
    for i, x in enumerate(xs):
        out = out.at[i].set(x)
    return out


def _bind_what_changes(
    jaxpr: ClosedJaxpr, consts: list[Any], init: list[Any], xs: list[Any], **params: Any
) -> list[Any]:
    """The results of the loop. A carry that the body returns unchanged becomes a constant of the loop,
    and a y that equals x is not stored."""
    body, changes, y_sources = _what_changes(jaxpr, len(consts), len(init))
    fixed, changing = drop(init, changes), pick(init, changes)
    counts = {"num_consts": len(fixed) + len(consts), "num_carry": len(changing)}
    outs = scan_p.bind(*fixed, *consts, *changing, *xs, jaxpr=body, **counts, **params)
    carry, kept = split_list(outs, len(changing))
    made = iter(kept)
    ys = [next(made) if source is None else xs[source] for source in y_sources]
    return merge_lists(changes, fixed, carry) + ys


@cached_on_jaxpr
def _what_changes(
    jaxpr: ClosedJaxpr, num_consts: int, num_carry: int
) -> tuple[ClosedJaxpr, list[bool], list[int | None]]:
    """The body with unchanged carries as its first constants; which carries change; and for each y, the x
    that it equals (None: the body computes it)."""
    invars, outvars = jaxpr.jaxpr.invars, jaxpr.jaxpr.outvars
    const_vars, carry_vars, x_vars = split_list(invars, num_consts, num_carry)
    carry_out, y_out = split_list(outvars, num_carry)
    changes = [a is not b for a, b in zip(carry_vars, carry_out)]
    y_sources = [x_vars.index(v) if v in x_vars else None for v in y_out]
    body = jaxpr.jaxpr.replace(
        invars=[*drop(carry_vars, changes), *const_vars, *pick(carry_vars, changes), *x_vars],
        outvars=pick(carry_out, changes) + [v for v in y_out if v not in x_vars],
    )
    return ClosedJaxpr(body, jaxpr.consts), changes, y_sources
