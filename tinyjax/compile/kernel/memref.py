"""Where a kernel finds a value: MemRef, a view of memory with an offset and a stride, as MLIR's memref.

A load's value may be a row of a stack, or the elements at one place of all its rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from tinyjax.compile.kernel.indices import Index, index
from tinyjax.compile.kernel.kernel_ir import Buffer, KernelError, PrivateArray, Scalar


@dataclass(frozen=True)
class Example:
    """Of a value of this shape, only what is at place `number` of an axis is in memory."""

    shape: tuple[int, ...]
    axis: int
    number: Index

    @property
    def first(self) -> Index:
        """The number of its first element."""
        return self.number * math.prod(self.shape[self.axis + 1 :])

    def place(self, at: Index) -> Index:
        """Where element number `at` of the whole value is. Raises KernelError if it is another example's."""
        coords, rest = list[Index](), at
        for size in reversed(self.shape):
            coords.insert(0, rest % size)
            rest = rest // size
        if coords[self.axis] != self.number:
            raise KernelError(f"element {at} of {list(self.shape)} is not that of {self.number}")
        place = index(0)
        for axis, (coord, size) in enumerate(zip(coords, self.shape)):
            place = place if axis == self.axis else place * size + coord
        return place


@dataclass(frozen=True)
class MemRef:
    """Where a value's elements are: in `memory`, from `start` on, each `stride` elements after the last.
    With `only_if`, it is stored only if that is true; with `example`, only that part of it is there."""

    memory: Buffer | PrivateArray
    start: Index = index(0)
    stride: int = 1
    only_if: Scalar | None = None
    example: Example | None = None

    def place(self, at: Index) -> Index:
        """Where element number `at` is."""
        if self.example is not None:
            at = self.example.place(at)
        return self.start + at * self.stride

    def part(self, at: Index) -> MemRef:
        """What begins at element number `at`: a row of the value."""
        if self.example is None:
            return replace(self, start=self.place(at))
        shape, axis = self.example.shape, self.example.axis
        row = replace(self.example, shape=shape[1:], axis=axis - 1)
        first = self.example.place(at + row.first)
        return replace(self, start=self.start + first * self.stride, example=row)
