"""Eager operations on arrays that are spread over several processes.

If this process has only a part of x, `x + 1` is a jitted program of one equation in all processes. So here,
too, all processes must do the same. This is the only place where eager evaluation uses the compiler.

Source: https://docs.jax.dev/en/latest/multi_process.html
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from tinyjax.core.array import ShapedArray
from tinyjax.core.bind import EvalTrace, Primitive, as_array, context
from tinyjax.core.jaxpr import ClosedJaxpr
from tinyjax.core.tracing import trace_to_jaxpr
from tinyjax.many_devices.calls_across import call_across_processes
from tinyjax.many_devices.processes.moving_blocks import is_in_blocks


class ProcessesTrace(EvalTrace):
    """The EvalTrace of several processes. (Primitives that take Arrays, such as jit's, handle them
    themselves.)"""

    def process_primitive(self, primitive: Primitive, args: Sequence[Any], params: dict) -> Any:
        if primitive.impl_binds_primitives or not any(map(is_in_blocks, args)):
            return super().process_primitive(primitive, args, params)
        arrays = [as_array(x) for x in args]
        kinds, key = tuple([x.aval for x in arrays]), tuple(sorted(params.items()))
        try:
            closed = _of_one_equation(primitive, kinds, key)
        except TypeError:  # a parameter is unhashable
            closed = _of_one_equation.__wrapped__(primitive, kinds, key)
        call = call_across_processes(closed, arrays, {"name": primitive.name})
        assert call is not None
        outs = call(arrays)
        return outs if primitive.multiple_results else outs[0]


@functools.lru_cache(1024)
def _of_one_equation(
    primitive: Primitive, avals: tuple[ShapedArray, ...], params: tuple[tuple[str, Any], ...]
) -> ClosedJaxpr:
    def bound(*xs: Any) -> list[Any]:
        out = primitive.bind(*xs, **dict(params))
        return list(out) if primitive.multiple_results else [out]

    return trace_to_jaxpr(bound, avals)


def install() -> None:
    """Make a ProcessesTrace the trace of operations outside of all transformations."""
    type(context).trace = context.trace = ProcessesTrace()
