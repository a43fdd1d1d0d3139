"""The order in which einsum contracts three or more operands.

Operands are contracted two at a time, the pair with the cheapest product first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any


def contraction_path(
    inputs: Sequence[str], output: str, shapes: Sequence[tuple[int, ...]], optimize: Any
) -> list[tuple[int, ...]]:
    """Pairs of positions to contract; each result goes to the end of the operands.

    For up to four operands, the cheapest of all orders; for more, the cheapest pair at each step."""
    if isinstance(optimize, (list, tuple)):
        return [tuple(pair) for pair in optimize if not isinstance(pair, str)]
    count = len(inputs)
    if optimize is False:
        return [(0, 1)] * (count - 1)
    sizes = {c: max(1, n) for letters, shape in zip(inputs, shapes) for c, n in zip(letters, shape)}
    for letters, shape in zip(inputs, shapes):
        for c, n in zip(letters, shape):
            sizes[c] = max(sizes[c], n)
    if count <= 4:
        return _cheapest_path(tuple(frozenset(i) for i in inputs), frozenset(output), sizes)[1]
    path: list[tuple[int, ...]] = []
    operands = [frozenset(i) for i in inputs]
    while len(operands) > 1:
        pairs = [(i, j) for i in range(len(operands)) for j in range(i + 1, len(operands))]
        best: tuple[int, int] = min(pairs, key=lambda pair: _cost(operands, pair, sizes))
        path.append(best)
        operands = _after(operands, best, frozenset(output))
    return path


def _cost(operands: Sequence[frozenset], pair: tuple[int, int], sizes: dict[str, int]) -> int:
    return math.prod(sizes[c] for c in operands[pair[0]] | operands[pair[1]])


def _after(
    operands: Sequence[frozenset], pair: tuple[int, int], output: frozenset
) -> list[frozenset]:
    """The operands' letters after a pair is contracted; letters that are no longer used are dropped."""
    rest = [letters for k, letters in enumerate(operands) if k not in pair]
    needed = output.union(*rest)
    return [*rest, (operands[pair[0]] | operands[pair[1]]) & needed]


def _cheapest_path(
    operands: Sequence[frozenset], output: frozenset, sizes: dict[str, int]
) -> tuple[int, list[tuple[int, ...]]]:
    if len(operands) == 1:
        return 0, []
    best: tuple[int, list[tuple[int, ...]]] | None = None
    for i in range(len(operands)):
        for j in range(i + 1, len(operands)):
            rest, path = _cheapest_path(_after(operands, (i, j), output), output, sizes)
            cost = rest + _cost(operands, (i, j), sizes)
            if best is None or cost < best[0]:
                best = (cost, [(i, j), *path])
    assert best is not None
    return best
