"""Parallelize: a loop's iterations shared out among work-items, which run at once.

Work-item 3 has the fourth run of iterations. On a CPU runs are long and items few. Items of groups, on a GPU,
are *cyclic*: of n items, item 3 has iterations 3, 3 + n, 3 + 2 n, ..., so that neighbours load neighbours
(CUDA calls it a grid-stride loop). Applied again, to an inner loop, it lets several items share a run.

    for i1 in 0 .. 100:              for i1 in item * 25 .. min(item * 25 + 25, 100):
      ...                              ...
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from tinyjax.compile.kernel import kernel_ir as ir
from tinyjax.compile.kernel.substitution import (
    allocated,
    loaded_memory,
    replaced,
    stored_memory,
    substituted,
)
from tinyjax.compile.schedules import directive
from tinyjax.compile.schedules.dependences import why_in_order
from tinyjax.compile.schedules.nests import without


@dataclass(frozen=True)
class Parallelize(directive.LoopDirective):
    """Splits the iterations of the loop over `axis` into `items` runs, one for each work-item (or one for
    each existing work-item), which begin at multiples of `multiple`. Work-items that come in whole groups of
    `group` take every n-th iteration instead. Those beyond the last iteration get an empty loop. Independent
    loops beside it are shared out likewise. The work-item that finishes last runs all other statements after
    the loop."""

    items: int
    group: int = 1
    multiple: int = 1

    def _why_not(self, kernel: ir.Kernel, loop: ir.For) -> str:
        if self.items < 1:
            return "there must be 1 work-item or more"
        total = kernel.items * self.items
        if kernel.items > 1 and total % self.group:
            return f"{total} work-items do not fill groups of {self.group}"
        if loop.start.op != "const" or loop.stop.op != "const":
            return f"{self.axis} runs from {loop.start} to {loop.stop}, and no constants"
        if reason := why_in_order(loop):
            return reason
        own = ir.Let | ir.Load | ir.Allocate | ir.IfLast
        if all(isinstance(s, own) or _is_apart(s, loop) for s in _beside(kernel.body, self.axis)):
            return ""
        return f"other work is beside the loop over {self.axis}, and each item would do it"

    def _applied(self, kernel: ir.Kernel) -> ir.Kernel:
        total = math.ceil(kernel.items * self.items / self.group) * self.group
        item = ir.item_index(total)

        def shared_out(loop: ir.Statement) -> ir.Body:
            if not isinstance(loop, ir.For) or directive.axis_of(loop) not in axes:
                return [loop]
            number = item if kernel.items == 1 else item % self.items
            if self.group > 1:
                return directive.every_nth(loop, number, total // kernel.items)
            count = (loop.stop - loop.start).lo
            run = math.ceil(count / self.items / self.multiple) * self.multiple
            start = loop.start + number * run
            stop = (start + run).min(loop.stop)
            if (stop - start).is_const(1):  # it needs no loop
                return substituted(loop.body, {directive.axis_of(loop): start})
            return [replace(loop, start=start, stop=stop)]

        main, body = directive.loop_over(kernel, self.axis), kernel.body
        apart = [s for s in _beside(body, self.axis) if _is_apart(s, main)]
        axes = set(map(directive.axis_of, [main, *apart]))
        if kernel.items > 1:
            body = substituted(body, {"item": item // self.items})
        body, rest = _parts(body, self.axis)
        buffers = kernel.buffers
        if rest:
            ticket = ir.Buffer("ticket", np.dtype("int32"), 1, "scratch")
            last = ir.IfLast(ticket, rest, origin=rest[0].origin)
            buffers, rest = [*buffers, ticket], [last]
        new = replaced([*body, *rest], shared_out)
        return replace(kernel, items=total, buffers=buffers, body=new)


def _beside(body: ir.Body, axis: str) -> ir.Body:
    """The statements that all work-items run besides the loop over an axis, here and in outer loops."""
    path = directive.path_to(_parts(body, axis)[0], axis)
    loops = [s for _, s in path if isinstance(s, ir.For)]
    return [s for part, _ in path for s in without(part, loops)]


def _is_apart(statement: ir.Statement, loop: ir.For) -> bool:
    """Whether it is a loop to share out together with this one, such as a border beside the main piece.
    Neither loop loads what the other stores."""
    if not isinstance(statement, ir.For) or why_in_order(statement):
        return False
    stored, by_loop = (set(stored_memory([s])) for s in (statement, loop))
    is_fixed = statement.start.op == statement.stop.op == "const"
    of_buffers = all(isinstance(memory, ir.Buffer) for memory in stored - allocated([statement]))
    is_read = stored & loaded_memory([loop]) or by_loop & loaded_memory([statement])
    return is_fixed and of_buffers and not is_read


def split_work(count: int, grain: int, most: int) -> tuple[int, int]:
    """(work-items, iterations of each): at least `grain` iterations each, and at most `most` items."""
    items = min(most, max(1, math.ceil(count / max(1, grain))))
    run = math.ceil(count / items)
    return math.ceil(count / run), run


def _parts(body: ir.Body, axis: str) -> tuple[ir.Body, ir.Body]:
    """Two parts: the statements up to the loop over an axis (or one around it), with independent ones after
    it; and the statements that need the whole loop to be finished."""
    path = directive.path_to(body, axis)
    number = body.index(path[0][1]) + 1
    while number < len(body) and _is_apart(body[number], path[-1][1]):
        number += 1
    is_last = any(isinstance(s, ir.IfLast) for s in body[number:])
    return (body, []) if is_last else (body[:number], body[number:])
