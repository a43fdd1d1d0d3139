"""Equations as a naive loop nest: one element at a time, back from the result.

For any elementwise program, and for the sum of its elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from practice.toy_kernel import Add, For, Let, Load, Store

Equation = tuple[str, tuple[str, ...], str]  # operation, operands, result: ("mul", ("a", "b"), "c")


def naive_nest(eqns: Sequence[Equation], result: str, size: int, total: bool = False) -> list[Any]:
    """The loop over i that stores each of the `size` elements of `result` in f"{result}_out".

    With `total`, what is stored is their sum: element 0 is set to 0.0 before the loop, and added to in it.
    What no equation makes is an argument, `a` say, and loaded from `a_in`. Only what the result needs is
    loaded or computed, each once. The equations may be in any order."""
    made = {out: (op, operands) for op, operands, out in eqns}
    body: list[Any] = []

    def element(v: str) -> None:
        if any(s.target == v for s in body):
            return
        if v not in made:
            body.append(Load(v, f"{v}_in", "i"))
            return
        op, operands = made[v]
        for operand in operands:
            element(operand)
        body.append(Let(v, op, operands))

    element(result)
    out = f"{result}_out"
    if total:
        return [Store(out, 0, 0.0), For("i", 0, size, [*body, Add(out, 0, result)])]
    return [For("i", 0, size, [*body, Store(out, "i", result)])]
