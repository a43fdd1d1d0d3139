"""Batching a whole jaxpr, for primitives that have a jaxpr as a parameter, such as jit and scan.

Source: https://docs.jax.dev/en/latest/automatic-vectorization.html
"""

from __future__ import annotations

from typing import Any

from tinyjax.core.bind import context, set_current_trace
from tinyjax.core.jaxpr import ClosedJaxpr, cached_on_jaxpr, jaxpr_as_fun
from tinyjax.core.tracing import trace_to_jaxpr
from tinyjax.transform.batching import AxisData, BatchTrace, bdim_at_front, not_mapped
from tinyjax.transform.mapped_axes import batch_aval


@cached_on_jaxpr
def batch_jaxpr(
    closed_jaxpr: ClosedJaxpr,
    axis: AxisData,
    in_dims: tuple[int | None, ...],
    at_front: tuple[bool, ...] | None = None,
) -> tuple[ClosedJaxpr, tuple[int | None, ...]]:
    """The jaxpr of a batch along `axis`, and the batch dims of its results.

    With `at_front`, a flag for each result, the batch dims are 0 or None, and 0 where the flag is set."""
    out_dims: list[int | None] = []

    def batched(*vals: Any) -> list[Any]:
        trace = BatchTrace(context.trace, axis)
        with set_current_trace(trace):
            outs = jaxpr_as_fun(closed_jaxpr)(*[trace.tracer(x, d) for x, d in zip(vals, in_dims)])
        pairs = [trace.val_and_dim(x) for x in outs]
        if at_front is not None:
            pairs = [
                (bdim_at_front(x, d, axis.size), 0) if forced or d is not not_mapped else (x, d)
                for (x, d), forced in zip(pairs, at_front)
            ]
        out_dims.extend(dim for _, dim in pairs)
        return [val for val, _ in pairs]

    in_avals = [
        batch_aval(a, axis.size, axis.extra, d) for a, d in zip(closed_jaxpr.in_avals, in_dims)
    ]
    return trace_to_jaxpr(batched, in_avals), tuple(out_dims)
