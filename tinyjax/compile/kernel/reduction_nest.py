"""A reduction's group as a naive loop nest, which computes one number at a time.

A softmax has, for each row, a loop for the maximum, one for the sum, and one for the division. An accumulator
begins as the identity (0 for a sum), a loop combines into it, and then its value is known. One work-item runs
everything; the schedules make it fast.

A softmax needs each exp(x - max) twice: the loop that adds them up also keeps them in a private array, where
the loop that divides reads them. That pays if a value costs more than memory, and a row stays in the cache.

    for i1 in 0 .. 5:                          # each row
      acc1:f32 = variable of -inf
      for i2 in 0 .. 40:                       # its columns
        a:f32 = x_in[i1 * 40 + i2]
        acc1 = max acc1 a
      b:f32 = acc1
      acc2:f32 = variable of 0.0
      kept1:f32 = 48 elements
      for i3 in 0 .. 40:                       # a reduction that waited for the first
        ...
        kept1[i3] = e
        acc2 = add acc2 e
      ...
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from tinyjax.compile.fusion.cost_model import CHEAP_WORK
from tinyjax.compile.fusion.groups import KernelGroup
from tinyjax.compile.fusion.reduction_groups import form_of, leading_axes, variables
from tinyjax.compile.kernel import rules
from tinyjax.compile.kernel.indices import index
from tinyjax.compile.kernel.kernel_ir import Allocate, Kernel, PrivateArray, statements_of
from tinyjax.compile.kernel.loop_nest import NestBuilder, statements_for
from tinyjax.compile.kernel.memref import Example, MemRef
from tinyjax.compile.kernel.writer import Number
from tinyjax.compile.target import Target
from tinyjax.core.jaxpr import JaxprEqn, Var

KEPT_BYTES = 2**17  # of a row, in private memory: half of a core's second cache


@dataclass(frozen=True)
class ReductionAxes:
    """The loops of a nest, by the names of their variables, outermost first: the loops over the results, and
    the loops of each sweep over the combined elements."""

    outer: tuple[str, ...]
    inner: tuple[str, ...]
    sweeps: tuple[tuple[str, ...], ...]


def reduction_nest(
    group: KernelGroup, name: str, names: dict[Var, str], target: Target
) -> tuple[Kernel, ReductionAxes]:
    """The naive kernel of a group that has a form, and its loops' roles."""
    nest = _ReductionNest(group, names, target)
    outer, inner = nest.write_nest()
    return nest.kernel(name), ReductionAxes(outer, inner, tuple(nest.sweeps))


