"""Branches and loop bodies: Python functions as jaxprs, with what they close over as arguments.

After this file you can say what `cond` and `scan` do with the functions that they are given: each is
traced once, to a jaxpr without constants. An outer array that a body uses becomes an operand of the
primitive, so that transformations see all that goes in. Builds on tracing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tinyjax.api_util import FlatFun
from tinyjax.array import ShapedArray
from tinyjax.core import get_aval
from tinyjax.interpreters.tracing import trace_to_jaxpr
from tinyjax.jaxpr import ClosedJaxpr, Var
from tinyjax.tree_util.pytrees import PyTreeDef


def trace_body(
    fun: Callable, in_tree: PyTreeDef, in_avals: Sequence[ShapedArray]
) -> tuple[ClosedJaxpr, list[Any], PyTreeDef]:
    """The jaxpr of `fun(*args, **kwargs)`, the values it closes over, and its result's tree.

    `in_tree` is the tree of (args, kwargs). The jaxpr's first arguments stand for the closed-over
    values; it has no constvars."""
    flat_fun = FlatFun(fun, in_tree)
    closed = trace_to_jaxpr(flat_fun, in_avals)
    jaxpr = closed.jaxpr
    body = jaxpr.replace(constvars=[], invars=jaxpr.constvars + jaxpr.invars)
    return ClosedJaxpr(body), closed.consts, flat_fun.out_tree


def with_common_consts(
    jaxprs: Sequence[ClosedJaxpr], consts: Sequence[Sequence[Any]]
) -> tuple[list[ClosedJaxpr], list[Any]]:
    """Gives all bodies the same leading arguments: what any of them closes over, each value once."""
    values = {id(x): x for xs in consts for x in xs}
    common = []
    for closed, own in zip(jaxprs, consts):
        jaxpr = closed.jaxpr
        at = {id(x): v for x, v in zip(own, jaxpr.invars)}
        leading = [at[key] if key in at else Var(get_aval(x)) for key, x in values.items()]
        common.append(ClosedJaxpr(jaxpr.replace(invars=leading + jaxpr.invars[len(own) :])))
    return common, list(values.values())
