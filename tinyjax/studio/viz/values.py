"""Draw a function's jaxpr with its values; short texts of values.

    viz.values(f, 3.0)

`all_values` runs a jaxpr equation by equation and keeps every value; under a `JVPTrace` it gives all primals
and tangents.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinyjax.core import dtypes
from tinyjax.core.avals import get_aval, to_numpy
from tinyjax.core.bind import Tracer
from tinyjax.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, literal_value
from tinyjax.many_devices.sharding.traffic import places_of
from tinyjax.studio.viz.drawing import Drawing, Note
from tinyjax.studio.viz.output import Graph
from tinyjax.studio.viz.program import Program

_SMALL = 6  # elements of an array that is shown whole


def values(f: Callable[..., Any], *args: Any) -> Graph:
    """Draw the jaxpr of `f` with each equation's value at these arguments.

    Small arrays are shown whole; larger ones by their least, mean and greatest element. Untaken branches have
    no values, nor have loop bodies, whose values change at each step."""
    program = Program(f, args)
    places = places_of(program.leaves)
    drawing = Drawing(program.closed.jaxpr, program.names, program.numbers, places)
    drawing.name_ends(program.closed.jaxpr, program.debug_info)
    found = all_values(program.closed, program.leaves)
    drawing.notes = {v: [Note(value_text(x))] for v, x in found.items()}
    drawing.whole(program.closed.jaxpr)
    return drawing.finished()


# ---- running a jaxpr ----

# Equations that run the one jaxpr inside them on their operands.
_CALLS = ("jit", "closed_call", "remat2", "custom_jvp_call", "custom_vjp_call")


def all_values(closed: ClosedJaxpr, args: Sequence[Any]) -> dict[Var, Any]:
    """The value of each variable, including called functions and taken branches."""
    env: dict[Var, Any] = {}
    _run(closed, args, env)
    return env


def _run(closed: ClosedJaxpr, args: Sequence[Any], env: dict[Var, Any]) -> list[Any]:
    jaxpr = closed.jaxpr
    env.update(zip(jaxpr.constvars, closed.consts))
    env.update(zip(jaxpr.invars, args))
    value = lambda v: literal_value(v) if isinstance(v, Literal) else env[v]  # noqa: E731
    for eqn in jaxpr.eqns:
        operands = [value(v) for v in eqn.invars]
        runs = _runs(eqn, operands)
        if runs is not None:
            outs = _run(runs[0], runs[1], env)
        else:
            outs = eqn.primitive.bind(*operands, **eqn.params)
            outs = outs if eqn.primitive.multiple_results else [outs]
        env.update(zip(eqn.outvars, outs))
    return [value(v) for v in jaxpr.outvars]


def _runs(eqn: JaxprEqn, operands: list[Any]) -> tuple[ClosedJaxpr, list[Any]] | None:
    """The jaxpr that an equation runs exactly once, and its arguments; None for loops, for branches that
    differ between devices, and for functions whose custom rules are in use."""
    name = eqn.primitive.name
    if name == "cond":
        which = operands[0].concrete() if isinstance(operands[0], Tracer) else operands[0]
        return None if which is None else (eqn.params["branches"][int(which)], operands[1:])
    is_custom = name.startswith("custom") and any(isinstance(x, Tracer) for x in operands)
    if name not in _CALLS or is_custom:
        return None
    inner = next(x for x in eqn.params.values() if isinstance(x, Jaxpr | ClosedJaxpr))
    return (inner if isinstance(inner, ClosedJaxpr) else ClosedJaxpr(inner)), operands


# ---- a value in few words ----


def value_text(x: Any) -> str:
    """A small array's elements; a larger one's least, mean and greatest."""
    aval = get_aval(x)
    if dtypes.kind(aval.dtype) == "V":
        return "random keys" if aval.shape else "a random key"
    array = to_numpy(x, aval)
    if array.size <= _SMALL:
        return _elements(array)
    if array.dtype == bool:
        return f"{np.count_nonzero(array):,} of {array.size:,} true"
    with np.errstate(all="ignore"):
        if dtypes.kind(array.dtype) == "c":
            return f"mean {_number(array.mean())}, greatest size {_number(np.abs(array).max())}"
        wide = array.astype(np.float64)
        low, mean, high = (_number(g) for g in (wide.min(), wide.mean(), wide.max()))
    return f"{low} .. {high}, mean {mean}"


def _elements(array: np.ndarray) -> str:
    if array.ndim == 0:
        return _number(array.item())
    return f"[{', '.join(map(_elements, array))}]"


def _number(x: Any) -> str:
    """A number in four digits; a float keeps its decimal point."""
    if isinstance(x, bool | int | np.bool_ | np.integer):
        return str(x)
    text = f"{x:.4g}"
    return f"{text}.0" if text.lstrip("-").isdigit() else text