class _ReductionNest(NestBuilder):
    """A position has three parts, along the outer, the combined and the inner axes of the Form."""

    def __init__(self, group: KernelGroup, names: dict[Var, str], target: Target):
        super().__init__(group, names, target)
        assert group.form is not None
        self.form = group.form
        self.rules: dict[JaxprEqn, rules.Reduction] = {}  # of the reductions
        for eqn in group.eqns:
            rule = rules.lowering_of(eqn, target)
            if isinstance(rule, rules.Reduction) and form_of(eqn, rule, target) == self.form:
                self.rules[eqn] = rule
        first = next(iter(self.rules))
        self.results, self.combined = first.outvars[0].aval.shape, self._combined_axes(first)
        self.sweeps: list[tuple[str, ...]] = []

    def _combined_axes(self, first: JaxprEqn) -> tuple[int, ...]:
        """The sizes of the combined axes, before reshapes that join some."""
        sizes, rows = [rules.axes_sizes(first)], self.form.outer
        if self.form.inner == 1:
            roots = [v for eqn in self.rules for v in eqn.invars]
            for shape in self.shapes_before(roots):
                if (axes := leading_axes(shape, rows)) is not None:
                    sizes.append(shape[axes:])
        return max(sizes, key=len)

    def _levels(self) -> list[list[JaxprEqn]]:
        """The reductions in order of dependence."""
        depth: dict[Var, int] = {}
        levels: dict[int, list[JaxprEqn]] = {}
        for eqn in self.group.eqns:
            below = max((depth.get(v, 0) for v in variables(eqn)), default=0)
            if eqn in self.rules:
                levels.setdefault(below, []).append(eqn)
                below += 1
            depth.update((v, below) for v in eqn.outvars)
        return [levels[level] for level in sorted(levels)]

    def write_nest(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Writes the sweeps, then what is computed from their results. Returns the outer and inner axes."""
        count = leading_axes(self.results, self.form.outer)
        outer, inner = self.results[:count], self.results[count:]
        with statements_for(list(self.rules)), self.loops(outer) as at, self.loops(inner) as within:
            numbers = [v for v in self.outputs if v.aval.size == self.form.results]
            elements = [v for v in self.outputs if v not in numbers]
            levels = self._levels()
            roots = [[v for eqn in level for v in variables(eqn)] for level in levels]
            for level, keep in zip(levels, self._kept([*roots, elements])):
                with statements_for(level):
                    self._combine(level, at, within, keep)
            if elements:
                with statements_for([self.producer[v] for v in elements]):
                    self._numbers_for(elements, at)
                    with self._sweep() as column:
                        for v in elements:
                            self.store_output(v, _joined(at, column).reshaped(v.aval.shape))
            for v in numbers:
                self.store_output(v, _joined(at, within).reshaped(v.aval.shape))
        return at.axes, within.axes

    @contextmanager
    def _sweep(self) -> Iterator[rules.Position]:
        """The loops over the combined elements."""
        with self.loops(self.combined) as place:
            self.sweeps.append(place.axes)
            yield place

    def _combine(
        self, level: Sequence[JaxprEqn], at: rules.Position, within: rules.Position, keep: Sequence[Var],
    ) -> None:  # fmt: skip
        """The reductions of one level, in one sweep, which also keeps these values."""
        result = _joined(at, within)
        self._numbers_for([v for eqn in level for v in variables(eqn)], at)
        accumulators = {}
        for eqn in level:
            with statements_of(eqn):
                accumulators[eqn] = self.accumulator(self.rules[eqn], eqn.outvars[0].aval.dtype)
        arrays = {v: self._row(v, at) for v in keep}
        with self._sweep() as place:
            for v, array in arrays.items():
                element = _joined(at, place)
                with statements_of(self.producer[v]):
                    value = self.element(v, element.reshaped(v.aval.shape))
                    self.write(array, element.flat, value)
            for eqn, accumulator in accumulators.items():
                with statements_of(eqn):
                    (out,), rule = eqn.outvars, self.rules[eqn]
                    ctx = rules.LoweringRuleContext(self, eqn, out, result.reshaped(out.aval.shape))
                    term = self.term(ctx, eqn, rule, place.reshaped(rules.axes_sizes(eqn)))
                    accumulator.combine(rule.op, term)
        self.places |= arrays
        for eqn, accumulator in accumulators.items():
            (out,) = eqn.outvars
            with statements_of(eqn):
                total = Number(
                    self, self.read(MemRef(accumulator.memory), index(0), self.names[out])
                )
                self.set_element(out, result, total.astype(out.aval.dtype).value)

    def _numbers_for(self, roots: Sequence[Var], at: rules.Position) -> None:
        """Computes numbers that are constant in a row, or everywhere, before the sweep that needs them."""
        if self.form.kind != "rows":
            return
        for v in self._needed(roots):
            if v.aval.size == self.form.results:
                self.element(v, at.reshaped(v.aval.shape))
            elif v.aval.size == 1:
                self.element(v, at.broadcast_from(v.aval.shape))

    # ---- values that several sweeps need ----

    def _kept(self, sweeps: Sequence[Sequence[Var]]) -> list[list[Var]]:
        """For each sweep, given by what it computes, the costly values to keep for later ones, as long as
        there is room. If a value is kept, those it is made from may be needed by no other sweep."""
        kept = dict[Var, int]()  # and which sweep computes it
        room = KEPT_BYTES // self.form.reduction_size

        def needed_after(number: int) -> set[Var]:
            return {v for roots in sweeps[number + 1 :] for v in self._elements(roots, kept)}

        can_keep = self.form.kind == "rows" and self.target.group == 1
        for number, roots in enumerate(sweeps if can_keep else ()):
            later = needed_after(number)
            for v in reversed(self._elements(roots, kept)):
                size, is_complex = v.aval.dtype.itemsize, v.aval.dtype.kind == "c"
                if v in later and size <= room and not is_complex:
                    made = (self.producer[u] for u in self._elements([v], kept))
                    costs = (getattr(rules.lowering_of(e, self.target), "cost", 0) for e in made)
                    if sum(costs) > CHEAP_WORK:
                        kept[v], room = number, room - size
                        later = needed_after(number)
        return [[v for v, at in kept.items() if at == number] for number in range(len(sweeps))]

    def _elements(self, roots: Sequence[Var], kept: Mapping[Var, int]) -> list[Var]:
        """The elements that a sweep computes for these, in order, without those that were kept."""
        size = self.form.results * self.form.reduction_size
        return [v for v in self._needed(roots, kept) if v.aval.size == size and v not in kept]

    def _row(self, v: Var, at: rules.Position) -> MemRef:
        """A private array for a value's elements in this row, with room for whole vectors."""
        columns, width = self.form.reduction_size, self.target.width
        array = PrivateArray(self.fresh("kept"), v.aval.dtype, -(-columns // width) * width)
        with statements_of(self.producer[v]):
            self.body.append(Allocate(array, None))
        return MemRef(array, example=Example((self.form.outer, columns), 0, (at.flat,)))

    def _needed(self, roots: Sequence[Var], kept: Container[Var] = ()) -> list[Var]:
        """What the roots are computed from, in order, without what only totals or kept values need."""
        needed = set(roots)
        for eqn in reversed(self.group.eqns):
            if eqn not in self.rules and any(v in needed and v not in kept for v in eqn.outvars):
                needed.update(variables(eqn))
        return [v for eqn in self.group.eqns for v in eqn.outvars if v in needed]


def _joined(first: rules.Position, second: rules.Position) -> rules.Position:
    return rules.Position((*first.shape, *second.shape), (*first.coords, *second.coords))
