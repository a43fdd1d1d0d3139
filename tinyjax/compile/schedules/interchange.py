"""Interchange: two loops change places, and an accumulator becomes an array of them.

After this file you can say why a sum of columns reads memory in its order. The naive nest takes a column
and walks down all of its rows, each far from the last one in memory. With the loops interchanged, it
takes a row, and adds each of its elements to its column's accumulator: there is one for each column.
(Compilers call this scalar expansion, loop distribution and loop interchange.) Builds on distribute.

    for i1 in 0 .. 40:                    acc1:f32 = 40 elements of 0.0
      acc1:f32 = variable of 0.0          for i2 in 0 .. 30:
      for i2 in 0 .. 30:                    for i1 in 0 .. 40:
        a:f32 = x_in[i2 * 40 + i1]            a:f32 = x_in[i2 * 40 + i1]
        acc1 = add acc1 a                     acc1[i1] = add acc1[i1] a
      b:f32 = acc1                        for i1_result in 0 .. 40:
      y_out[i1] = b                         b:f32 = acc1[i1_result]
                                            y_out[i1_result] = b
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tinyjax.compile.kernel.indices import index, index_var
from tinyjax.compile.kernel.kernel_ir import Allocate, For, Kernel, Let, Load, Statement
from tinyjax.compile.kernel.substitution import substituted
from tinyjax.compile.schedules.dependences import ends, why_dependent
from tinyjax.compile.schedules.directive import (
    LoopDirective,
    axis_of,
    carried,
    find_loop,
    with_loop,
)
from tinyjax.compile.schedules.distribute import in_array
from tinyjax.compile.schedules.nests import Fresh, names_in, stored_names


@dataclass(frozen=True)
class Interchange(LoopDirective):
    """The loop over `inner`, which stands in that over `axis`, goes around it. All there but its accumulators
    is done in a loop of its own after it, over axis_result."""

    inner: str

    def _why_not(self, kernel: Kernel, loop: For) -> str:
        before, inner, _ = _parts(loop, self.inner)
        if inner is None:
            return f"the loop over {self.inner} does not stand directly in that over {self.axis}"
        if not all(_is_accumulator(s) or _can_wait(s, inner) for s in before):
            return f"more than accumulators are made before the loop over {self.inner}"
        if any(loop.variable in at.parts() for at in (inner.start, inner.stop)):
            return f"how far the loop over {self.inner} goes depends on {self.axis}"
        if (left := carried(loop)) and why_dependent(loop):
            return f"an iteration of {self.axis} needs what others leave in {left}"
        return ""

    def _applied(self, kernel: Kernel) -> Kernel:
        name = f"{self.axis}_result"
        if find_loop(kernel, name) is not None:  # of an interchange with another loop before
            name = Fresh(kernel)(name)
        return with_loop(kernel, self.axis, lambda loop: self._interchanged(loop, name))

    def _interchanged(self, loop: For, result: str) -> list[Statement]:
        outer = _from_zero(loop)
        before, inner, after = _parts(outer, self.inner)
        assert inner is not None
        made = [s for s in before if isinstance(s, Allocate)]
        after = [*(s for s in before if not isinstance(s, Allocate)), *after]
        allocated, within = list[Statement](), inner.body
        for s in made:
            array = replace(s.array, size=outer.variable.hi + 1)
            allocated.append(replace(s, array=array))
            within, after = (
                in_array(body, s.array, array, outer.variable) for body in (within, after)
            )
        again = index_var(result, 0, outer.variable.hi)
        rest = substituted(after, {self.axis: again})
        return [
            *allocated,
            replace(inner, body=[replace(outer, body=within)]),
            replace(outer, variable=again, body=rest),
        ]


def _is_accumulator(s: Statement) -> bool:
    return isinstance(s, Allocate) and s.initial is not None and s.array.size == 1


def _can_wait(s: Statement, inner: For) -> bool:
    """Whether a statement before the inner loop may come after it."""
    if not isinstance(s, Let | Load) or s.target.name in names_in(inner):
        return False
    return names_in(s).isdisjoint(stored_names([inner]))


def _from_zero(loop: For) -> For:
    """The loop with a variable that counts its iterations from 0."""
    if loop.start.is_const(0):
        return loop
    first, *others = (end - loop.start for end in ends(loop.stop))
    for other in others:
        first = first.min(other)
    variable = index_var(axis_of(loop), 0, first.hi - 1)
    place = (loop.start + variable).min(loop.variable.hi)
    body = substituted(loop.body, {axis_of(loop): place})
    return For(variable, index(0), first, body, origin=loop.origin)


def _parts(loop: For, inner: str) -> tuple[list[Statement], For | None, list[Statement]]:
    """What stands before the inner loop, the loop, and what stands after it."""
    for n, statement in enumerate(loop.body):
        if isinstance(statement, For) and axis_of(statement) == inner:
            return loop.body[:n], statement, loop.body[n + 1 :]
    return loop.body, None, []
