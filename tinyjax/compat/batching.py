"""Batching rules with other signatures, as Equinox registers them by jax.interpreters.batching."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tinyjax.core.bind import Primitive
from tinyjax.transform.batching import AxisData, axis_batch_rules


class AxisPrimitiveBatchers:
    """A table that only accepts rules (axis_size, axis_name, trace_type, vals, dims, **params) -> (out,
    out_dim); trace_type is None."""

    def __setitem__(self, primitive: Primitive, rule: Callable[..., Any]) -> None:
        def of_axis(axis: AxisData, vals: Any, dims: Any, **params: Any) -> Any:
            return rule(axis.size, axis.name, None, vals, dims, **params)

        axis_batch_rules[primitive] = of_axis


axis_primitive_batchers = AxisPrimitiveBatchers()
