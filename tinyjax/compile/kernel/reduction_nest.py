"""A reduction's group as a naive loop nest: what its kernel computes, one number at a time.

After this file you can write down the C of a softmax as a first-year student would, and find the same
lines in the compiler: for each row, a loop for the maximum, one for the sum, one for the division. An
accumulator begins as the identity (0 for a sum), a loop combines into it, and then its value is known.
One work-item does it all; nothing is fast yet: that is for the schedules. Builds on loop_nest.

    for i1 in 0 .. 5:                          # each row
      acc1:f32 = variable of -inf
      for i2 in 0 .. 40:                       # its columns
        a:f32 = x_in[i1 * 40 + i2]
        acc1 = max acc1 a
      b:f32 = acc1
      acc2:f32 = variable of 0.0
      for i3 in 0 .. 40:                       # a reduction that waited for the first
        ...
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tinyjax.compile.codegen.codegen import Target
from tinyjax.compile.fusion.groups import KernelGroup
from tinyjax.compile.fusion.reduction_groups import form_of, leading_axes, variables
from tinyjax.compile.kernel.indices import Index, index
from tinyjax.compile.kernel.kernel_ir import Kernel, statements_of
from tinyjax.compile.kernel.loop_nest import NestBuilder, statements_for
from tinyjax.compile.kernel.memref import MemRef
from tinyjax.compile.kernel.rules import Position, Reduction, axes_sizes, lowering_of
from tinyjax.core.jaxpr import JaxprEqn, Var


@dataclass(frozen=True)
class ReductionAxes:
    """The loops of a nest, by the names of their variables, each list from the outermost on: those over the
    results, and for each sweep over the combined elements, those of the sweep."""

    outer: tuple[str, ...]
    inner: tuple[str, ...]
    sweeps: tuple[tuple[str, ...], ...]


def reduction_nest(
    group: KernelGroup, name: str, names: dict[Var, str], target: Target
) -> tuple[Kernel, ReductionAxes]:
    """The naive kernel of a group that has a form, and what its loops are for."""
    nest = _ReductionNest(group, names, target)
    nest.write_nest()
    return nest.kernel(name), ReductionAxes(nest.outer_axes, nest.inner_axes, tuple(nest.sweeps))


class _ReductionNest(NestBuilder):
    """`levels` are the reductions, in the order in which they wait for each other. A place has three parts:
    along the outer, the combined and the inner axes, as a Form has."""

    def __init__(self, group: KernelGroup, names: dict[Var, str], target: Target):
        super().__init__(group, names, target)
        assert group.form is not None
        self.form = group.form
        self.reductions = [
            eqn for eqn in group.eqns if form_of(eqn, lowering_of(eqn, target), target) == self.form
        ]
        self.totals = {v for eqn in self.reductions for v in eqn.outvars}
        self.levels = self._levels()
        self.outer_axes: tuple[str, ...] = ()
        self.inner_axes: tuple[str, ...] = ()
        self.sweeps: list[tuple[str, ...]] = []

    def _levels(self) -> list[list[JaxprEqn]]:
        depth: dict[Var, int] = {}
        levels: dict[int, list[JaxprEqn]] = {}
        for eqn in self.group.eqns:
            below = max((depth.get(v, 0) for v in variables(eqn)), default=0)
            if eqn in self.reductions:
                levels.setdefault(below, []).append(eqn)
                below += 1
            depth.update((v, below) for v in eqn.outvars)
        return [levels[level] for level in sorted(levels)]

    # ---- the nest ----

    def write_nest(self) -> None:
        """For each result: the sweeps, level after level, and then what is computed from the results."""
        first = self.reductions[0]
        results = first.outvars[0].aval.shape
        count = leading_axes(results, self.form.outer)
        with (
            statements_for(self.reductions),
            self.loops(results[:count]) as at,
            self.loops(results[count:]) as within,
        ):
            self.outer_axes, self.inner_axes = _names(at), _names(within)
            for level in self.levels:
                with statements_for(level):
                    self._combine(level, at, within)
            numbers = [v for v in self.outputs if v.aval.size == self.form.results]
            elements = [v for v in self.outputs if v.aval.size != self.form.results]
            if elements:
                with statements_for([self.producer[v] for v in elements]):
                    self._numbers_for(elements, at)
                    with self.loops(axes_sizes(self.reductions[0])) as column:
                        self.sweeps.append(_names(column))
                        for v in elements:
                            self.store_output(v, self._row_place(v, at, column))
            for v in numbers:
                self.store_output(v, _reshaped(_joined(at, within), v.aval.shape))

    def _combine(self, level: Sequence[JaxprEqn], at: Position, within: Position) -> None:
        """The reductions of one level, in one sweep."""
        operands = [_operand(eqn) for eqn in level]
        self._numbers_for(operands, at)
        accumulators = [self._accumulator(eqn) for eqn in level]
        with self.loops(axes_sizes(self.reductions[0])) as place:
            self.sweeps.append(_names(place))
            for eqn, accumulator in zip(level, accumulators):
                with statements_of(eqn):
                    term = self.element(_operand(eqn), self._term_place(eqn, at, place, within))
                    self.combine(self._rule(eqn), accumulator, term)
        for eqn, accumulator in zip(level, accumulators):
            (out,) = eqn.outvars
            with statements_of(eqn):
                total = self.read(accumulator, index(0), self.names[out])
                at_result = _joined(at, within).flat
                result = self.converted(total, out.aval.dtype)
                self.known[out, at_result] = self._named(result, self.names[out])

    def _accumulator(self, eqn: JaxprEqn) -> MemRef:
        with statements_of(eqn):
            return self.make_accumulator(eqn, self._rule(eqn))

    def _rule(self, eqn: JaxprEqn) -> Reduction:
        lowering = lowering_of(eqn, self.target)
        assert isinstance(lowering, Reduction)
        return lowering

    def _numbers_for(self, roots: Sequence[Var], at: Position) -> None:
        """Computes what is one number for a row, or for all, before the sweep that needs it."""
        if self.form.kind != "rows":
            return
        needed = self._needed(roots)
        for v in (v for eqn in self.group.eqns for v in eqn.outvars if v in needed):
            if v.aval.size == self.form.results:
                self.element(v, _reshaped(at, v.aval.shape))
            elif v.aval.size == 1:
                self.element(v, Position(v.aval.shape, [index(0)] * v.aval.ndim))

    def _needed(self, roots: Sequence[Var]) -> set[Var]:
        """What the roots are computed from, totals included, but not what those are made of."""
        needed: set[Var] = set()
        pending = list(roots)
        while pending:
            v = pending.pop()
            if v not in needed:
                needed.add(v)
                if v in self.producer and v not in self.totals:
                    pending += variables(self.producer[v])
        return needed

    # ---- places ----

    def _term_place(
        self, eqn: JaxprEqn, at: Position, place: Position, within: Position
    ) -> Position:
        """The place of an element that a reduction combines."""
        shape, axes = _operand(eqn).aval.shape, eqn.params["axes"]
        combined = dict(
            zip(axes, _reshaped(place, tuple(shape[axis] for axis in axes)).coords, strict=True)
        )
        kept = iter(_reshaped(_joined(at, within), eqn.outvars[0].aval.shape).coords)
        coords = [combined[axis] if axis in combined else next(kept) for axis in range(len(shape))]
        if not _are_neighbours(shape, axes):
            return Position(shape, coords)
        flat = (at.flat * self.form.combined + place.flat) * self.form.inner + within.flat
        return Position(shape, coords, flat)

    def _row_place(self, v: Var, at: Position, column: Position) -> Position:
        """The place of an element in an array of rows."""
        flat = at.flat * self.form.combined + column.flat
        return _reshaped(_joined(at, column, flat), v.aval.shape)


def _operand(eqn: JaxprEqn) -> Var:
    """What a reduction combines."""
    (found,) = variables(eqn)
    return found


def _names(place: Position) -> tuple[str, ...]:
    """The loops' variables among the coordinates."""
    return tuple(coord.args[0] for coord in place.coords if coord.op == "var")


