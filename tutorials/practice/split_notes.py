"""Lesson 7: what can run now, and what has to wait.

now, later, residuals = split_notes(notes.equations, known={"a"})
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from practice.note_trace import Equation


def split_notes(
    equations: Sequence[Equation], known: AbstractSet[str]
) -> tuple[list[Equation], list[Equation], list[str]]:
    """The equations that can run now, those that have to wait, and the residuals.

    An equation can run now if all the names among its operands (the strs) are known: those in `known`,
    and the results of other equations that can run now. The residuals are the known names that equations
    which wait will need, each once, in the order in which they are first needed. The set `known` is left
    as it is."""
    known = set(known)
    now: list[Equation] = []
    later: list[Equation] = []
    residuals: dict[str, None] = {}  # its keys: a set that is in order
    for equation in equations:
        names = [x for x in equation.operands if isinstance(x, str)]
        if known.issuperset(names):
            known.add(equation.result)
            now.append(equation)
        else:
            later.append(equation)
            residuals.update((name, None) for name in names if name in known)
    return now, later, list(residuals)


def filled_in(equations: Sequence[Equation], values: Mapping[str, Any]) -> list[Equation]:
    """The equations with values in place of the names that have one."""
    return [
        equation._replace(
            operands=tuple(values.get(x, x) if isinstance(x, str) else x for x in equation.operands)
        )
        for equation in equations
    ]
