"""Updates as naive loops: a copy of the operand, and one window after the other.

Elements along the axes that each window covers whole never meet: loops over these are around all others, so
that a schedule may share them out, or make vectors of them. Within a loop's body, one work-item does it all,
and goes through each window in the order of memory. An update of the loop's carry may be in place.

    for i1 in 0 .. 64:                       # columns: each window is a row
      for i2 in 0 .. 5000:
        x = x_in[i2 * 64 + i1]
        out[i2 * 64 + i1] = x
      for i3 in 0 .. 40000:                  # windows
        t = indices_in[i3]
        ...
        if inside:
          new = updates_in[i3 * 64 + i1]
          old = out[row * 64 + i1]
          t2 = add old new
          out[row * 64 + i1] = t2
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping, Sequence

from tinyjax.compile.kernel import kernel_ir as ir
from tinyjax.compile.kernel.builder import Builder
from tinyjax.compile.kernel.indices import Index, index
from tinyjax.compile.kernel.memref import MemRef
from tinyjax.compile.kernel.rules import LoweringRuleContext, Operand, Position, Update
from tinyjax.compile.kernel.writer import Number
from tinyjax.core.jaxpr import JaxprEqn

SHORT = 4  # elements of a row that are no vector


class UpdateWriter:
    """Writes the loops that make the result at `place`. `outer` are the axes around all."""

    def __init__(self, b: Builder, eqn: JaxprEqn, update: Update, place: MemRef):
        self.b, self.eqn, self.update, self.place = b, eqn, update, place
        self.shape = eqn.outvars[0].aval.shape
        outer = self.update.batch
        if isinstance(place.memory, ir.Buffer):
            outer |= self.update.whole - self._short_rows()
        self.outer = sorted(outer)
        self.inner = [axis for axis in range(len(self.shape)) if axis not in outer]

    def _short_rows(self) -> frozenset[int]:
        """The last axis, if it has few elements: two work-items would store to the same cache line."""
        return frozenset([len(self.shape) - 1] if self.shape and self.shape[-1] < SHORT else [])

    def write(self, is_in_place: bool) -> tuple[str, ...]:
        """Writes the loops; the operand is at the place if that `is_in_place`. Gives the axes of those around
        all, by the names of their variables."""
        (out,) = self.eqn.outvars
        with self.b.loops_along(out, self.outer) as outer:
            coords = dict(zip(self.outer, outer.coords))
            if not is_in_place:
                with self.b.loops_along(out, self.inner) as inner:
                    at = self._position(coords, inner.coords)
                    element = self.b.element(self.eqn.invars[0], at)
                    self.b.write(self.place, at.flat, element)
            with self.b.loops(self.update.counts) as number:
                self._window(number.coords, coords)
        return outer.axes

    def _position(self, outer: Mapping[int, Index], inner: Sequence[Index]) -> Position:
        coords = {**outer, **dict(zip(self.inner, inner))}
        return Position(self.shape, [coords[axis] for axis in range(len(self.shape))])

    def _window(self, number: Sequence[Index], outer: Mapping[int, Index]) -> None:
        """Combines the elements of a window with its update, if it is inside."""
        b, eqn = self.b, self.eqn
        (out,) = eqn.outvars
        operands = [Operand(b, v) for v in eqn.invars]
        ctx = LoweringRuleContext(b, eqn, out, Position(self.shape, flat=index(0)))
        starts, conditions = self.update.windows(ctx, number, outer, *operands, **eqn.params)
        with b.block() as body:
            # Clamped after the test, where C's compiler sees that starts are inside, and drops the clamps
            first = [starts[axis]() for axis in self.inner]
            with b.loops_along(out, self.inner, self.update.sizes) as within:
                inside = self._position(outer, within.coords).coords
                new = self.update.update(ctx, number, inside, *operands, **eqn.params)
                moved = [start + coord for start, coord in zip(first, within.coords)]
                at = self._position(outer, moved).flat
                if self.update.op:
                    new = b.op(self.update.op, Number(b, b.read(self.place, at)), new)
                b.write(self.place, at, new.value)
        if conditions:
            body = [ir.If(functools.reduce(operator.and_, conditions).value, body)]
        b.body += body
