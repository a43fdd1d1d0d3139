"""Products of matrices: each axis of a dot_general's operands is a batch, a row, a column, or summed over."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tinyjax.core.jaxpr import JaxprEqn


@dataclass(frozen=True)
class Side:
    """One operand of a product: the sizes of its axes, and which of them are batch, kept and summed over.

    In the result, batch axes come first, then the kept axes of the left side, then those of the right."""

    shape: tuple[int, ...]
    batch: tuple[int, ...]
    kept: tuple[int, ...]
    summed: tuple[int, ...]

    def size(self, axes: Sequence[int]) -> int:
        return math.prod(self.shape[axis] for axis in axes)

    def sizes(self, axes: Sequence[int]) -> tuple[int, ...]:
        return tuple(self.shape[axis] for axis in axes)


def sides_of(eqn: JaxprEqn) -> tuple[Side, Side]:
    """The two sides of a dot_general."""
    summed, batch = eqn.params["dimension_numbers"]
    return tuple(  # type: ignore[return-value]
        Side(
            v.aval.shape,
            tuple(of_batch),
            tuple(a for a in range(v.aval.ndim) if a not in of_batch and a not in of_sum),
            tuple(of_sum),
        )
        for v, of_sum, of_batch in zip(eqn.invars, summed, batch)
    )


def summed_together(left: Side, right: Side) -> list[list[int]]:
    """The left operand's summed axes, but those of size 1, in runs of neighbours in both operands."""
    runs: list[list[int]] = []
    last = (-1, -1)
    for pair in zip(left.summed, right.summed):
        if left.shape[pair[0]] == 1:
            continue
        if runs and pair == (last[0] + 1, last[1] + 1):
            runs[-1].append(pair[0])
        else:
            runs.append([pair[0]])
        last = pair
    return runs


def multiplications(eqn: JaxprEqn) -> int:
    """The number of multiplications in a dot_general."""
    left, _ = sides_of(eqn)
    return eqn.outvars[0].aval.size * left.size(left.summed)
