"""Round up: the last tile gets as many rows as the others, so that all can be unrolled.

A tile of four rows may compute the last row again, because a loop with a fixed number of iterations needs no
test in each. Iterations beyond the end read operands at the last place, compute into extra room in private
arrays, and store no result.

    for row in tile * 4 .. min(tile * 4 + 4, 10):      for row in 0 .. 4:
      a:f32 = a_in[row * 30 + k]                         a:f32 = a_in[min(tile * 4 + row, 9) * 30 + k]
      c_out[row] = a                                     for row_stored in tile * 4 + row .. min(.., 10) by 4:
                                                           c_out[row_stored] = a

Source: Halide's TailStrategy::RoundUp, https://halide-lang.org/docs/namespace_halide.html
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tinyjax.compile.kernel.indices import Index, index, index_var
from tinyjax.compile.kernel.kernel_ir import Buffer, For, Kernel, Load, Statement, Store
from tinyjax.compile.kernel.substitution import rewritten, substituted
from tinyjax.compile.schedules.dependences import iterations
from tinyjax.compile.schedules.directive import LoopDirective


@dataclass(frozen=True)
class RoundUp(LoopDirective):
    """The loop over `axis` has `count` iterations in the last chunk too, and counts them from 0."""

    count: int

    def _why_not(self, kernel: Kernel, loop: For) -> str:
        if iterations(loop) > self.count:
            return f"{self.axis} may have {iterations(loop)} iterations"
        return ""

    def _changed(self, loop: For) -> list[Statement]:
        number = index_var(self.axis, 0, self.count - 1)
        place = loop.start + number
        inside = place.min(loop.variable.hi)
        is_full = (loop.stop - loop.start).is_const(self.count)

        def counted(statement: Statement) -> Statement:
            match statement:
                case For():  # the statements within have been changed before
                    start, stop = _with(statement.start), _with(statement.stop)
                    return replace(statement, start=start, stop=stop)
                case Store(Buffer()) if not is_full:
                    # One iteration, or none. It has steps, so that WorkGroups does not share it out.
                    once = replace(loop.variable, args=(f"{self.axis}_stored",))
                    body = substituted([statement], {self.axis: once})
                    stop = (place + 1).min(loop.stop)
                    return For(once, place, stop, body, self.count, origin=loop.origin)
            is_operand = isinstance(statement, Load) and isinstance(statement.source, Buffer)
            return substituted([statement], {self.axis: inside if is_operand else place})[0]

        def _with(at: Index) -> Index:
            return at.with_variables(lambda v: place if v == loop.variable else v)

        body = rewritten(loop.body, counted)
        return [For(number, index(0), index(self.count), body, origin=loop.origin)]
