"""Private arrays: the memory of a loop's body within one work-item, as buffers are a program's memory.

Where a program would launch a kernel, a work-item runs a loop over the elements of a private array; a single
element is a variable. If each example of a batch runs the loop by itself, a private array holds one example's
part of a value that has the axes of the examples.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace

from tinyjax.compile.fusion.groups import KernelGroup
from tinyjax.compile.kernel.builder import Builder
from tinyjax.compile.kernel.complex_pairs import of_parts
from tinyjax.compile.kernel.example_axes import ExampleAxes, NoKernelError
from tinyjax.compile.kernel.indices import Index, index
from tinyjax.compile.kernel.kernel_ir import Allocate, PrivateArray, Scalar, statements_of
from tinyjax.compile.kernel.memref import Example, MemRef
from tinyjax.compile.kernel.order_nest import write_in_order
from tinyjax.compile.kernel.rules import Position
from tinyjax.compile.target import Target
from tinyjax.core.jaxpr import Atom, Var

Storage = MemRef | Scalar  # a value's location: in memory, or in a variable


class PrivateArrayBuilder(Builder):
    """Writes the statements of loops over private arrays, for the example at position `example`."""

    def __init__(self, names: dict[Var, str], target: Target, form: str):
        super().__init__(names, target)
        self.form = form  # sequential, by example, or elementwise if an example is one element
        self.examples = ExampleAxes(())
        self.example = Position(())

    # ---- values in memory ----

    def bind(self, variables: Sequence[Var], sources: Sequence[Storage]) -> None:
        """Binds the variables to the values at the sources."""
        self.forget(variables)
        for v, source in zip(variables, sources, strict=True):
            if isinstance(source, MemRef):
                self.places[v] = source
            else:
                with self.positions(v) as only:
                    self.known[only.flat][v] = source

    def forget(self, variables: Iterable[Var]) -> None:
        """Forgets a jaxpr's variables: two loops may have the same jaxpr, but not the same values."""
        for v in variables:
            self.places.pop(v, None)
            for known in self.known.values():
                known.pop(v, None)

    def source(self, atom: Atom) -> Storage:
        """The atom's location, for a loop that reads it."""
        if isinstance(atom, Var) and atom in self.places:
            return self.places[atom]
        return self.scalar(atom)

    def scalar(self, atom: Atom) -> Scalar:
        """The single element of an atom that the work-item has."""
        assert self.stored_size(atom) == 1
        with self.positions(atom) as only:
            return self.element(atom, only)

    # ---- examples ----

    def axis_of(self, v: Atom) -> int | None:
        """The first of the examples' axes in `v`, if it has them."""
        return self.examples.axes.get(v) if isinstance(v, Var) else None

    def _coords(self, v: Atom) -> dict[int, Index]:
        """The example's coordinates in `v`, along each of the examples' axes."""
        first, shape = self.axis_of(v), v.aval.shape
        if first is None:
            return {}
        coords = enumerate(self.example.coords, first)
        return {axis: at if shape[axis] > 1 else index(0) for axis, at in coords}

    def stored_size(self, v: Atom) -> int:
        """How many elements of `v` the work-item has."""
        given = self._coords(v)
        return math.prod(size for axis, size in enumerate(v.aval.shape) if axis not in given)

    def private(self, v: Var, name: str = "") -> MemRef:
        """New memory of this work-item for the value of `v`."""
        axis, name = self.axis_of(v), name or self.names.get(v, "v").strip("_") or "v"
        if axis is None and self.form == "elementwise" and v.aval.size > 1:
            raise NoKernelError("its elements need whole arrays")
        size, coords = self.stored_size(v), tuple(self._coords(v).values())
        array = of_parts(PrivateArray(self.fresh(f"{name}_"), v.aval.dtype, size))
        self.body.append(Allocate(array, None))
        example = None if axis is None else Example(v.aval.shape, axis, coords)
        return replace(MemRef.of(v, array), example=example)

    # ---- loops ----

    @contextmanager
    def loops_along(
        self, v: Atom, axes: Sequence[int], sizes: Sequence[int] | None = None
    ) -> Iterator[Position]:
        """Along the examples' axes, there is only the example's place."""
        sizes = v.aval.shape if sizes is None else sizes
        given = self._coords(v)
        with ExitStack() as stack:
            coords = [
                given[axis] if axis in given else stack.enter_context(self.loop(sizes[axis]))
                for axis in axes
            ]
            yield Position([sizes[axis] for axis in axes], coords)

    def positions(self, v: Atom) -> AbstractContextManager[Position]:
        """A loop over the elements of `v` that the work-item has."""
        return self.loops_along(v, range(v.aval.ndim))

    @contextmanager
    def numbers(self, v: Atom) -> Iterator[Index]:
        """A loop over the numbers of these elements."""
        with self.loops([v.aval.size]) if self.axis_of(v) is None else self.positions(v) as at:
            yield at.flat

    def copy(self, source: Storage, place: MemRef, v: Atom, mask: MemRef | None = None) -> None:
        """Copies the elements of `v`; with a `mask` for its first axes, those where it holds."""
        with self.numbers(v) as i:
            new = self.read(source, i) if isinstance(source, MemRef) else source
            if mask is not None:
                holds = self.read(mask, i // (v.aval.size // mask.memory.size))
                new = self.operation("select", (holds, new, self.read(place, i)), new.dtype)
            self.write(place, i, new)

    def fill(self, places: dict[Var, MemRef]) -> None:
        """Computes all elements of values of one shape and stores them, those at a position together: a
        store may overwrite an operand of another value."""
        with self.positions(next(iter(places))) as at:
            values = [self.element(v, at) for v in places]
            for place, value in zip(places.values(), values):
                self.write(place, at.flat, value)

    # ---- groups of equations ----

    def group(self, group: KernelGroup, direct: dict[Var, MemRef]) -> None:
        if 0 in group.outputs[0].aval.shape:
            return  # nothing to compute, and no elements for rules to read
        if len(set(map(self.axis_of, group.outputs))) > 1:
            raise NoKernelError("a kernel in its body makes values with and without examples")
        if group.in_order is not None:
            # An update is in place where its operand already is where the result goes.
            eqn, operand = group.in_order, group.in_order.invars[0]
            outs = [direct[v] if v in direct else self.private(v) for v in eqn.outvars]
            is_there = isinstance(operand, Var) and self.places.get(operand) == outs[0]
            with statements_of(eqn):
                write_in_order(self, eqn, outs, is_there)
            self.places.update(zip(eqn.outvars, outs))
            return
        if self.stored_size(group.outputs[0]) == 1:
            for v in group.outputs:
                self.scalar(v)
            return
        places = {v: direct[v] if v in direct else self.private(v) for v in group.outputs}
        self.fill(places)
        self.places.update(places)
