"""Where a kernel finds a value: MemRef, a view of memory with an offset, as MLIR's memref.

A value may be a row of a stack.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from tinyjax.compile.kernel.indices import Index, index
from tinyjax.compile.kernel.kernel_ir import Buffer, KernelError, PrivateArray
from tinyjax.compile.kernel.rules import Position
from tinyjax.core.jaxpr import Atom


@dataclass(frozen=True)
class Example:
    """One example of a value of this shape: memory has only the part at `coords` from that axis on."""

    shape: tuple[int, ...]
    axis: int
    coords: tuple[Index, ...]

    @property
    def end(self) -> int:
        """The axis after the examples' axes."""
        return self.axis + len(self.coords)

    @property
    def first(self) -> Index:
        """The number of its first element."""
        own = Position(self.shape[self.axis : self.end], self.coords).flat
        return own * math.prod(self.shape[self.end :])

    def place(self, at: Index) -> Index:
        """Where element number `at` of the full value is. Raises KernelError if it is another example's."""
        start, end, coords = self.axis, self.end, Position(self.shape, flat=at).coords
        if coords[start:end] != self.coords:
            raise KernelError(f"element {at} of {list(self.shape)} is another example's")
        others = self.shape[:start] + self.shape[end:]
        return Position(others, coords[:start] + coords[end:]).flat


@dataclass(frozen=True)
class MemRef:
    """Where a value's elements are: in `memory`, from `start` on. With `example`, memory has only that part.
    The two floats of a complex number are neighbours in a buffer; a private array has all real parts first,
    so that these are."""

    memory: Buffer | PrivateArray
    start: Index = index(0)
    example: Example | None = None
    is_complex: bool = False

    @classmethod
    def of(cls, v: Atom, memory: Buffer | PrivateArray) -> MemRef:
        """The place of the whole value `v`."""
        return cls(memory, is_complex=v.aval.dtype.kind == "c")

    def place(self, at: Index) -> Index:
        """Where element number `at` is."""
        if self.example is not None:
            at = self.example.place(at)
        return self.start + at

    def parts(self, at: Index) -> list[Index]:
        """Where element number `at` is, or its real and its imaginary part."""
        at = self.place(at)
        if not self.is_complex:
            return [at]
        is_private = isinstance(self.memory, PrivateArray)
        return [at, at + self.memory.size // 2] if is_private else [at * 2, at * 2 + 1]

    def part(self, at: Index) -> MemRef:
        """The part that begins at element number `at`: a row of the value."""
        if self.example is None:
            return replace(self, start=self.place(at))
        shape, axis = self.example.shape, self.example.axis
        row = replace(self.example, shape=shape[1:], axis=axis - 1)
        first = self.example.place(at + row.first)
        return replace(self, start=self.start + first, example=row)
