"""Lesson 6: running what a NoteTrace wrote down.

run_notes(take_notes(f, 3.0).equations, {"a": 2.0})    # {"a": 2.0, "b": sin(2), "c": sin(2) * 2}
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from practice.note_trace import Equation


def run_notes(equations: Sequence[Equation], values: dict[str, Any]) -> dict[str, Any]:
    """The value of every name: those given, and that of each equation's result.

    The equations run in order, each by a `bind` of its primitive, with its parameters. An operand that
    is a str is a name, and any other operand a value. The dict `values` is left as it is."""
    values = dict(values)
    for equation in equations:
        operands = [values[x] if isinstance(x, str) else x for x in equation.operands]
        values[equation.result] = equation.primitive.bind(*operands, **equation.params)
    return values
