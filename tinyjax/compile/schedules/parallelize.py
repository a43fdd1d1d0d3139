"""Parallelize: a loop's iterations shared out among work-items, which run at once.

Work-item 3 runs the iterations of the fourth run. On a CPU runs are long and items few. On a GPU runs are
*cyclic*: of n items, item 3 has iterations 3, 3 + n, 3 + 2 n, ..., so that neighbours load neighbours (CUDA
calls it a grid-stride loop). Applied again, to a loop inside of one that is shared out, it lets several items
share one run.

    for i1 in 0 .. 100:              for i1 in item * 25 .. min(item * 25 + 25, 100):
      ...                              ...
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tinyjax.compile.kernel import kernel_ir as ir
from tinyjax.compile.kernel.indices import Index, index
from tinyjax.compile.kernel.substitution import every_statement, stored_memory, substituted
from tinyjax.compile.schedules.dependences import why_dependent
from tinyjax.compile.schedules.directive import (
    LoopDirective,
    axis_of,
    carried,
    loop_over,
    loops_of,
    with_loop,
)
from tinyjax.compile.schedules.nests import without


@dataclass(frozen=True)
class Parallelize(LoopDirective):
    """The iterations of the loop over `axis` in `items` runs, one for each work-item (or for each that there
    was). Work-items come in whole groups of `group`; those beyond the last run find an empty loop. Runs
    begin at multiples of `multiple`, or are `cyclic`. What follows the loop is for the work-item that is done
    last."""

    items: int
    group: int = 1
    multiple: int = 1
    cyclic: bool = False

    def _why_not(self, kernel: ir.Kernel, loop: ir.For) -> str:
        if self.items < 1:
            return "there must be 1 work-item or more"
        total = kernel.items * self.items
        if kernel.items > 1 and total % self.group:
            return f"{total} work-items do not fill groups of {self.group}"
        if loop.start.op != "const" or loop.stop.op != "const":
            return f"{self.axis} runs from {loop.start} to {loop.stop}, and no constants"
        if (left := carried(loop)) and why_dependent(loop):
            return f"an iteration of {self.axis} needs what others leave in {left}"
        beside = _statements_beside(_parts(kernel.body, self.axis)[0], self.axis)
        apart = [s for s in kernel.body if _is_apart(s, loop)]
        beside = [s for s in beside if not any(s is other for other in apart)]
        if not all(isinstance(s, ir.Let | ir.Load | ir.Allocate | ir.IfLast) for s in beside):
            return f"other work is beside the loop over {self.axis}, and each item would do it"
        return ""

    def _applied(self, kernel: ir.Kernel) -> ir.Kernel:
        total = math.ceil(kernel.items * self.items / self.group) * self.group
        item = ir.item_index(total)

        def shared_out(loop: ir.For) -> list[ir.Statement]:
            whole = loop.stop - loop.start
            number = item if kernel.items == 1 else item % self.items
            if self.cyclic:
                start, stop, step = loop.start + number, loop.stop, total // kernel.items
                is_one = whole.is_const(step)
            else:
                run = math.ceil(whole.lo / self.items / self.multiple) * self.multiple
                start, step = loop.start + number * run, 1
                stop = (start + run).min(loop.stop)
                is_one = (stop - start).is_const(1)
            if is_one:  # there is nothing to go round
                return substituted(loop.body, {self.axis: start})
            return [replace(loop, start=start, stop=stop, step=step)]

        body = _by_first_item(kernel.body, loop_over(kernel, self.axis), item)
        if kernel.items > 1:
            body = substituted(body, {"item": item // self.items})
        body, rest = _parts(body, self.axis)
        buffers = kernel.buffers
        if rest:
            ticket = ir.Buffer("ticket", np.dtype("int32"), 1, "scratch")
            last = ir.IfLast(ticket, rest, origin=rest[0].origin)
            buffers, rest = [*buffers, ticket], [last]
        grown = replace(kernel, items=total, buffers=buffers, body=[*body, *rest])
        return with_loop(grown, self.axis, shared_out)


def _is_apart(statement: ir.Statement, loop: ir.For) -> bool:
    """Whether it is another loop that any one work-item can run at any time: a border beside a loop's main
    piece, say. Neither loads what the other stores."""
    if not isinstance(statement, ir.For) or _has_loop(statement, axis_of(loop)):
        return False
    stored, by_loop = (set(stored_memory([s])) for s in (statement, loop))
    of_buffers = all(isinstance(memory, ir.Buffer) for memory in stored)
    return of_buffers and not (stored & _loaded(loop) or by_loop & _loaded(statement))


def _loaded(statement: ir.Statement) -> set[ir.Buffer | ir.PrivateArray]:
    return {s.source for s in every_statement([statement]) if isinstance(s, ir.Load)}


def _has_loop(statement: ir.Statement, axis: str) -> bool:
    return axis in map(axis_of, loops_of([statement]))


def _by_first_item(body: list[ir.Statement], loop: ir.For, item: Index) -> list[ir.Statement]:
    """The statements, of which loops that are apart are for the first work-item alone."""
    apart = [s for s in body if _is_apart(s, loop)]
    if not apart:
        return body
    is_first = ir.Value("is_first", np.dtype(bool))
    rest = without(body, apart)
    number = next(n for n, s in enumerate(rest) if _has_loop(s, axis_of(loop)))
    with ir.statements_of(apart[0].origin):
        test, guarded = ir.Let(is_first, "eq", (item, index(0))), ir.If(is_first, apart)
    return [*rest[:number], test, guarded, *rest[number:]]


def split_work(count: int, grain: int, most: int) -> tuple[int, int]:
    """(work-items, iterations of each): at least `grain` iterations each, and at most `most` items."""
    items = min(most, max(1, math.ceil(count / max(1, grain))))
    run = math.ceil(count / items)
    return math.ceil(count / run), run


def _parts(body: list[ir.Statement], axis: str) -> tuple[list[ir.Statement], list[ir.Statement]]:
    """The statements up to the loop over an axis, or to one around it; and those after it, for which all of
    the loop must be done."""
    for number, statement in enumerate(body, 1):
        if _has_loop(statement, axis):
            rest = body[number:]
            if not any(isinstance(s, ir.IfLast) for s in rest):
                return body[:number], rest
    return body, []


def _statements_beside(body: Sequence[ir.Statement], axis: str) -> list[ir.Statement]:
    """What is not inside of the loop over an axis, and not a loop around it."""
    beside: list[ir.Statement] = []
    for statement in body:
        if not isinstance(statement, ir.For) or not _has_loop(statement, axis):
            beside.append(statement)
        elif axis_of(statement) != axis:
            beside += _statements_beside(statement.body, axis)
    return beside
