"""Resumable: a kernel whose loop may run long is launched again and again, for some iterations at a time.

A kernel that runs can't be stopped, so the loop gets a bound, and goes on in the next launch from where it
was. What it carries from iteration to iteration are the private arrays from outside of it that it stores to:
they are left in the buffers that they are copied to after the loop, or in new ones. `iterations` says from
where to where (see kernel_ir.Iterations).

    carry_1 = t1                          carry_1 = t1
    for i1 in 0 .. 9:                     if again:
      ...                                   t2 = out0[0]
    t5 = carry_1                            carry_1 = t2
    out0[0] = t5                          for i1 in first .. last:
                                            ...
                                          t5 = carry_1
                                          out0[0] = t5
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tinyjax.compile.kernel import kernel_ir as ir
from tinyjax.compile.kernel.indices import Index, index, index_var
from tinyjax.compile.kernel.substitution import (
    every_statement,
    replaced,
    stored_memory,
    substituted,
)
from tinyjax.compile.schedules.directive import (
    LoopDirective,
    axis_of,
    body_with,
    loop_over,
    loops_of,
    with_body,
)
from tinyjax.compile.schedules.nests import Fresh

INT32, BOOL = np.dtype("int32"), np.dtype(bool)
UNFINISHED, CUT_SHORT = 1, 2  # what a launch leaves in iterations[2]


@dataclass(frozen=True)
class Resumable(LoopDirective):
    """The loop over `axis`, or the outermost while if that is empty, for some iterations a launch. `work` is
    the estimated number of operations in one."""

    work: int
    may_be_while = True

    def _why_not(self, kernel: ir.Kernel, loop: ir.For | ir.While) -> str:
        if kernel.iterations is not None:
            return "it is resumable already"
        if _has_while(loop.body) and not any(s is loop for s in kernel.body):
            return "work-items whose inner loops were cut short would have to wait for each other"
        return ""

    def _applied(self, kernel: ir.Kernel) -> ir.Kernel:
        loop = loop_over(kernel, self.axis)
        with ir.statements_of(loop.origin):
            return _Resumption(kernel, loop).kernel(self.work)


class _Resumption:
    """Writes the statements around a loop."""

    def __init__(self, kernel: ir.Kernel, loop: ir.For | ir.While):
        self.given = kernel
        self.loop = loop
        self.has_inner = _has_while(loop.body)
        self.fresh = Fresh(kernel)
        self.control = ir.Buffer("iterations", INT32, 4, "scratch")
        self.start, self.stop, self.bound = (self.value(x) for x in ("start", "stop", "bound"))
        self.spent = ir.PrivateArray(self.fresh("spent"), INT32, 1)
        self.count = ir.PrivateArray(self.fresh("count"), INT32, 1)
        self.scratch = [self.control]

    def kernel(self, work: int) -> ir.Kernel:
        head: list[ir.Statement] = [
            ir.Load(self.start, self.control, index(0)),
            ir.Load(self.stop, self.control, index(1)),
        ]
        if self.has_inner:
            head += [ir.Load(self.bound, self.control, index(3)), ir.Allocate(self.spent, _int(0))]
        length = None
        if isinstance(self.loop, ir.For):
            length = self.loop.variable.hi + 1
            first, self.first = self._clamped(self.start, max(length - 1, 0))
            last, self.last = self._clamped(self.stop, length)
            head += [*first, *last]
        around = body_with(self.given, self.loop)
        outer = next((loop for loop in loops_of(self.given.body) if loop.body is around), None)
        place = around.index(self.loop)
        new = self._around(around[:place], around[place + 1 :], outer)
        body = with_body(self.given, around, new).body
        iterations = ir.Iterations(length, work, self.has_inner)
        buffers = [*self.given.buffers, *self.scratch]
        return replace(self.given, buffers=buffers, body=[*head, *body], iterations=iterations)

    def _around(
        self, before: Sequence[ir.Statement], after: Sequence[ir.Statement], outer: ir.For | None
    ) -> list[ir.Statement]:
        """The loop with what stands before and after it in its body."""
        stored = set(stored_memory([self.loop]))
        carry = [s.array for s in before if isinstance(s, ir.Allocate) and s.array in stored]
        copies = dict(_copies(after))
        saved = [copies.get(array) or self._save(array, outer) for array in carry]
        again = self.value("again", BOOL)
        restored = [s for copy in saved for s in self._reversed(copy)]
        going_on: list[ir.Statement] = [
            ir.Let(again, "gt", (self.start, _int(0))),
            ir.If(again, restored),
        ]
        new = [s for array, copy in zip(carry, saved) if array not in copies for s in copy]
        rest = [*after, *self._if_unfinished(new)]
        return [*before, *going_on, *self._bounded(), *self._unless_cut_short(rest)]

    # ---- the bound ----

    def _bounded(self) -> list[ir.Statement]:
        """The loop from where it is to go on, and up to the bound."""
        loop = self.loop
        if self.has_inner:
            loop = replace(loop, body=self._inner(loop.body))
        if isinstance(loop, ir.For):
            return [replace(loop, start=self.first, stop=self.last)]
        counter: list[ir.Statement] = [
            ir.Allocate(self.count, None),
            ir.Store(self.count, index(0), self.start),
        ]
        return [*counter, self._counted(loop, self.count, self.stop)]

    def _inner(self, body: list[ir.Statement]) -> list[ir.Statement]:
        """Loops of unknown length inside share one count of iterations."""

        def change(s: ir.Statement) -> list[ir.Statement]:
            if isinstance(s, ir.While):
                return [self._counted(s, self.spent, self.bound)]
            return [s]

        return replaced(body, change)

    def _clamped(self, value: ir.Value, most: int) -> tuple[list[ir.Statement], Index]:
        above, inside = self.value("above"), self.value("inside")
        lets: list[ir.Statement] = [
            ir.Let(above, "max", (value, _int(0))),
            ir.Let(inside, "min", (above, _int(most))),
        ]
        return lets, index_var(inside.name, 0, most)

    def _counted(self, loop: ir.While, counter: ir.PrivateArray, stop: ir.Value) -> ir.While:
        """A while that also ends when its count of iterations is at `stop`. An iteration for which the
        condition fails, as the last one of vectors, is not counted."""
        so_far, one, more = self.value("so_far"), self.value("one"), self.value("more")
        below, holds = self.value("below", BOOL), self.value("holds", BOOL)
        head = [
            *loop.head,
            ir.Load(so_far, counter, index(0)),
            ir.Let(below, "lt", (so_far, stop)),
            ir.Let(holds, "and", (loop.holds, below)),
        ]
        step = [
            ir.Let(one, "convert", (loop.holds,)),
            ir.Let(more, "add", (so_far, one)),
            ir.Store(counter, index(0), more),
        ]
        if loop.body:
            return replace(loop, head=head, holds=holds, body=[*loop.body, *step])
        return replace(loop, head=[*head, *step], holds=holds)

    def _if_unfinished(self, saving: list[ir.Statement]) -> list[ir.Statement]:
        """What only the next launch reads; a while says that there has to be one."""
        if isinstance(self.loop, ir.For):
            return saving
        reached, goes_on = self.value("reached"), self.value("goes_on", BOOL)
        return [
            ir.Load(reached, self.count, index(0)),
            ir.Let(goes_on, "ge", (reached, self.stop)),
            ir.If(goes_on, [ir.Store(self.control, index(2), _int(UNFINISHED)), *saving]),
        ]

    def _unless_cut_short(self, after: list[ir.Statement]) -> list[ir.Statement]:
        """Where a loop inside had too few iterations, what this launch made is wrong."""
        if not self.has_inner:
            return after
        used, is_spent = self.value("used"), self.value("is_spent", BOOL)
        return [
            ir.Load(used, self.spent, index(0)),
            ir.Let(is_spent, "ge", (used, self.bound)),
            ir.If(is_spent, [ir.Store(self.control, index(2), _int(CUT_SHORT))], after),
        ]

    # ---- the carry between launches ----

    def _save(self, array: ir.PrivateArray, outer: ir.For | None) -> list[ir.Statement]:
        """A private array that is copied nowhere, stored to a buffer of its own: one for each iteration of
        the loop around, as another of these may be a launch ahead."""
        at = ir.item_index(self.given.items) if outer is None else outer.variable
        count = (at.hi + 1) * array.size * array.width
        kept = ir.Buffer(self.fresh("kept"), array.dtype, count, "scratch")
        self.scratch.append(kept)
        i = index_var(self.fresh("element"), 0, array.size - 1) if array.size > 1 else index(0)
        value = ir.Value(self.fresh("t"), array.dtype, array.width)
        place = (at * array.size + i) * array.width
        copy: list[ir.Statement] = [ir.Load(value, array, i), ir.Store(kept, place, value)]
        return [ir.For(i, index(0), index(array.size), copy)] if array.size > 1 else copy

    def _reversed(self, copy: list[ir.Statement]) -> list[ir.Statement]:
        """The statements that copy a buffer to a private array, given those that copy the array there."""
        match copy:
            case [ir.For() as loop]:
                variable = replace(loop.variable, args=(self.fresh(axis_of(loop)),))
                body = substituted(self._reversed(loop.body), {axis_of(loop): variable})
                return [replace(loop, variable=variable, body=body)]
            case [ir.Load(value, array, i), ir.Store(buffer, at, _, end)]:
                value = replace(value, name=self.fresh(value.name))
                return [ir.Load(value, buffer, at, end), ir.Store(array, i, value)]
        raise AssertionError(f"{copy} copies no array")

    # ---- names ----

    def value(self, name: str, dtype: np.dtype = INT32) -> ir.Value:
        return ir.Value(self.fresh(name), dtype)


def _int(number: int) -> ir.Const:
    return ir.Const(np.int32(number), INT32)


def _has_while(body: Sequence[ir.Statement]) -> bool:
    return any(isinstance(s, ir.While) for s in every_statement(body))


def _copies(body: Sequence[ir.Statement]) -> Iterator[tuple[Any, list[ir.Statement]]]:
    """The private arrays that are copied to buffers, each with the statements that do so."""
    for first, second in zip(body, [*body[1:], None]):
        match first, second:
            case ir.For(body=[ir.Load(_, ir.PrivateArray() as array), ir.Store(ir.Buffer())]), _:
                yield array, [first]
            case ir.Load(value, ir.PrivateArray() as array), ir.Store(ir.Buffer(), _, other) if (
                value == other
            ):
                yield array, [first, second]
