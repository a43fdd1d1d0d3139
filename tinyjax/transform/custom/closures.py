"""Rules that are closures, and functions that close over differentiated values.

A rule can't be kept as a Python function from the forward to the backward pass: it closes over tracers,
which are valid only while their transformation runs. So it is traced, and the closed-over values become
residuals (custom_gradient) or arguments (closure_convert).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from tinyjax.core import dtypes
from tinyjax.core.api_util import FlatFun, fun_name
from tinyjax.core.avals import get_aval
from tinyjax.core.bind import Tracer, context
from tinyjax.core.config import config
from tinyjax.core.inlining import eager_jaxpr_fun
from tinyjax.core.jaxpr import ClosedJaxpr, Jaxpr
from tinyjax.core.trace_memory import memory_of, memory_of_traces
from tinyjax.core.tracing import trace_to_jaxpr
from tinyjax.core.tree_util.pytrees import PyTreeDef, tree_flatten, tree_unflatten
from tinyjax.core.tree_util.registration import register_pytree_node_class
from tinyjax.transform.batching import BatchTracer
from tinyjax.transform.custom.calls import with_user_source_info
from tinyjax.transform.custom.reverse_rules import custom_vjp
from tinyjax.transform.jvp import JVPTracer

# ---- custom_gradient ----


@register_pytree_node_class
class TracedRule:
    """A function as a jaxpr; as a pytree, it consists of the values that it closes over."""

    def __init__(self, closed: ClosedJaxpr, out_tree: PyTreeDef):
        self.closed = closed
        self.out_tree = out_tree

    def __call__(self, *args: Any) -> Any:
        leaves = tree_flatten(args)[0]
        return tree_unflatten(self.out_tree, eager_jaxpr_fun(self.closed)(*leaves))

    def tree_flatten(self) -> tuple[list[Any], tuple[Any, ...]]:
        return self.closed.consts, (self.closed.jaxpr, self.out_tree)

    @classmethod
    def tree_unflatten(cls, aux: Any, consts: Any) -> TracedRule:
        rule = object.__new__(cls)
        jaxpr, rule.out_tree = aux
        rule.closed = ClosedJaxpr(jaxpr, consts)
        return rule


def custom_gradient(fun: Callable) -> custom_vjp:
    """A function whose result and rule `fun` gives together: `fun(*args) -> (out, rule)`.

    The rule maps a cotangent of `out` to a tuple of the arguments' cotangents (or to the cotangent of the
    only argument). It may use what `fun` has computed, but is traced: Python's `if` cannot look at that.
    Raises TypeError if `fun` gives no pair."""

    def out_and_rule(*args: Any, **kwargs: Any) -> Any:
        pair = with_user_source_info(fun)(*args, **kwargs)
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(
                f"custom_gradient's function {fun_name(fun)} must return a pair, its result and the rule "
                f"for its cotangent, but got {pair!r}"
            )
        return pair

    def primal_fun(*args: Any, **kwargs: Any) -> Any:
        return out_and_rule(*args, **kwargs)[0]

    def fwd(*args: Any, **kwargs: Any) -> Any:
        out, rule = out_and_rule(*args, **kwargs)
        leaves, in_tree = tree_flatten(((out,), {}))
        flat_rule = FlatFun(with_user_source_info(rule), in_tree)
        closed = trace_to_jaxpr(flat_rule, [get_aval(x).to_tangent_aval() for x in leaves])
        return out, TracedRule(closed, flat_rule.out_tree)

    def bwd(rule: TracedRule, ct: Any) -> Any:
        cts = rule(ct)
        return (cts,) if rule.out_tree.node_type is None else cts

    primal_fun.__name__ = primal_fun.__qualname__ = fun_name(fun)  # which messages have
    function = custom_vjp(primal_fun)
    function.defvjp(fwd, bwd)
    return function


# ---- closure_convert ----


def closure_convert(fun: Callable, *example_args: Any) -> tuple[Callable, list[Any]]:
    """`fun` as a function that closes over nothing that may be differentiated, and those values.

    The new function takes the arguments of `fun` (of the example's tree, shapes and dtypes), and then
    the values. So a function can be the nondiff argument of a custom_vjp function, which then has a
    cotangent for each of these values. As with jit, `fun` runs once for each kind of arguments; other
    closed-over values are read at that time.
    Calls raise TypeError if the arguments have another tree."""
    leaves, in_tree = tree_flatten((example_args, {}))
    key = (in_tree, tuple([get_aval(x) for x in leaves]), context.axis_env, config.key)
    conversions = memory_of(_conversions, fun)
    if key in conversions:
        return conversions[key], []
    flat_fun = FlatFun(fun, in_tree)
    closed = trace_to_jaxpr(flat_fun, key[1])
    is_hoisted = [_may_be_differentiated(x) for x in closed.consts]
    hoisted = [x for x, h in zip(closed.consts, is_hoisted) if h]
    kept = [None if h else x for x, h in zip(closed.consts, is_hoisted)]
    converted_fun = _converted(closed.jaxpr, is_hoisted, kept, in_tree, flat_fun.out_tree)
    if not any(isinstance(x, Tracer) for x in closed.consts):
        conversions[key] = converted_fun
    return converted_fun, hoisted


def _converted(
    jaxpr: Jaxpr, is_hoisted: list[bool], kept: list[Any], in_tree: PyTreeDef, out_tree: PyTreeDef
) -> Callable:
    """The jaxpr as a function of trees and of its hoisted constants."""

    def converted_fun(*args: Any) -> Any:
        num_args = len(args) - sum(is_hoisted)
        flat, tree = tree_flatten((args[:num_args], {}))
        if tree != in_tree:
            raise TypeError(
                "The inputs to the closure produced by closure_convert must have the same Pytree structure "
                f"as the example arguments. Expected {in_tree.child_defs[0]}, but got {tree.child_defs[0]}"
            )
        given = iter(args[num_args:])
        consts = [next(given) if h else x for h, x in zip(is_hoisted, kept)]
        return tree_unflatten(out_tree, eager_jaxpr_fun(ClosedJaxpr(jaxpr, consts))(*flat))

    return converted_fun


# function -> its conversions. Converting a function again returns the same object, so that a jit that has it
# as a static argument doesn't retrace.
_conversions: WeakKeyDictionary[Callable, dict[tuple, Callable]] = memory_of_traces()


def _may_be_differentiated(x: Any) -> bool:
    """Whether a value has a tangent, or may be given one later; others can stay in the closure."""
    if isinstance(x, BatchTracer):
        return _may_be_differentiated(x.val)
    if isinstance(x, JVPTracer):
        return True
    return isinstance(x, Tracer) and x.aval.to_tangent_aval().dtype != dtypes.float0
