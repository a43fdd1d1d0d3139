"""Custom batching rules: `custom_vmap`.

A call is a primitive with a jaxpr, so that all other transformations look inside, and with the rule, which
vmap calls in place of it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from tinyjax.core.api_util import FlatFun, fun_name, wraps
from tinyjax.core.avals import get_aval
from tinyjax.core.bind import (
    Primitive,
    abstract_eval_rules,
    context,
    impl_rules,
    no_rule_reasons,
    set_current_trace,
)
from tinyjax.core.inlining import eager_jaxpr_fun
from tinyjax.core.jaxpr import ClosedJaxpr
from tinyjax.core.tree_util.pytrees import PyTreeDef, tree_flatten, tree_structure, tree_unflatten
from tinyjax.transform.batching import AxisData, axis_batch_rules, bdim_at_front
from tinyjax.transform.custom.calls import positional, trace_call, with_user_source_info
from tinyjax.transform.jvp import JVPTrace, JVPTracer, Zero, instantiate_zeros, jvp_rules
from tinyjax.transform.jvp_of_jaxpr import jvp_jaxpr, primals_and_tangents

# ---- the primitive ----

# Parameters: call, a jaxpr; rule, (axis_size, whether each operand is batched, operands) -> (results,
# whether each is batched), all flat and with the batch in front; in_tree and out_tree, to be printed.
custom_vmap_p = Primitive("custom_vmap_call", multiple_results=True, impl_binds_primitives=True)


def _custom_vmap_batch(
    axis: AxisData, vals: Any, dims: Any, *, rule: Callable, **params: Any
) -> Any:
    batched = [dim is not None for dim in dims]
    if not any(batched):
        outs = custom_vmap_p.bind(*vals, rule=rule, **params)
        return outs, [None] * len(outs)
    vals = [x if d is None else bdim_at_front(x, d, axis.size) for x, d in zip(vals, dims)]
    outs, out_batched = rule(axis.size, batched, vals)
    return outs, [0 if is_batched else None for is_batched in out_batched]


def _custom_vmap_jvp(
    primals: Any, tangents: Any, *, call: ClosedJaxpr, rule: Callable, **trees: PyTreeDef
) -> Any:
    """The jvp of the jaxpr, with a rule that is the jvp of the rule."""
    nonzeros = tuple(type(t) is not Zero for t in tangents)
    new_call, nonzero_outs = jvp_jaxpr(call, nonzeros)
    new_rule = functools.partial(_jvp_of_rule, rule, nonzeros, nonzero_outs)
    given = [t for t in tangents if type(t) is not Zero]
    flat = custom_vmap_p.bind(*primals, *given, call=new_call, rule=new_rule, **trees)
    return primals_and_tangents(flat, nonzero_outs)


def _jvp_of_rule(
    rule: Callable,
    nonzeros: Sequence[bool],
    nonzero_outs: Sequence[bool],
    axis_size: int,
    batched: Sequence[bool],
    vals: Sequence[Any],
) -> tuple[list[Any], list[bool]]:
    """A primal and its tangent are batched together: if one is, the other is too."""
    trace = JVPTrace(context.trace)
    tangents = iter(zip(vals[len(nonzeros) :], batched[len(nonzeros) :]))
    args, flags = [], []
    for primal, is_batched, nonzero in zip(vals, batched, nonzeros):
        if nonzero:
            tangent, t_batched = next(tangents)
            if is_batched != t_batched:
                primal = primal if is_batched else bdim_at_front(primal, None, axis_size)
                tangent = tangent if t_batched else bdim_at_front(tangent, None, axis_size)
            is_batched = is_batched or t_batched
            primal = JVPTracer(trace, primal, tangent)
        args.append(primal)
        flags.append(is_batched)
    with set_current_trace(trace):
        outs, out_batched = rule(axis_size, flags, args)
    pairs = [trace.primal_and_tangent(x) for x in outs]
    moving = [(t, b) for (_, t), b, nz in zip(pairs, out_batched, nonzero_outs) if nz]
    flat = [x for x, _ in pairs] + [instantiate_zeros(t) for t, _ in moving]
    return flat, [*out_batched, *(b for _, b in moving)]


impl_rules[custom_vmap_p] = lambda *args, call, **params: eager_jaxpr_fun(call)(*args)
abstract_eval_rules[custom_vmap_p] = lambda *avals, call, **params: call.out_avals
axis_batch_rules[custom_vmap_p] = _custom_vmap_batch
jvp_rules[custom_vmap_p] = _custom_vmap_jvp
no_rule_reasons[custom_vmap_p, "lowering"] = "compile/passes/inline.py replaces it by its equations"
no_rule_reasons[custom_vmap_p, "transpose"] = (
    "custom_vmap has no reverse mode: put a custom_vjp function around it"
)


# ---- the front doors ----


class custom_vmap:  # noqa: N801  (used as a decorator)
    """A function that vmap batches by the rule given to `def_vmap`.

    It takes and gives pytrees of arrays. Forward mode differentiates the rule; for reverse mode, put a
    custom_vjp function around it. Calls raise AttributeError as long as there is no rule, vmap raises
    ValueError where the rule's results do not fit."""

    def __init__(self, fun: Callable):
        wraps(fun)(self)
        self.fun = fun
        self.vmap_rule: Callable | None = None

    def def_vmap(self, vmap_rule: Callable) -> Callable:
        """Sets the rule `(axis_size, in_batched, *args) -> (out, out_batched)`, and gives it back.

        in_batched is a list of trees of bools, one tree for each argument. Batched arrays have the batch
        as axis 0."""
        self.vmap_rule = vmap_rule
        return vmap_rule

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = fun_name(self.fun)
        if self.vmap_rule is None:
            raise AttributeError(
                f"No batching rule defined for custom_vmap function {name} using def_vmap"
            )
        args = positional("custom_vmap", self.fun, args, kwargs)
        leaves, in_tree = tree_flatten((args, {}))
        flat_fun = FlatFun(self.fun, in_tree)
        call, consts = trace_call(flat_fun, [get_aval(x) for x in leaves])
        in_tree, out_tree = tree_structure((consts, args)), flat_fun.out_tree
        rule = FlatRule(self.vmap_rule, name, in_tree, out_tree)
        outs = custom_vmap_p.bind(
            *consts, *leaves, call=call, rule=rule, in_tree=in_tree, out_tree=out_tree
        )
        return tree_unflatten(flat_fun.out_tree, outs)


