"""Neighbouring elements in one variable: where they are in memory, and which indices are theirs.

After this file you can say why a kernel computes sixteen elements side by side, or why not. The rules
are asked for the element at the index `e`, as for any other element. `e` stands for neighbours, the
first of them number `first`. An index that does not depend on it is the same for all: one element is
loaded. One that grows with it by one is a place of neighbours in memory. All others (every second
element, a row's last one) have no such form, and the kernel computes its elements one by one.
Builds on indices.
"""

from __future__ import annotations

from dataclasses import dataclass

from tinyjax.compile.kernel.indices import Index, index, index_var


class NotSideBySide(Exception):
    """Why a kernel computes its elements one by one."""


@dataclass(frozen=True)
class Neighbours:
    """The elements first, first + 1, ..., `width` of them or those before `end` if that is given."""

    variable: Index  # stands for the number of any of them, in what the rules are asked for
    first: Index
    end: Index | None
    width: int

    def places(self, at: Index) -> tuple[Index, Index | None]:
        """Where the neighbours begin, and where they end, whose elements are at `at`.

        Raises NotSideBySide if they are not next to each other."""
        if self.step(at) != 1:
            raise NotSideBySide(f"neighbours are apart in memory, at {at}")
        end = None if self.end is None else self._with(at, self.end)
        return self._with(at, self.first), end

    def first_of(self, at: Index) -> Index:
        """What `at` is for the first of the neighbours."""
        return self._with(at, self.first)

    def step(self, at: Index) -> int:
        """By how much `at` grows from one neighbour to the next. Raises NotSideBySide if that differs."""
        if at == self.variable:
            return 1
        if at.op in ("const", "var"):
            return 0
        a, b = at.args
        steps = self.step(a), self.step(b)
        if steps == (0, 0):
            return 0
        match at.op:
            case "+":
                return steps[0] + steps[1]
            case "-":
                return steps[0] - steps[1]
            case "*" if b.op == "const":
                return steps[0] * b.args[0]
        raise NotSideBySide(f"the way from neighbour to neighbour is not the same, in {at}")

    def _with(self, at: Index, number: Index) -> Index:
        """`at` with `number` in place of the variable."""
        if at == self.variable:
            return number
        if at.op in ("const", "var") or not self.step(at):
            return at
        a, b = (self._with(arg, number) for arg in at.args)
        return {"+": a.__add__, "-": a.__sub__, "*": a.__mul__}[at.op](b)


def neighbours(chunk: Index, count: int, width: int) -> Neighbours:
    """Those of chunk number `chunk` among `count` elements; the last chunk may have fewer."""
    end = index(count) if count % width else None
    return Neighbours(index_var("e", 0, count - 1), chunk * width, end, width)
