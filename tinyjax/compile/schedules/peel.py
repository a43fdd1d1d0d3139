"""Peel: the last iteration of a loop by itself, after the others.

In vectors of sixteen, six are whole and the last has four numbers; only that one needs a mask. It is peeled
off, and in the loop that is left, no vector reaches the end.

    for i1_outer in 0 .. 7:                                   for i1_outer in 0 .. 6:
      for i1_inner in i1_outer * 16                             for i1_inner in i1_outer * 16
                   .. min(i1_outer * 16 + 16, 100):                          .. i1_outer * 16 + 16:
        ...                                                       ...
                                                              for i1_last in 96 .. 100:
                                                                ...
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tinyjax.compile.kernel import kernel_ir as ir
from tinyjax.compile.kernel.indices import Index, index_var
from tinyjax.compile.kernel.stored import as_index, linear
from tinyjax.compile.kernel.substitution import substituted
from tinyjax.compile.schedules.directive import LoopDirective, axis_of, loops_of
from tinyjax.compile.schedules.nests import without_unused


@dataclass(frozen=True)
class Peel(LoopDirective):
    """The last iteration of the loop over `axis` after the loop. In it, loops get names that end in _last."""

    def _why_not(self, kernel: ir.Kernel, loop: ir.For) -> str:
        if loop.start.op != "const" or loop.stop.op != "const":
            return f"{self.axis} runs from {loop.start} to {loop.stop}, and no constants"
        return "" if loop.start.lo < loop.stop.lo else f"{self.axis} has no iteration"

    def _changed(self, loop: ir.For) -> list[ir.Statement]:
        last = loop.stop - 1
        names = {axis_of(s): _last_name(axis_of(s)) for s in loops_of(loop.body)}
        peeled: list[ir.Statement] = substituted(loop.body, {self.axis: last}, names)
        if last == loop.start:
            return peeled
        variable = index_var(self.axis, loop.start.lo, last.lo - 1)
        body = _without_masks(substituted(loop.body, {self.axis: variable}))
        rest = replace(loop, variable=variable, stop=last, body=body)
        return [rest, *peeled]


def _last_name(axis: str) -> str:
    return f"{axis.removesuffix('_inner')}_last"


# ---- what is always inside ----


def _without_masks(body: Sequence[ir.Statement]) -> list[ir.Statement]:
    """The statements without masks that hold in all lanes, and without ends that vectors do not reach."""
    numbers: dict[str, Index] = {}  # vectors of a run of integers, with the first
    everywhere: set[str] = set()  # masks
    same: dict[str, str] = {}
    result: list[ir.Statement] = []
    for statement in body:
        match statement:
            case ir.Let(target, "ramp", (Index() as first, ir.Const(1))):
                numbers[target.name] = first
            case ir.Let(target, "lt", (ir.Value(name, _, width), Index() as end)) if (
                name in numbers and _reaches(numbers[name], width, end)
            ):
                everywhere.add(target.name)
            case ir.Let(target, "select", (ir.Value(mask), ir.Value(name), _)) if (
                mask in everywhere
            ):
                same[target.name] = name
                continue
            case ir.Load(target, _, at, Index() as end) if _reaches(at, target.width, end):
                statement = replace(statement, end=None)
            case ir.Store(_, at, ir.Value() as value, Index() as end) if _reaches(
                at, value.width, end
            ):
                statement = replace(statement, end=None)
            case ir.For():
                statement = replace(statement, body=_without_masks(statement.body))
        result.append(statement)
    return without_unused(substituted(result, {}, same), {*numbers, *everywhere})


def _reaches(first: Index, width: int, end: Index) -> bool:
    """Whether `width` elements from the first on are always before the end."""
    return as_index(linear(end), linear(first)).lo >= width
