"""Functions within a program: a Python function as a jaxpr, with what it closes over as arguments.

A function that is given to `cond`, `scan` or `checkpoint` is traced once, to a jaxpr without constants. An
outer array that it uses becomes an operand of the primitive, so that transformations see all that goes in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from tinyjax.core.api_util import FlatFun
from tinyjax.core.array import ShapedArray
from tinyjax.core.bind import Tracer, context
from tinyjax.core.config import config
from tinyjax.core.debug_info import DebugInfo
from tinyjax.core.jaxpr import ClosedJaxpr, constvars_as_invars
from tinyjax.core.trace_memory import memory_of, memory_of_traces
from tinyjax.core.tracing import trace_to_jaxpr
from tinyjax.core.tree_util.pytrees import PyTreeDef

Traced = tuple[ClosedJaxpr, list[Any], PyTreeDef]  # a body, what it closes over, its result's tree
_traced: WeakKeyDictionary[Callable, dict[tuple, Traced]] = memory_of_traces()


def trace_body(
    fun: Callable,
    in_tree: PyTreeDef,
    in_avals: Sequence[ShapedArray],
    debug_info: DebugInfo | None = None,
) -> Traced:
    """The jaxpr of `fun(*args, **kwargs)`, the values it closes over, and its result's tree.

    `in_tree` is the tree of (args, kwargs). The jaxpr's first arguments stand for the closed-over
    values; it has no constvars. As in JAX, a function that comes again, with arguments of the same
    types, is not traced again: globals are read once. (One that closes over an outer trace's values
    is: those are of use but once.)"""
    known, key = memory_of(_traced, fun), (in_tree, tuple(in_avals), context.axis_env, config.key)
    if key in known:
        return known[key]
    flat_fun = FlatFun(fun, in_tree, debug_info)
    closed = trace_to_jaxpr(flat_fun, in_avals)
    traced = constvars_as_invars(closed), closed.consts, flat_fun.out_tree
    if not any(isinstance(x, Tracer) for x in closed.consts):
        known[key] = traced
    return traced
