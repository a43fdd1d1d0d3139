"""Fuse: perfectly nested loops become one.

Most elementwise kernels have a single loop: the elements are numbered as they lie in memory, and the position
`i1 * 100 + i2` is that number. An operation that needs only the row or the column must divide: `i1` is `i1_i2
/ 100`. Where that is too slow, the loops stay.

    for i1 in 0 .. 20:               for i1_i2 in 0 .. 2000:
      for i2 in 0 .. 100:              a:f32 = a_in[i1_i2]
        a:f32 = a_in[i1 * 100 + i2]

Source: Halide's fuse, https://halide-lang.org/tutorials/tutorial_lesson_05_scheduling_1.html
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tinyjax.compile.kernel import kernel_ir as ir
from tinyjax.compile.kernel.indices import Index, index, index_var
from tinyjax.compile.kernel.substitution import every_statement, substituted
from tinyjax.compile.schedules import directive


@dataclass(frozen=True)
class Fuse(directive.Directive):
    """Perfectly nested loops over `axes`, as one loop. Its axis has their names, joined by _."""

    axes: tuple[str, ...]

    def why_not(self, kernel: ir.Kernel) -> str:
        if len(self.axes) < 2:
            return "it takes two axes or more"
        if reason := directive.no_such_axis(kernel, *self.axes):
            return reason
        loops = [directive.loop_over(kernel, axis) for axis in self.axes]
        for axis, loop in zip(self.axes, loops):
            if not loop.start.is_const(0) or loop.stop.op != "const":
                return f"{axis} runs from {loop.start} to {loop.stop}, not from 0 to a constant"
        return directive.why_not_perfect(loops)

    def _applied(self, kernel: ir.Kernel) -> ir.Kernel:
        return directive.with_loop(kernel, self.axes[0], lambda loop: [self._collapsed(loop)])

    def _collapsed(self, loop: ir.For) -> ir.For:
        nest = directive.perfect_nest([loop])[: len(self.axes)]
        sizes = [inner.stop.lo for inner in nest]
        body, count = nest[-1].body, math.prod(sizes)
        flat = index_var("_".join(self.axes), 0, count - 1)
        places, rest = {}, flat
        for axis, size in zip(reversed(self.axes), reversed(sizes)):
            places[axis] = rest % size
            rest = rest // size
        return ir.For(flat, index(0), index(count), substituted(body, places), origin=loop.origin)


def divides(kernel: ir.Kernel, axis: str) -> bool:
    """Whether an index in the loop over an axis is found by division."""
    for statement in every_statement(directive.loop_over(kernel, axis).body):
        used = [getattr(statement, "index", None), *getattr(statement, "args", ())]
        for at in used:
            if isinstance(at, Index) and any(part.op in "/%" for part in at.parts()):
                return True
    return False
