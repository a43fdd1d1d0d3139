"""Split: one loop as two, the inner one over a chunk of the iterations.

In `i1_outer * 16 .. min(i1_outer * 16 + 16, 100)` the inner variable takes the values of the old one, so that
the body stays as it is. The last chunk is shorter if the factor does not divide the number of iterations.

    for i1 in 0 .. 100:              for i1_outer in 0 .. 7:
      ...                              for i1_inner in i1_outer * 16 .. min(i1_outer * 16 + 16, 100):
                                         ...

With `overlap`, the last chunk begins earlier instead (Halide's tail strategy ShiftInwards). All chunks are
then whole, so their iterations are counted from 0:

      for i1_inner in 0 .. 16:         # i1 is min(i1_outer * 16, 84) + i1_inner

Source: Halide's split, https://halide-lang.org/tutorials/tutorial_lesson_05_scheduling_1.html
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tinyjax.compile.kernel.indices import Index, index, index_var
from tinyjax.compile.kernel.kernel_ir import Body, For, Kernel, Statement, Store
from tinyjax.compile.kernel.substitution import rewritten, substituted
from tinyjax.compile.schedules.dependences import ends
from tinyjax.compile.schedules.directive import LoopDirective, changed_again


@dataclass(frozen=True)
class Split(LoopDirective):
    """The loop over `axis` in chunks of `factor` iterations: axis_outer numbers them."""

    factor: int
    overlap: bool = False

    def _why_not(self, kernel: Kernel, loop: For) -> str:
        if self.factor < 1:
            return "the factor must be 1 or more"
        if _quotient(loop.start, self.factor) is None:
            start = f"{self.axis} starts at {loop.start}, which is no multiple of {self.factor}"
            return f"{start}: split by the smaller factor first"
        if self.overlap and (loop.stop.op != "const" or loop.stop.lo - loop.start.lo < self.factor):
            return f"chunks can't overlap where {self.axis} runs to {loop.stop}"
        if self.overlap and (left := changed_again(loop)):
            return f"an iteration done twice would change what is left in {left}"
        return ""

    def _changed(self, loop: For) -> Body:
        """Of several `ends` of the loop, only those that are no multiple of the factor need a minimum."""
        factor, whole = self.factor, loop.variable
        first = _quotient(loop.start, factor)
        assert first is not None
        outer = index_var(f"{self.axis}_outer", whole.lo // factor, whole.hi // factor)
        start = outer * factor
        if self.overlap:
            inner = index_var(f"{self.axis}_inner", 0, factor - 1)
            early = start.min(loop.stop - factor)
            if early != start:  # the factor does not divide the number of iterations
                loop = replace(loop, body=rewritten(loop.body, _repeating))
            at, start, stop = early + inner, index(0), index(factor)
        else:
            at = inner = index_var(f"{self.axis}_inner", whole.lo, whole.hi)
            stop = start + factor
            for end in ends(loop.stop):
                if _quotient(end, factor) is None:  # the last chunk may be shorter
                    stop = stop.min(end)
        chunk = For(inner, start, stop, substituted(loop.body, {self.axis: at}), origin=loop.origin)
        return [For(outer, first, _rounded_up(loop.stop, factor), [chunk], origin=loop.origin)]


def _repeating(statement: Statement) -> Statement:
    return replace(statement, repeats=True) if isinstance(statement, Store) else statement


def _quotient(at: Index, factor: int) -> Index | None:
    """`at` divided by the factor, if it is always a multiple of the factor."""
    return at // factor if at.factor() % factor == 0 else None


def _rounded_up(at: Index, factor: int) -> Index:
    """How many chunks hold `at` iterations."""
    if at.op == "min":
        a, b = (_rounded_up(arg, factor) for arg in at.args)
        return a.min(b)
    return (at + (factor - 1)) // factor
