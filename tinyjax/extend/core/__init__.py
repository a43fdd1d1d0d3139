"""What jaxprs are made of, under the names of jax.extend.core.

To write an interpreter, trace by jax.make_jaxpr, walk the equations, and define for each primitive what it
means:

    closed = jax.make_jaxpr(f)(x)
    for eqn in closed.jaxpr.eqns:
        eqn.primitive, eqn.invars, eqn.outvars, eqn.params

Source: https://docs.jax.dev/en/latest/jax.extend.core.html
"""

import contextlib
from collections.abc import Iterator
from typing import Any

from tinyjax.core.array import ShapedArray
from tinyjax.core.avals import get_aval
from tinyjax.core.bind import EvalTrace, Trace, context
from tinyjax.core.bind import Primitive as Primitive
from tinyjax.core.bind import set_current_trace as set_current_trace
from tinyjax.core.dtypes import tangent_dtype as primal_dtype_to_tangent_dtype  # noqa: F401
from tinyjax.core.jaxpr import ClosedJaxpr as ClosedJaxpr
from tinyjax.core.jaxpr import DropVar as DropVar
from tinyjax.core.jaxpr import Jaxpr as Jaxpr
from tinyjax.core.jaxpr import JaxprEqn as JaxprEqn
from tinyjax.core.jaxpr import JaxprTypeError as JaxprTypeError
from tinyjax.core.jaxpr import Literal as Literal
from tinyjax.core.jaxpr import Var as Var
from tinyjax.core.jaxpr import check_jaxpr as check_jaxpr
from tinyjax.core.jaxpr import jaxpr_as_fun as jaxpr_as_fun
from tinyjax.core.jaxpr import subjaxprs as jaxprs_in_params  # noqa: F401
from tinyjax.core.missing_names import getattr_of
from tinyjax.extend.core import primitives as primitives


def valid_jaxtype(x: Any) -> bool:
    """Whether x is an array, or a value that stands for one: what functions of jax.numpy take."""
    try:
        get_aval(x)
    except (TypeError, ValueError):
        return False
    return True


@contextlib.contextmanager
def take_current_trace() -> Iterator[Trace]:
    """The current trace; within the block, no transformation is active."""
    current = context.trace
    with set_current_trace(EvalTrace()):
        yield current


def find_top_trace(xs: Any = ()) -> Trace:
    """The trace that operations go to: the current one, of whatever values."""
    return context.trace


# What libraries (Equinox) compare to tell traces apart, from when a trace was a level of a stack.
setattr(Trace, "main", property(lambda trace: trace))  # noqa: B010  (a class of the story, which has none)


def mapped_aval(size: int, axis: int | None, aval: ShapedArray) -> ShapedArray:
    """The type of an element of a batch along `axis`; of what is the same for all, its own."""
    return aval if axis is None else aval.without_axis(axis)


def unmapped_aval(size: int, axis: int | None, aval: ShapedArray) -> ShapedArray:
    """The type of a batch, with `size` of these along `axis`; of what is the same for all, its own."""
    if axis is None:
        return aval
    return aval.update(shape=(*aval.shape[:axis], size, *aval.shape[axis:]))


class Effect:
    """The base of kinds of effects, which libraries define; `has_effects` says if there are any."""


class TraceTag:
    """Tells tracers of one trace from those of another, by being another object."""


class OpaqueTraceState:
    """Equal to another where the same transformations are active, and that is all that it tells."""

    def __init__(self, convention: str):
        self.trace, self.axis_env, self.convention = context.trace, context.axis_env, convention

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpaqueTraceState) and (
            self.trace is other.trace and self.axis_env == other.axis_env
        )

    def __hash__(self) -> int:
        return hash(self.axis_env)


def get_opaque_trace_state(convention: str) -> OpaqueTraceState:
    """What is active now, to be compared with what is active later: by libraries whose objects must not
    outlive a transformation."""
    return OpaqueTraceState(convention)


__getattr__ = getattr_of(__name__)
