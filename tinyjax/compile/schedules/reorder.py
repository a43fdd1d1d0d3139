"""Reorder: loops that are nested in another order.

After this file you can say when two loops may be interchanged: if no iteration of the outer one depends on
another, all that an iteration of the inner one needs was there before. Where a loop moves out of one that has
more in it, that one is distributed, and variables become arrays: the accumulator of a sum, one for each
element of a tile. Builds on distribute.

    for row in 0 .. 4:               each_acc1 = 4 elements of 0.0
      acc1 = 0.0                     for run in 0 .. 3:
      for run in 0 .. 3:               for row in 0 .. 4:
        ...                              ...
      a_out[row] = acc1              for row1 in 0 .. 4:
                                       a_out[row1] = each_acc1[row1]
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tinyjax.compile.kernel.kernel_ir import Kernel
from tinyjax.compile.schedules.directive import Directive, axis_of, loop_over, with_loop
from tinyjax.compile.schedules.distribute import distributed, why_not_around
from tinyjax.compile.schedules.nests import Fresh, names_in


@dataclass(frozen=True)
class Reorder(Directive):
    """The loop over `inner` becomes the one around the loops over `around`, each of which is all that the one
    before it has inside; it was in the last of them."""

    inner: str
    around: tuple[str, ...]

    def why_not(self, kernel: Kernel) -> str:
        if reason := why_not_around(kernel, self.around, self.inner):
            return reason
        loop = loop_over(kernel, self.inner)
        if names_in([loop.start, loop.stop]) & set(self.around):
            return f"{self.inner} runs from {loop.start} to {loop.stop}, which a loop around it decides"
        return ""

    def _applied(self, kernel: Kernel) -> Kernel:
        nest, loop = [loop_over(kernel, a) for a in self.around], loop_over(kernel, self.inner)
        body = nest[-1].body
        number = body.index(loop)
        parts = [body[:number], loop.body, body[number + 1 :]]
        made, (before, within, after) = distributed(nest, parts, 1, Fresh(kernel))
        new = [*made, *before, replace(loop, body=within), *after]
        return with_loop(kernel, axis_of(nest[0]), lambda _: new)
