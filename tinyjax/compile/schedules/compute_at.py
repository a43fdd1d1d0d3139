"""ComputeAt: what two loops compute for the same element is computed in the first, and loaded in the others.

A softmax calls exp once for each element: the loop that adds up also writes each exp(x - max) into a private
array, and the loop that divides reads it there. That pays where the value costs more than memory does, and as
long as the row stays in the cache. (Halide: compute_at and store_at.)

    for i2 in 0 .. 40:                  kept1:f32 = 40 elements
      ...                               for i2 in 0 .. 40:
      e:f32 = exp d                       ...
      acc2 = add acc2 e                   e:f32 = exp d
    ...                                   kept1[i2] = e
    for i3 in 0 .. 40:                    acc2 = add acc2 e
      a3:f32 = x_in[i1 * 40 + i3]       ...
      d2:f32 = sub a3 b                 for i3 in 0 .. 40:
      e2:f32 = exp d2                     e2:f32 = kept1[i3]
      h:f32 = div e2 f                    h:f32 = div e2 f
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from tinyjax.compile.kernel import kernel_ir as ir
from tinyjax.compile.kernel.indices import Index, index_var
from tinyjax.compile.kernel.scalar_ops import scalar_ops
from tinyjax.compile.kernel.substitution import replaced, stored_memory
from tinyjax.compile.schedules.directive import (
    Directive,
    axis_of,
    find_loop,
    loop_over,
    loops_of,
    no_such_axis,
    path_to,
)
from tinyjax.compile.schedules.nests import Fresh, names_in, without_unused


@dataclass(frozen=True)
class ComputeAt(Directive):
    """Keeps the value that is computed as `value` in the loop `axis`, and again in loops after it."""

    value: str
    axis: str

    def why_not(self, kernel: ir.Kernel) -> str:
        loop = find_loop(kernel, self.axis)
        if loop is None:
            return no_such_axis(kernel, self.axis)
        if not any(isinstance(s, ir.Let) and s.target.name == self.value for s in loop.body):
            return f"the loop over {self.axis} computes no {self.value!r}"
        if not _readers(kernel, loop, self.value):
            return f"no loop that stands after that over {self.axis} computes {self.value!r} again"
        return ""

    def _applied(self, kernel: ir.Kernel) -> ir.Kernel:
        loop = loop_over(kernel, self.axis)
        made = next(s for s in loop.body if isinstance(s, ir.Let) and s.target.name == self.value)
        target = made.target
        kept = ir.PrivateArray(Fresh(kernel)("kept"), target.dtype, loop.stop.hi, target.width)
        readers = _readers(kernel, loop, self.value)

        def change(s: ir.Statement) -> list[ir.Statement]:
            if isinstance(s, ir.For) and axis_of(s) == self.axis:
                at = s.body.index(made) + 1
                with ir.statements_of(made.origin):
                    body = [*s.body[:at], ir.Store(kept, s.variable, target), *s.body[at:]]
                    return [ir.Allocate(kept, None), replace(s, body=body)]
            if isinstance(s, ir.For) and (name := readers.get(axis_of(s))):
                return [_loading(s, name, kept)]
            return [s]

        return replace(kernel, body=replaced(kernel.body, change))


def _readers(kernel: ir.Kernel, loop: ir.For, value: str) -> dict[str, str]:
    """The axes of loops after it that compute the value again, each with its name there."""
    return _again(kernel, loop).get(value, {})


def _again(kernel: ir.Kernel, loop: ir.For) -> dict[str, dict[str, str]]:
    """The loop's values that later loops compute again: for each, the axes of these loops and its names
    there.
    """
    body, _ = path_to(kernel.body, axis_of(loop))[-1]
    _, *after = here = body[body.index(loop) :]  # where arrays allocated before it can be loaded
    numbers, stored = Numbers(), _stores(here)
    meanings, found = _meanings(loop, numbers, stored), defaultdict[int, dict[str, str]](dict)
    for other in loops_of(after):
        if (other.start, other.stop) == (loop.start, loop.stop):
            there = _meanings(other, numbers, stored)
            for let in (s for s in other.body if isinstance(s, ir.Let)):
                found[there[let.target.name]][axis_of(other)] = let.target.name
    return {name: found[number] for name, number in meanings.items() if number in found}


def _loading(loop: ir.For, name: str, kept: ir.PrivateArray) -> ir.For:
    """The loop with the named value loaded, without the statements that only that value needed."""
    body: list[ir.Statement] = []
    for statement in loop.body:
        if getattr(getattr(statement, "target", None), "name", None) == name:
            assert isinstance(statement, ir.Let)
            statement = ir.Load(statement.target, kept, loop.variable, origin=statement.origin)
        body.append(statement)
    return replace(loop, body=without_unused(body))


# ---- what is computed twice ----


# The number of each operation (with its operands' numbers) and of each load seen so far.
Numbers = dict[Hashable, int]


def _stores(body: Sequence[ir.Statement]) -> Counter[str]:
    """How many statements store to each memory."""
    return Counter(memory.name for memory in stored_memory(body))


def _meanings(loop: ir.For, numbers: Numbers, stored: Counter[str]) -> dict[str, int]:
    """A number for each value of a loop's body. Equal values have equal numbers, also across loops that share
    `numbers`. `stored` counts the statements that store to each memory. (Local value numbering: Cocke and
    Schwartz, 1970.)
    """
    meanings: dict[str, int] = {}
    here = index_var("here", loop.variable.lo, loop.variable.hi)

    def meaning(atom: ir.Argument) -> Hashable:
        if isinstance(atom, ir.Value):
            return meanings.get(atom.name, atom.name)
        return place(atom) if isinstance(atom, Index) else (atom.value, atom.dtype)

    def place(at: Index) -> Index:
        return at.with_variables(lambda v: here if v == loop.variable else v)

    for statement in loop.body:
        what: Hashable
        match statement:
            case ir.Let(target, op, args):
                what = (op, target.dtype, *map(meaning, args))
            case ir.Load(target, source, at, end) if statement.stride == 1:
                what = (source.name, place(at), None if end is None else place(end), target.width)
                if source.name in stored and what not in numbers:
                    what = (axis_of(loop), target.name)  # a value that no other loop has
            case ir.Store(memory, at, ir.Value(name, _, width), None, 1) if (
                stored[memory.name] == 1
            ):
                if name in meanings:  # loops after this one load the value
                    numbers[memory.name, place(at), None, width] = meanings[name]
                continue
            case _:
                continue
        meanings[target.name] = numbers.setdefault(what, len(numbers))
    return meanings


class Repeated(NamedTuple):
    """A value that a loop computes and later loops compute again; its cost is in operations."""

    value: ir.Value
    axis: str
    cost: float


def repeated_work(kernel: ir.Kernel, axes: Sequence[str]) -> Iterator[Repeated]:
    """The values that these loops compute and later loops compute again, in the loops' order. A value comes
    before the values it is made from: if it is kept, no other loop may compute those.
    """
    for loop in filter(None, (find_loop(kernel, axis) for axis in axes if axis)):
        again = _again(kernel, loop)
        for s in reversed(loop.body):
            if isinstance(s, ir.Let) and s.target.name in again:
                yield Repeated(s.target, axis_of(loop), _cost(loop, s.target.name))


def work_of(let: ir.Let) -> int:
    """The cost in simple operations; rearranging lanes is free."""
    return scalar_ops[let.op].cost if let.op in scalar_ops else 0


def _cost(loop: ir.For, name: str) -> float:
    """The operations for a value and for all values of this loop that it is made from."""
    needed, cost = {name}, 0.0
    for statement in reversed(loop.body):
        if isinstance(statement, ir.Let) and statement.target.name in needed:
            cost += work_of(statement)
            needed |= names_in(statement)
    return cost
