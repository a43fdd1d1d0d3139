"""Pictures of programs: `viz.dot(jax.make_jaxpr(f)(x))`, `viz.jvp(f, x)`, and one for each other stage."""

from typing import Any

from tinyjax.viz.dot import dot as dot
from tinyjax.viz.jvp import jvp as jvp
from tinyjax.viz.kernels import kernels as kernels
from tinyjax.viz.linearize import linearize as linearize
from tinyjax.viz.output import DotNotFound as DotNotFound
from tinyjax.viz.output import save as save
from tinyjax.viz.pmap import pmap as pmap
from tinyjax.viz.record import record as record
from tinyjax.viz.trace_stack import trace_stack as trace_stack
from tinyjax.viz.transpose import transpose as transpose
from tinyjax.viz.values import values as values
from tinyjax.viz.vmap import vmap as vmap


def __getattr__(name: str) -> Any:
    """`explain` is loaded when it is asked for: few programs need it."""
    if name == "explain":
        from tinyjax.viz.html import explain

        return explain
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
