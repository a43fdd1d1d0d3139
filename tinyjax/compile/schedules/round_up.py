"""Round up: the last tile gets as many rows as the others, so that all can be unrolled.

After this file you can say why a tile of four rows may compute the last row twice: a loop with a fixed number
of iterations needs no test in each. What is computed beyond the end goes to private arrays only, which have
room for it; operands are read at the last place instead. Builds on directive.

    for row in tile * 4 .. min(tile * 4 + 4, 10):      for row in 0 .. 4:
      a:f32 = a_in[row * 30 + k]                         a:f32 = a_in[min(tile * 4 + row, 9) * 30 + k]

Source: Halide's TailStrategy::RoundUp, https://halide-lang.org/docs/namespace_halide.html
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tinyjax.compile.kernel.indices import Index, index, index_var
from tinyjax.compile.kernel.kernel_ir import Buffer, For, Kernel, Load, Statement, Store
from tinyjax.compile.kernel.substitution import every_statement, rewritten, substituted
from tinyjax.compile.schedules.dependences import iterations
from tinyjax.compile.schedules.directive import LoopDirective


@dataclass(frozen=True)
class RoundUp(LoopDirective):
    """The loop over `axis` has `count` iterations in the last chunk too, and counts them from 0."""

    count: int

    def _why_not(self, kernel: Kernel, loop: For) -> str:
        if iterations(loop) > self.count:
            return f"{self.axis} may have {iterations(loop)} iterations"
        for statement in every_statement(loop.body):
            if isinstance(statement, Store) and isinstance(statement.destination, Buffer):
                return f"what is beyond the end would be stored to {statement.destination.name}"
        return ""

    def _changed(self, loop: For) -> list[Statement]:
        number = index_var(self.axis, 0, self.count - 1)
        place = loop.start + number
        inside = place.min(loop.variable.hi)

        def counted(statement: Statement) -> Statement:
            if isinstance(statement, For):  # what is in it has been changed before
                start, stop = _with(statement.start), _with(statement.stop)
                return replace(statement, start=start, stop=stop)
            is_operand = isinstance(statement, Load) and isinstance(statement.source, Buffer)
            return substituted([statement], {self.axis: inside if is_operand else place})[0]

        def _with(at: Index) -> Index:
            return at.with_variables(lambda v: place if v == loop.variable else v)

        body = rewritten(loop.body, counted)
        return [For(number, index(0), index(self.count), body, origin=loop.origin)]
