"""The backward slice of a value: the equations that compute it, back to values in memory.

It includes equations that a kernel recomputes for a value that it stores. An array that the kernel reads only
at the place of the element that it writes may be made by the same kernel.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tinyjax.compile.kernel.rules import Elementwise
from tinyjax.core.jaxpr import JaxprEqn, Literal, Var


@dataclass
class BackwardSlice:
    """The stored values that a computation reads; True for those read only at the result's own place."""

    eqns: dict[JaxprEqn, None] = field(default_factory=dict)  # a set that keeps the order
    inputs: dict[Var, bool] = field(default_factory=dict)


def backward_slice(
    values: Sequence[Var], producer: Mapping[Var, JaxprEqn], stored: Container[Var],
    lowerings: Mapping[JaxprEqn, Any],
) -> BackwardSlice:  # fmt: skip
    """Follows the equations back from the values to stored ones."""
    result = BackwardSlice()
    # For each computed value: whether it is read only at the place of the stored values
    same_place = dict.fromkeys(values, True)
    for u in _computed_for(values, producer, stored):
        eqn = producer[u]
        result.eqns.pop(eqn, None)  # if it has several results, it comes after the readers of all
        result.eqns[eqn] = None
        for w in eqn.invars:
            if isinstance(w, Literal):
                continue
            found = result.inputs if w in stored else same_place
            is_same = same_place[u] and w.aval.shape == eqn.outvars[0].aval.shape
            is_same = is_same and isinstance(lowerings[eqn], Elementwise)
            found[w] = found.get(w, True) and is_same
    result.eqns = dict.fromkeys(reversed(result.eqns))
    return result


def _computed_for(
    values: Sequence[Var], producer: Mapping[Var, JaxprEqn], stored: Container[Var]
) -> Iterator[Var]:
    """The values and those computed for them, readers before what they read."""
    order: list[Var] = []
    done: set[Var] = set()
    stack = [(v, False) for v in reversed(values)]
    while stack:
        u, finished = stack.pop()
        if finished:
            order.append(u)
        elif u not in done:
            done.add(u)
            stack.append((u, True))
            for w in producer[u].invars:
                if isinstance(w, Var) and w not in stored:
                    stack.append((w, False))
    return reversed(order)
