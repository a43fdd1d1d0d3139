"""Lesson 8: notes of a linear program, run backwards.

    counts = run_backwards(later, result="h", ct=1.0)    # how much each value counts

The programs come from lesson 7's split_notes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from practice.note_trace import Equation
from tinyjax.core import Primitive
from tinyjax.core.primitives import add_p, mul_p, neg_p
from tinyjax.transform.jvp import add_any_p


def _counts_in_product(ct: Any, x: Any, y: Any) -> list[Any]:
    """One factor is a name, and the other a value."""
    return [ct * y, None] if isinstance(x, str) else [None, ct * x]


# primitive -> (ct, *operands) -> how much each operand counts, if the result counts ct
backwards: dict[Primitive, Callable[..., list[Any]]] = {
    neg_p: lambda ct, x: [-ct],
    add_p: lambda ct, x, y: [ct, ct],
    add_any_p: lambda ct, x, y: [ct, ct],
    mul_p: _counts_in_product,
}


def run_backwards(equations: Sequence[Equation], result: str, ct: Any) -> dict[str, Any]:
    """How much each name counts, if `result` counts `ct`; names that do not count are not in the dict.

    Goes from the last equation to the first. The rule of its primitive in `backwards` says what an
    equation's result, by what it counts, makes each operand count: for names (strs) that is added to
    what they count already. An equation whose result does not count is skipped."""
    counts = {result: ct}
    for equation in reversed(equations):
        if equation.result not in counts:
            continue
        found = backwards[equation.primitive](counts[equation.result], *equation.operands)
        for operand, part in zip(equation.operands, found):
            if isinstance(operand, str):
                counts[operand] = counts[operand] + part if operand in counts else part
    return counts
