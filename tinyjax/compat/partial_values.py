"""Partial evaluation under JAX's names: some arguments have known values, others only types.

Source: the names of jax.interpreters.partial_eval and jax.api_util in JAX 0.12
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tinyjax.core.avals import get_aval
from tinyjax.core.bind import context, set_current_trace
from tinyjax.core.jaxpr import Jaxpr
from tinyjax.core.tracing import JaxprTrace
from tinyjax.core.tree_util.pytrees import PyTreeDef, tree_flatten, tree_unflatten
from tinyjax.extend.linear_util import WrappedFun, transformation_with_aux
from tinyjax.transform.linearize import LinearizeTrace


class PartialVal(tuple):
    """(None, value) for a known value, (aval, None) for an unknown one."""

    @classmethod
    def known(cls, value: Any) -> PartialVal:
        return cls((None, value))

    @classmethod
    def unknown(cls, aval: Any) -> PartialVal:
        return cls((aval, None))

    def is_known(self) -> bool:
        return self[0] is None

    def get_aval(self) -> Any:
        return get_aval(self[1]) if self.is_known() else self[0]


def trace_to_jaxpr_nounits(
    fun: WrappedFun, pvals: Sequence[PartialVal], instantiate: bool = False
) -> tuple[Jaxpr, list[PartialVal], list[Any]]:
    """Compute the results that depend only on known arguments, and trace the rest. Returns the jaxpr of the
    unknown results, all results as PartialVals, and the jaxpr's constants. With `instantiate`, all results
    are unknown."""
    later = JaxprTrace()
    trace = LinearizeTrace(context.trace, later)
    args = [p[1] if p.is_known() else later.new_arg(p.get_aval()) for p in pvals]
    with set_current_trace(trace):
        outs = fun.call_wrapped(*args)
    unknown = [instantiate or trace.is_unknown(x) for x in outs]
    closed = later.finish([x for x, flag in zip(outs, unknown) if flag])
    out_pvals = [
        PartialVal.unknown(get_aval(x)) if flag else PartialVal.known(x)
        for x, flag in zip(outs, unknown)
    ]
    return closed.jaxpr, out_pvals, closed.consts


@transformation_with_aux
def flatten_fun(in_tree: PyTreeDef, *flat: Any) -> Any:
    """A function from the leaves of (args, kwargs) to the leaves of the result; and a function that returns
    the result's tree after the call."""
    args, kwargs = tree_unflatten(in_tree, flat)
    out = yield args, kwargs
    yield tree_flatten(out)


@transformation_with_aux
def flatten_fun_nokwargs(in_tree: PyTreeDef, *flat: Any) -> Any:
    """flatten_fun for functions without keyword arguments."""
    out = yield tree_unflatten(in_tree, flat), {}
    yield tree_flatten(out)


def debug_info(traced_for: str, fun: Callable, *args: Any, **kwargs: Any) -> str:
    """The debug info of a wrapped function. tinyjax does not read it."""
    return f"{traced_for} of {fun!r}"
