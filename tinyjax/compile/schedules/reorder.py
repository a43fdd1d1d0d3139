"""Reorder: loops that are nested in another order.

The naive nest takes a column and walks down all of its rows, each far from the last one in memory. In the
other order it takes a row, and adds each of its elements to its column's accumulator. That may be if no
iteration of the outer loop depends on another. Where a loop moves out of one that has more in it, that one is
distributed, and variables become arrays: of accumulators, there is one for each column.

    for i1 in 0 .. 40:                    each_acc1:f32 = 64 elements of 0.0
      acc1:f32 = variable of 0.0          for i2 in 0 .. 30:
      for i2 in 0 .. 30:                    for i1 in 0 .. 40:
        a:f32 = x_in[i2 * 40 + i1]            a:f32 = x_in[i2 * 40 + i1]
        acc1 = add acc1 a                     each_acc1[i1] = add each_acc1[i1] a
      b:f32 = acc1                        for i3 in 0 .. 40:
      y_out[i1] = b                         b:f32 = each_acc1[i3]
                                            y_out[i3] = b

Two loops that are split and reordered so that they go through small rectangles are tiled (`tile`). That is
how an array is transposed fast: along the rows of the result, the elements of the operand are far apart. Each
comes with a line of the cache, whose other elements the next rows need: in a tile, all lines are still there.

    for i1 in 0 .. 300:              for i1_outer in 0 .. 10:
      for i2 in 0 .. 300:              for i2_outer in 0 .. 10:
        ...                              for i1_inner in i1_outer * 30 .. i1_outer * 30 + 30:
                                           for i2_inner in i2_outer * 30 .. i2_outer * 30 + 30:
                                             ...

Source: Halide's tile, https://halide-lang.org/tutorials/tutorial_lesson_05_scheduling_1.html
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tinyjax.compile.kernel.kernel_ir import Allocate, For, Kernel, Let, Load, Statement
from tinyjax.compile.schedules.directive import Directive, axis_of, loop_over, with_loop
from tinyjax.compile.schedules.distribute import distributed, why_not_around
from tinyjax.compile.schedules.nests import Fresh, names_in, stored_names
from tinyjax.compile.schedules.split import Split


@dataclass(frozen=True)
class Reorder(Directive):
    """The loop over `inner` becomes the one around the loops over `around`, each of which is all that the one
    before it has inside; it was in the last of them. An iteration works with a variable in a register, from
    loading to storing it, or `in_memory`: with the element of its array."""

    inner: str
    around: tuple[str, ...]
    in_memory: bool = False

    def why_not(self, kernel: Kernel) -> str:
        if reason := why_not_around(kernel, self.around, self.inner):
            return reason
        loop = loop_over(kernel, self.inner)
        if names_in([loop.start, loop.stop]) & set(self.around):
            return f"{self.inner} runs from {loop.start} to {loop.stop}, which a loop around it decides"
        body = loop_over(kernel, self.around[-1]).body
        first, _ = _parted(body[: body.index(loop)], loop)
        if self.in_memory and not all(isinstance(s, Allocate) for s in first):
            return f"more than accumulators are made before the loop over {self.inner}"
        return ""

    def _applied(self, kernel: Kernel) -> Kernel:
        nest, loop = [loop_over(kernel, a) for a in self.around], loop_over(kernel, self.inner)
        body = nest[-1].body
        number = body.index(loop)
        first, waiting = _parted(body[:number], loop)
        parts = [first, loop.body, [*waiting, *body[number + 1 :]]]
        made, (before, within, after) = distributed(nest, parts, 1, Fresh(kernel), self.in_memory)
        new = [*made, *before, replace(loop, body=within), *after]
        return with_loop(kernel, axis_of(nest[0]), lambda _: new)


def tile(axes: Sequence[str], height: int, width: int, why: str) -> list[Directive]:
    """The first and the last of nested loops in tiles of `height` by `width`; those between come first."""
    rows, *between, columns = axes
    split = f"{rows}_outer", f"{rows}_inner"
    return [
        Split(rows, height, why=why),
        Split(columns, width, why=why),
        *(Reorder(axis, split, why=why) for axis in between),
        Reorder(f"{columns}_outer", split[1:], why=why),
    ]


def _parted(before: list[Statement], loop: For) -> tuple[list[Statement], list[Statement]]:
    """What the loop needs of the statements before it, and values that can wait until after it."""
    needed, stored = names_in(loop), stored_names([loop])
    first, waiting = list[Statement](), list[Statement]()
    for s in reversed(before):
        if isinstance(s, Let | Load) and s.target.name not in needed and not names_in(s) & stored:
            waiting.insert(0, s)
        else:
            first.insert(0, s)
            needed |= names_in(s)
            stored |= stored_names([s])
    return first, waiting
