"""Private arrays: what buffers are to a program, these are to a loop's body within one work-item.

After this file you can predict the statements that a group of equations becomes inside a loop: where a
program would launch a kernel, a work-item runs a loop over the elements of a private array; a single
element is a variable. Builds on groups, builder and lower.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Sequence

from tinyjax.compile.codegen.codegen import Target
from tinyjax.compile.fusion.groups import KernelGroup
from tinyjax.compile.kernel.builder import Builder
from tinyjax.compile.kernel.indices import Index, index
from tinyjax.compile.kernel.kernel_ir import Allocate, Const, PrivateArray, Scalar, statements_of
from tinyjax.compile.kernel.memref import MemRef
from tinyjax.compile.kernel.rules import (
    LoweringRuleContext,
    Position,
    Reduction,
    lowering_of,
    sum_dtype,
)
from tinyjax.compile.kernel.scalar_ops import has_kernel_type
from tinyjax.compile.schedules.collapse import divisions
from tinyjax.core.jaxpr import Atom, JaxprEqn, Var

UNROLLED = 8  # terms of a reduction that are added before the sum goes back to memory

Source = MemRef | Scalar  # where a loop finds an operand: in memory, or in a variable


class NoKernel(Exception):
    """Why a loop can't be one kernel."""


def work_item_target(target: Target) -> Target:
    """The target of code that one work-item runs by itself: nothing is shared out, and sums are stored."""
    return dataclasses.replace(
        target, name="work-item", reduction_grain=2**62, stores_reductions=True
    )


class PrivateArrayBuilder(Builder):
    """Writes the statements of loops over private arrays. `varying` has the variables that differ from
    lane to lane in vectors of `width` elements."""

    def __init__(
        self,
        names: dict[Var, str],
        target: Target,
        width: int = 1,
        varying: frozenset = frozenset(),
    ):
        super().__init__(names, work_item_target(target))
        self.width = width
        self.varying = varying

    # ---- values in memory ----

    def bind(self, variables: Sequence[Var], sources: Sequence[Source]) -> None:
        """From now on the variables are what is at the sources."""
        self.forget(variables)
        for v, source in zip(variables, sources, strict=True):
            if isinstance(source, MemRef):
                self.places[v] = source
            else:
                self.known[v, index(0)] = source

    def forget(self, variables: Iterable[Var]) -> None:
        """Two loops, or branches, may have the same jaxpr: what the first computed is not the second's."""
        gone = set(variables)
        self.known = {key: value for key, value in self.known.items() if key[0] not in gone}
        for v in gone:
            self.places.pop(v, None)

    def source(self, atom: Atom) -> Source:
        """Where the atom is, for a loop that reads it."""
        if isinstance(atom, Var) and atom in self.places:
            return self.places[atom]
        return self.scalar(atom)

    def scalar(self, atom: Atom) -> Scalar:
        """The only element of an atom."""
        assert atom.aval.size == 1
        return self.element(atom, Position(atom.aval.shape, [index(0)] * atom.aval.ndim))

    def private(self, v: Var, name: str = "") -> MemRef:
        """New memory of this work-item for the value of `v`."""
        if not has_kernel_type(v.aval.dtype):
            raise NoKernel(f"kernels do not compute with {v.aval.dtype}")
        width = self.width if v in self.varying else 1
        name = name or self.names.get(v, "v").strip("_") or "v"
        array = PrivateArray(self.fresh(f"{name}_"), v.aval.dtype, v.aval.size, width)
        self.body.append(Allocate(array, None))
        return MemRef(array, width=width)

    def copy(self, source: Source, place: MemRef, size: int) -> None:
        if not isinstance(source, MemRef):
            return self.write(place, index(0), source)
        with self.loop(0, size, size - 1) as i:
            self.write(place, i, self.read(source, i))

    def fill(self, place: MemRef, v: Var) -> None:
        """Computes all elements of `v` and stores them."""
        self.each(v.aval.shape, lambda at: self.write(place, at.flat, self.element(v, at)))

    def each(self, shape: Sequence[int], body: Callable[[Position], None]) -> None:
        """A loop over all places of an array; one for each axis if the coordinates are needed."""
        size = math.prod(shape)
        with self.block() as flat, self.loop(0, size, size - 1) as i:
            body(Position(shape, flat=i))
        if len(shape) > 1 and any(True for _ in divisions(flat)):
            with self.block() as flat:
                self._nest(shape, (), 1, lambda _, coords: body(Position(shape, coords)))
        self.body += flat

    # ---- groups of equations ----

    def group(self, group: KernelGroup, direct: dict[Var, MemRef]) -> None:
        shape = group.outputs[0].aval.shape
        if 0 in shape:  # there is nothing to compute, and nothing that rules would read
            return
        if math.prod(shape) == 1:
            for v in group.outputs:
                value = self.scalar(v)
                if v in direct:
                    self.write(direct[v], index(0), value)
            return
        places = {v: direct[v] if v in direct else self.private(v) for v in group.outputs}
        for v in group.outputs:
            if sums_up(self.producer[v], self.target):
                with statements_of(self.producer[v]):
                    self._stored_reduction(v, places[v])
        others = [v for v in group.outputs if v not in self.places]

        def store(position: Position) -> None:
            # All are computed before any is stored: one may take the place of what another reads.
            values = [self.element(v, position) for v in others]
            for v, value in zip(others, values):
                self.write(places[v], position.flat, value)

        if others:
            self.each(shape, store)
        self.places.update(places)

    def _stored_reduction(self, v: Var, place: MemRef) -> None:
        """All elements of the result advance together, so that contiguous memory is read."""
        eqn, rule = self.producer[v], lowering_of(self.producer[v], self.target)
        assert isinstance(rule, Reduction)
        dtype = sum_dtype(v.aval.dtype)
        sums = place
        if not isinstance(place.memory, PrivateArray) or place.memory.dtype != dtype:
            accumulators = PrivateArray(self.fresh("acc"), dtype, v.aval.size)
            self.body.append(Allocate(accumulators, None))
            sums = MemRef(accumulators)
        with self.loop(0, v.aval.size, v.aval.size - 1) as i:
            self.write(sums, i, Const(rule.identity(dtype), dtype))
        *outer, last = sizes = rule.sizes(eqn)

        def add_terms(coords: tuple[Index, ...], lasts: Sequence[Index]) -> None:
            def add(position: Position) -> None:
                ctx = LoweringRuleContext(self, eqn, v, position)
                so_far: Scalar = self.read(sums, position.flat)
                for k in lasts:
                    term = self.term(ctx, eqn, rule, Position(sizes, (*coords, k)))
                    so_far = self.let(rule.op, (so_far, self.converted(term, dtype)), dtype)
                self.write(sums, position.flat, so_far)

            self.each(v.aval.shape, add)

        def along_last(_: Index, coords: Sequence[Index]) -> None:
            blocks = last // UNROLLED
            with self.loop(0, blocks, blocks - 1) as block:
                add_terms(tuple(coords), [block * UNROLLED + i for i in range(UNROLLED)])
            if last % UNROLLED:
                add_terms(tuple(coords), [index(k) for k in range(blocks * UNROLLED, last)])

        self._nest(outer, (), 1, along_last)
        if sums is not place:
            with self.loop(0, v.aval.size, v.aval.size - 1) as i:
                self.write(place, i, self.converted(self.read(sums, i), v.aval.dtype))
        self.places[v] = place


def sums_up(eqn: JaxprEqn, target: Target) -> bool:
    lowering = lowering_of(eqn, target)
    return isinstance(lowering, Reduction) and math.prod(lowering.sizes(eqn)) > 1