class FlatRule:
    """A user's rule as a function of flat lists; `in_tree` is the tree of (closed-over values, args)."""

    def __init__(self, rule: Callable, name: str, in_tree: PyTreeDef, out_tree: PyTreeDef):
        self.rule = rule
        self.name = name
        self.in_tree = in_tree
        self.out_tree = out_tree

    def __call__(
        self, axis_size: int, batched: Sequence[bool], vals: Sequence[Any]
    ) -> tuple[list[Any], list[bool]]:
        _, args = tree_unflatten(self.in_tree, vals)
        consts_batched, in_batched = tree_unflatten(self.in_tree, batched)
        if any(consts_batched):
            raise AssertionError(f"{self.name} closes over a batched value: make it an argument")
        rule = with_user_source_info(self.rule)
        out, out_batched = rule(axis_size, list(in_batched), *args)
        (outs, tree), (flags, flags_tree) = tree_flatten(out), tree_flatten(out_batched)
        who = f"custom vmap rule ({fun_name(self.rule)})"
        if tree != flags_tree:
            raise ValueError(
                f"structure of output value and output batching specification returned by {who} do not "
                f"match: {tree} and {flags_tree}"
            )
        if tree != self.out_tree:
            raise ValueError(
                f"structure of output returned by {who} does not match that of {self.name}: expected "
                f"{self.out_tree}, got {tree}"
            )
        return outs, flags

    def __str__(self) -> str:
        return str(self.rule)