def _are_neighbours(shape: Sequence[int], axes: Sequence[int]) -> bool:
    """Whether no axis of several elements stands between those combined."""
    combined = [axis for axis in axes if shape[axis] > 1]
    between = range(min(combined, default=0), max(combined, default=0))
    return all(axis in axes or shape[axis] == 1 for axis in between)


def _joined(first: Position, second: Position, flat: Index | None = None) -> Position:
    return Position((*first.shape, *second.shape), (*first.coords, *second.coords), flat)


def _reshaped(place: Position, shape: Sequence[int]) -> Position:
    """The place of the same element after a reshape: coordinates of the axes that stay are kept, and only
    those of others are found by division."""
    coords: list[Index] = []
    sources = [(size, at) for size, at in zip(place.shape, place.coords) if size > 1]
    targets: list[int] = []
    for size in shape:
        targets.append(size)
        taken = next(
            (n for n in range(len(sources) + 1)
             if math.prod(size for size, _ in sources[:n]) == math.prod(targets)),
            None,
        )  # fmt: skip
        if taken is None:
            continue
        sizes, ats = zip(*sources[:taken]) if taken else ((), ())
        flat = Position(sizes, ats).flat
        coords += Position(targets, flat=flat).coords
        del sources[:taken]
        targets = []
    return Position(shape, coords, place.flat)
