"""Functions on jaxprs that custom interpreters import from jax.extend.core and jax.interpreters.

Source: the names of these modules in JAX 0.12
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tinyjax.core import jaxpr as core_jaxpr
from tinyjax.core.array import ShapedArray
from tinyjax.core.bind import Primitive, Tracer
from tinyjax.core.errors import ConcretizationTypeError
from tinyjax.core.jaxpr import Jaxpr, JaxprEqn, Var
from tinyjax.core.lists import pick
from tinyjax.core.tracing import trace_to_jaxpr
from tinyjax.extend.linear_util import WrappedFun


def new_jaxpr_eqn(
    invars: Sequence[Any],
    outvars: Sequence[Var],
    primitive: Primitive,
    params: dict[str, Any],
    effects: Any,
    source_info: Any = None,
    ctx: Any = None,
) -> JaxprEqn:
    """An equation. `effects` and `ctx` are ignored: the primitive declares its effects."""
    return JaxprEqn(primitive, invars, outvars, params, source_info)


def concrete_or_error(force: Callable[[Any], Any] | None, val: Any, context: str = "") -> Any:
    """force(val), such as int(val), or `val` itself. Raises ConcretizationTypeError, with the text
    `context`, for a tracer whose value is not known."""
    if isinstance(val, Tracer):
        tracer, val = val, val.concrete()
        if val is None:
            raise ConcretizationTypeError(tracer, context or "its value was asked for")
    return val if force is None else force(val)


def gensym() -> Callable[[ShapedArray], Var]:
    """A function that makes a new variable of a type."""
    return Var


def subjaxprs(jaxpr: Jaxpr) -> Iterator[Jaxpr]:
    """The jaxprs among the parameters of a jaxpr's equations."""
    for eqn in jaxpr.eqns:
        yield from core_jaxpr.subjaxprs(eqn.params)


def dce_jaxpr(
    jaxpr: Jaxpr, used_outputs: Sequence[bool], instantiate: bool | Sequence[bool] = False
) -> tuple[Jaxpr, list[bool]]:
    """The jaxpr of the used results without unneeded equations, and flags for the inputs that it takes.
    Inputs flagged by `instantiate` are kept. Raises ValueError for a wrong number of flags."""
    kept = [instantiate] * len(jaxpr.invars) if isinstance(instantiate, bool) else instantiate
    if len(used_outputs) != len(jaxpr.outvars) or len(kept) != len(jaxpr.invars):
        raise ValueError(
            f"dce_jaxpr of a jaxpr of {len(jaxpr.invars)} inputs and {len(jaxpr.outvars)} results got "
            f"used_outputs={used_outputs} and {instantiate=}: a bool for each is needed"
        )
    smaller, _, used = core_jaxpr.dce_jaxpr(jaxpr, used_outputs)
    used = [a or b for a, b in zip(used, kept, strict=True)]
    return smaller.replace(constvars=jaxpr.constvars, invars=pick(smaller.invars, used)), used


def trace_to_jaxpr_dynamic(
    fun: WrappedFun, in_avals: Sequence[ShapedArray]
) -> tuple[Jaxpr, list[ShapedArray], list[Any]]:
    """The jaxpr of a function that returns a list, the types of its results, and its constants."""
    closed = trace_to_jaxpr(fun.call_wrapped, in_avals)
    return closed.jaxpr, closed.out_avals, closed.consts
