"""Products of matrices: any dot_general as rows by columns, without the transpositions around it.

Each axis of a dot_general's operands is a batch, a row, a column, or summed over. A transposition before or
after a product moves no element: it changes which axes are which, and is gone before kernels are made.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tinyjax.compile.passes.patterns import Producer, walk
from tinyjax.compile.record import event
from tinyjax.core.jaxpr import ClosedJaxpr, JaxprEqn

# ---- what the axes are ----


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


# ---- transpositions around a product ----


def products(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The same jaxpr, in which products take their operands as they lie in memory, and the transposed product
    A B is the product of transposed B and transposed A; unused transpositions stay, as dead code."""
    jaxpr = closed.jaxpr
    if "dot_general" not in [eqn.primitive.name for eqn in jaxpr.eqns]:
        return closed
    counts = Counter([v for eqn in jaxpr.eqns for v in eqn.invars] + jaxpr.outvars)

    def change(eqn: JaxprEqn, producer: Producer) -> list[JaxprEqn] | None:
        better = eqn
        if eqn.primitive.name == "dot_general":
            for number in (0, 1):
                better = _with_operand_as_it_lies(better, number, producer)
        elif eqn.primitive.name == "transpose" and counts[eqn.invars[0]] == 1:
            better = _transposed(producer.get(eqn.invars[0]), eqn)
        if better is eqn:
            return None
        event(eqn, ("becomes", better), "the product reads elements where they lie", eqn)
        return [better]

    return walk(closed, change)


def _with_operand_as_it_lies(eqn: JaxprEqn, number: int, producer: Producer) -> JaxprEqn:
    """The product of the untransposed operand, if its kept axes stay in order."""
    before = producer.get(eqn.invars[number])
    if before is None or before.primitive.name != "transpose":
        return eqn
    permutation, side = before.params["permutation"], sides_of(eqn)[number]
    kept = [permutation[axis] for axis in side.kept]
    if kept != sorted(kept):
        return eqn
    numbers = [list(pair) for pair in eqn.params["dimension_numbers"]]
    for pair in numbers:
        pair[number] = tuple(int(permutation[axis]) for axis in pair[number])
    invars = list(eqn.invars)
    invars[number] = before.invars[0]
    params = eqn.params | {"dimension_numbers": tuple(map(tuple, numbers))}
    return eqn.replace(invars=invars, params=params)


def _transposed(product: JaxprEqn | None, transpose: JaxprEqn) -> JaxprEqn:
    """One product for a product followed by the transposition of its rows and columns."""
    if product is None or product.primitive.name != "dot_general":
        return transpose
    left, right = sides_of(product)
    batch, rows = len(left.batch), len(left.kept)
    axes = range(len(transpose.params["permutation"]))
    swapped = [*axes[:batch], *axes[batch + rows :], *axes[batch : batch + rows]]
    if list(transpose.params["permutation"]) != swapped:
        return transpose
    numbers = tuple(tuple(reversed(pair)) for pair in product.params["dimension_numbers"])
    precision = product.params["precision"]
    params = product.params | {
        "dimension_numbers": numbers,
        "precision": precision[::-1] if isinstance(precision, tuple) else precision,
    }
    outvars = list(transpose.outvars)
    return product.replace(invars=product.invars[::-1], outvars=outvars, params=params)
