"""Vectorization: neighbouring elements in one variable, and where they are in memory.

After this file you can say why a kernel computes in vectors of sixteen elements, or why not. The rules
are asked for the element at the index `e`, as for any other element. `e` stands for all lanes of a
vector, the first of them number `first`. An index that does not depend on it is uniform: one element is
loaded. One of stride 1 is contiguous memory: a vector is loaded. All others (every second element, a
row's last one) have no vector load, and the kernel is written in scalars. Builds on
indices.
"""

from __future__ import annotations

from dataclasses import dataclass

from tinyjax.compile.kernel.indices import Index, index, index_var


class NotVectorizable(Exception):
    """Why a kernel is written in scalars."""


@dataclass(frozen=True)
class VectorLanes:
    """The elements first, first + 1, ..., `width` of them or those before `end` if that is given."""

    variable: Index  # stands for the number of any of them, in what the rules are asked for
    first: Index
    end: Index | None
    width: int

    def span(self, at: Index) -> tuple[Index, Index | None]:
        """Where the lanes' elements begin, and where they end, which are at `at`.

        Raises NotVectorizable if they are not contiguous."""
        if self.stride(at) != 1:
            raise NotVectorizable(f"neighbours are apart in memory, at {at}")
        end = None if self.end is None else self._with(at, self.end)
        return self._with(at, self.first), end

    def first_of(self, at: Index) -> Index:
        """What `at` is in the first lane."""
        return self._with(at, self.first)

    def stride(self, at: Index) -> int:
        """By how much `at` grows from one lane to the next. Raises NotVectorizable if that differs."""
        if at == self.variable:
            return 1
        if at.op in ("const", "var"):
            return 0
        a, b = at.args
        strides = self.stride(a), self.stride(b)
        if strides == (0, 0):
            return 0
        match at.op:
            case "+":
                return strides[0] + strides[1]
            case "-":
                return strides[0] - strides[1]
            case "*" if b.op == "const":
                return strides[0] * b.args[0]
        raise NotVectorizable(f"the stride is not the same in all lanes, in {at}")

    def _with(self, at: Index, number: Index) -> Index:
        """`at` with `number` in place of the variable."""
        if at == self.variable:
            return number
        if at.op in ("const", "var") or not self.stride(at):
            return at
        a, b = (self._with(arg, number) for arg in at.args)
        return {"+": a.__add__, "-": a.__sub__, "*": a.__mul__}[at.op](b)


def lanes_of_chunk(chunk: Index, count: int, width: int) -> VectorLanes:
    """The vector of chunk number `chunk` among `count` elements; the last chunk may have fewer."""
    end = index(count) if count % width else None
    return VectorLanes(index_var("e", 0, count - 1), chunk * width, end, width)
