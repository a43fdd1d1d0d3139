"""Grid: a loop's iterations shared out among work-items, which run at once.

After this file you can say which iterations work-item 3 runs: those of the fourth run. On a CPU runs are long
and items few; on a GPU an item has one iteration, and its neighbours in a group the next ones. Applied again,
to a loop inside of one that is shared out, it lets several items share one run. Builds on directive.

    for i1 in 0 .. 100:              for i1 in item * 25 .. min(item * 25 + 25, 100):
      ...                              ...
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tinyjax.compile.kernel.kernel_ir import (
    Allocate,
    For,
    Kernel,
    Let,
    Load,
    Statement,
    item_index,
)
from tinyjax.compile.kernel.substitution import substituted
from tinyjax.compile.schedules.directive import (
    Directive,
    axis_of,
    carried,
    find_loop,
    loops_of,
    no_such_axis,
    with_loop,
)


@dataclass(frozen=True)
class Grid(Directive):
    """The iterations of the loop over `axis` in `items` runs, one for each work-item (or for each that there
    was). Work-items come in whole groups of `group`; those beyond the last run find an empty loop."""

    axis: str
    items: int
    group: int = 1

    def why_not(self, kernel: Kernel) -> str:
        loop = find_loop(kernel, self.axis)
        if loop is None:
            return no_such_axis(kernel, self.axis)
        if self.items < 1:
            return "there must be 1 work-item or more"
        if loop.start.op != "const" or loop.stop.op != "const":
            return f"{self.axis} runs from {loop.start} to {loop.stop}, and no constants"
        if left := carried(loop):
            return f"an iteration of {self.axis} needs what others leave in {left}"
        beside = _statements_beside(kernel.body, self.axis)
        if not all(isinstance(s, Let | Load | Allocate) for s in beside):
            return f"other work is beside the loop over {self.axis}, and each item would do it"
        return ""

    def _applied(self, kernel: Kernel) -> Kernel:
        total = math.ceil(kernel.items * self.items / self.group) * self.group
        item = item_index(total)

        def shared_out(loop: For) -> list[Statement]:
            run = math.ceil((loop.stop - loop.start).lo / self.items)
            number = item if kernel.items == 1 else item % self.items
            start = loop.start + number * run
            return [replace(loop, start=start, stop=(start + run).min(loop.stop))]

        body = kernel.body
        if kernel.items > 1:
            body = substituted(body, {"item": item // self.items})
        return with_loop(replace(kernel, items=total, body=body), self.axis, shared_out)


def _statements_beside(body: Sequence[Statement], axis: str) -> list[Statement]:
    """What is not inside of the loop over an axis, and not a loop around it."""
    for statement in body:
        if isinstance(statement, For):
            around = [axis_of(loop) for loop in loops_of([statement])]
            if axis in around:
                others = [s for s in body if s is not statement]
                inner = (
                    [] if axis_of(statement) == axis else _statements_beside(statement.body, axis)
                )
                return others + inner
    return []
