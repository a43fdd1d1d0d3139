"""Tile: two loops in small rectangles, so that what one row reads is still in the cache for the next.

After this file you can say how an array is transposed fast. Along the rows of the result, the operand's
elements are far apart: each comes with a line of the cache, whose other elements the next rows of the result
need. In a tile of 32 rows and columns, all lines are still there. Builds on split.

    for i1 in 0 .. 300:              for i1_outer in 0 .. 10:
      for i2 in 0 .. 300:              for i2_outer in 0 .. 10:
        ...                              for i1_inner in i1_outer * 32 .. min(i1_outer * 32 + 32, 300):
                                           for i2_inner in i2_outer * 32 .. min(i2_outer * 32 + 32, 300):
                                             ...

Source: Halide's tile, https://halide-lang.org/tutorials/tutorial_lesson_05_scheduling_1.html
"""

from __future__ import annotations

from dataclasses import dataclass

from tinyjax.compile.kernel.kernel_ir import For, Kernel, Statement
from tinyjax.compile.schedules.directive import (
    Directive,
    axis_of,
    carried,
    in_loops,
    loop_over,
    perfect_nest,
    with_loop,
)
from tinyjax.compile.schedules.split import Split


@dataclass(frozen=True)
class Tile(Directive):
    """The loops over `rows` and `columns`, and those between, of which each is all that the one before it has
    inside: those between come first, then both over tiles, then both within a tile, which has `height` rows
    and `width` columns."""

    rows: str
    columns: str
    height: int
    width: int

    def why_not(self, kernel: Kernel) -> str:
        for split in self._splits():
            if reason := split.why_not(kernel):
                return reason
        outer = loop_over(kernel, self.rows)
        nest = _nest(outer, self.columns)
        if self.rows == self.columns or not nest:
            return f"{self.columns} is not nested perfectly in {self.rows}"
        if left := carried(outer):
            return f"an iteration of {self.rows} needs what others leave in {left}"
        if any(at.op != "const" for loop in nest for at in (loop.start, loop.stop)):
            return f"not all loops from {self.rows} to {self.columns} have constant bounds"
        return ""

    def _applied(self, kernel: Kernel) -> Kernel:
        for split in self._splits():
            kernel = split.apply(kernel)
        return with_loop(kernel, f"{self.rows}_outer", self._reordered)

    def _splits(self) -> list[Split]:
        return [Split(self.rows, self.height), Split(self.columns, self.width)]

    def _reordered(self, loop: For) -> list[Statement]:
        row_tiles, rows, *between, column_tiles, columns = _nest(loop, f"{self.columns}_inner")
        return in_loops([*between, row_tiles, column_tiles, rows, columns], columns.body)


def _nest(loop: For, last: str) -> list[For]:
    """The loops from this one to that over `last`, each all that the one before it has inside; else none."""
    nest = perfect_nest([loop])
    axes = [axis_of(inner) for inner in nest]
    return nest[: axes.index(last) + 1] if last in axes else []
