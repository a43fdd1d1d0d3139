"""Gather: what neighbouring iterations load from places apart is loaded one after the other, before them.

After this file you can say how a loop becomes vectors that reads every second element, a row backwards, or an
element whose index is data: there is no vector load for these. A loop of its own copies them, element by
element, to a private array, and vectors are loaded from there. Builds on distribute and lanes.

    for i1 in 0 .. 16:                 each_a1:f32 = 16 elements of 0.0
      a:f32 = a_in[i1 * 2]             for i2 in 0 .. 16:
      ...                                a:f32 = a_in[i2 * 2]
                                         each_a1[i2] = a
                                       for i1 in 0 .. 16:
                                         a:f32 = each_a1[i1]
                                         ...
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tinyjax.compile.kernel import kernel_ir as ir
from tinyjax.compile.schedules.dependences import iterations, why_not_numbered
from tinyjax.compile.schedules.directive import LoopDirective, loop_over, with_loop
from tinyjax.compile.schedules.distribute import distributed
from tinyjax.compile.schedules.lanes import Lanes
from tinyjax.compile.schedules.nests import Fresh, names_in, stored_names, without


@dataclass(frozen=True)
class Gather(LoopDirective):
    """What the loop over `axis` loads from inputs, and neighbouring iterations from places apart."""

    def _why_not(self, kernel: ir.Kernel, loop: ir.For) -> str:
        if reason := why_not_numbered(loop):
            return reason
        first = _apart(loop)
        if stored := names_in(first) & stored_names(loop.body):
            return (
                f"where they load depends on what iterations store in {', '.join(sorted(stored))}"
            )
        return "" if first else "neighbouring iterations load neighbouring elements"

    def _applied(self, kernel: ir.Kernel) -> ir.Kernel:
        loop = loop_over(kernel, self.axis)
        first = _apart(loop)
        parts = [first, without(loop.body, first)]
        made, (copy, others) = distributed([loop], parts, 1, Fresh(kernel))
        # Zeros for lanes beyond the last iteration.
        zeros = [replace(s, initial=_zero(s)) for s in made if isinstance(s, ir.Allocate)]
        return with_loop(kernel, self.axis, lambda _: [*zeros, *copy, *others])


def _zero(allocation: ir.Allocate) -> ir.Const:
    dtype = allocation.array.dtype
    return ir.Const(dtype.type(0), dtype)


def _apart(loop: ir.For) -> list[ir.Statement]:
    """The loads that are no vectors, and what their places are computed from."""
    lanes = Lanes(loop.variable.args[0], loop.start, None, iterations(loop))
    lanes.find_varying(loop.body)
    found: list[ir.Statement] = []
    wanted: set[str] = set()
    for s in reversed(loop.body):
        is_load = (
            isinstance(s, ir.Load) and isinstance(s.source, ir.Buffer) and s.source.role == "in"
        )
        is_apart = is_load and lanes.differs(s.index) and lanes.stride(s.index) != 1
        if is_apart or (isinstance(s, ir.Let | ir.Load) and s.target.name in wanted):
            found.insert(0, s)
            wanted |= names_in(s)
    return found
