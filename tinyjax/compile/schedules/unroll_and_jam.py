"""Unroll and jam: several iterations of a loop in one, so that while one waits for its sum, others go on.

In a short loop each line needs the result of the line before, and a core that could issue two in each cycle
waits for three or four. Iterations that do not depend on each other are unrolled, their lines written in
turn, and the loops within them are jammed into one loop. What is the same in all of them is computed once.

    for i1 in 0 .. 8:                for i2 in 0 .. 4:
      a:f32 x16 = ...                  a:f32 x16 = ...
      for i3 in 0 .. 10:               a_x1:f32 x16 = ...
        ...                            for i3 in 0 .. 10:
                                         ...
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

from tinyjax.compile.kernel.indices import index, index_var
from tinyjax.compile.kernel.kernel_ir import Allocate, For, Kernel, Let, Load, Statement
from tinyjax.compile.kernel.substitution import defined_names, every_statement, substituted
from tinyjax.compile.schedules.dependences import ends, starts_at_multiple, why_dependent
from tinyjax.compile.schedules.directive import LoopDirective, axis_of
from tinyjax.compile.schedules.nests import stored_names, the_same

SHORT = 24  # statements of an iteration


@dataclass(frozen=True)
class UnrollAndJam(LoopDirective):
    """`count` iterations of the loop over `axis` in one, and then those that are left."""

    count: int

    def _why_not(self, kernel: Kernel, loop: For) -> str:
        return why_not_by(loop, self.count) or why_dependent(loop)

    def _changed(self, loop: For) -> list[Statement]:
        name = f"{self.axis}_by{self.count}"
        names = defined_names(loop.body)  # some may be copies already
        mark = next(m for m in "xyz" if not any(n.endswith(f"_{m}1") for n in names))
        first, *rest = unroll_and_jam(loop, self.count, name, mark=mark)
        if isinstance(first, For) and first.start.is_const(0) and first.stop.is_const(1):
            return [first, *rest] if rest else substituted(first.body, {name: index(0)})
        return [first, *rest]


def why_not_by(loop: For, count: int) -> str:
    """Why the iterations can't be taken `count` at a time, from the first on; empty if they can."""
    last = index(loop.variable.hi + 1)
    bounds = [loop.start, *(end for end in ends(loop.stop) if end != last)]
    if all(starts_at_multiple(at, count) for at in bounds):
        return ""
    return f"{axis_of(loop)} runs from {loop.start} to {loop.stop}, not {count} at a time"


def unroll_and_jam(
    loop: For, count: int, name: str, private: Set[str] = frozenset(), mark: str = "x"
) -> list[Statement]:
    """`loop`, `count` iterations at a time, and then those that are left. They do not depend on each
    other, and it starts at a multiple of `count`; `name` is that of the new loop's variable. Of the
    arrays in `private`, each copy of the body but the first has one of its own. The copies' names end in _x1,
    _x2, ..., or another `mark`."""
    size = loop.variable.hi + 1
    if size < count:
        return [loop]
    groups = index_var(name, 0, size // count - 1)
    own = {*defined_names(loop.body), *private} - _same_in_all(loop)
    copies = []
    for number in range(count):
        renamed = {n: f"{n}_{mark}{number}" for n in own} if number else {}
        places = {loop.variable.args[0]: groups * count + number}
        copies.append(substituted(loop.body, places, renamed))
    start, stop = loop.start // count, loop.stop // count
    jammed = For(groups, start, stop, _jammed(copies), origin=loop.origin)
    if size % count == 0:
        return [jammed]
    return [jammed, replace(loop, start=loop.stop // count * count)]


def is_short(body: Sequence[Statement]) -> bool:
    """Whether a loop with this body is better off jammed: its iterations are few lines, and all that they
    keep may be in registers."""
    made = [s.array.size for s in every_statement(body) if isinstance(s, Allocate)]
    return len(list(every_statement(body))) <= SHORT and max(made, default=1) == 1


def _same_in_all(loop: For) -> set[str]:
    """The names of values that are the same in all iterations: nothing that they are made of differs."""
    differing = {axis_of(loop), *defined_names(loop.body), *stored_names(loop.body)}
    return {s.target.name for s in the_same(every_statement(loop.body), differing)}


def _jammed(bodies: Sequence[list[Statement]]) -> list[Statement]:
    """The statements of all bodies in turn, and their loops as one; what is the same in all, once."""
    result: list[Statement] = []
    for statements in zip(*bodies, strict=True):
        first, *others = statements
        if isinstance(first, For) and all(
            (first.start, first.stop) == (other.start, other.stop) for other in others
        ):
            result.append(replace(first, body=_jammed([s.body for s in statements])))
        elif isinstance(first, Let | Load) and all(other == first for other in others):
            result.append(first)
        else:
            result += statements
    return result
