"""Where a kernel finds a value: MemRef, a view of memory with an offset and a stride, as MLIR's memref.

A load's value may be a row of a stack, or the elements at one place of all its rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tinyjax.compile.kernel.indices import Index, index
from tinyjax.compile.kernel.kernel_ir import Buffer, PrivateArray, Scalar


@dataclass(frozen=True)
class MemRef:
    """Where a value's elements are: in `memory`, from `start` on, each `stride` elements after the last.
    With `only_if`, it is stored only if that is true."""

    memory: Buffer | PrivateArray
    start: Index = index(0)
    stride: int = 1
    only_if: Scalar | None = None

    def place(self, at: Index) -> Index:
        """Where element number `at` is."""
        return self.start + at * self.stride

    def part(self, at: Index) -> MemRef:
        """What begins at element number `at`."""
        return replace(self, start=self.place(at))
