"""How pooling lowers: a reduction over the places of a window, which may lie in the padding.

After this file you can say what a maximum over windows costs in a kernel: each element of the result
reads its whole window. Builds on indexing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tinyjax import lax
from tinyjax.compile.kernel.rules import (
    OnHost,
    Position,
    Reduction,
    greatest,
    least,
    lowering_rules,
    zero_of,
)
from tinyjax.core.jaxpr import JaxprEqn
from tinyjax.lax.lowering.indexing import element_or

if TYPE_CHECKING:
    from tinyjax.compile.kernel.kernel_ir import Scalar


def _window_sizes(eqn: JaxprEqn) -> tuple[int, ...]:
    return eqn.params["window_dimensions"]


def _window_reduction(op: str, identity: Callable[[np.dtype], Any]) -> Reduction:
    def term(
        ctx: Any,
        place: Position,
        x: Any,
        *,
        window_strides: Any,
        padding: Any,
        base_dilation: Any,
        window_dilation: Any,
        **_: Any,
    ) -> Scalar:
        """The operand's element at `place` in the window that the result's position numbers."""
        at = [
            window * stride + i * spread - int(low)
            for window, stride, i, spread, (low, _) in zip(
                ctx.position.coords, window_strides, place.coords, window_dilation, padding
            )
        ]
        dtype = x.aval.dtype
        return element_or(ctx, x, at, base_dilation, lambda: ctx.constant(identity(dtype), dtype))

    return Reduction(op, identity, _window_sizes, term)


lowering_rules[lax.reduce_window_sum_p] = _window_reduction("add", zero_of)
lowering_rules[lax.reduce_window_max_p] = _window_reduction("max", least)
lowering_rules[lax.reduce_window_min_p] = _window_reduction("min", greatest)
lowering_rules[lax.select_and_gather_add_p] = OnHost("a window's choice needs all its elements")
lowering_rules[lax.select_and_scatter_add_p] = OnHost("several updates may go to one place")
for _primitive in (lax.reduce_p, lax.reduce_window_p):
    lowering_rules[_primitive] = OnHost("a function of one's own combines the elements")
