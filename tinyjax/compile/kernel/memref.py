"""Where a kernel finds a value: MemRef, a view of memory with an offset and strides, as MLIR's memref.

After this file you can say which elements a load takes whose value is a row of a stack, the first part of
a buffer, or a vector of neighbours. Builds on kernel_ir.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tinyjax.compile.kernel.indices import Index, index
from tinyjax.compile.kernel.kernel_ir import Buffer, PrivateArray, Scalar


@dataclass(frozen=True)
class MemRef:
    """Where a value's elements are: in `memory`, from `start` on, and before `end` if that is given.

    `width` elements are read at once, as a vector, and the next element of the same lane is `scale`
    elements away. With `only_if`, it is stored only if that is true."""

    memory: Buffer | PrivateArray
    start: Index = index(0)
    end: Index | None = None
    width: int = 1
    scale: int = 1
    only_if: Scalar | None = None

    def bounds(self, at: Index) -> tuple[Index, Index | None]:
        """Where element number `at` is, and where the elements end."""
        moved = at * self.scale
        return self.start + moved, None if self.end is None else self.end + moved

    def part(self, at: Index) -> MemRef:
        """What begins at element number `at`."""
        start, end = self.bounds(at)
        return replace(self, start=start, end=end)
