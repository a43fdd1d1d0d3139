"""The naive nest of a loop that each example of a batch runs by itself, or each element of its arrays.

Loops over the examples are outermost. For a value with the examples' axes, private memory holds one example's
part, a variable if it is one element. Other values are kept whole, and each example computes them.

    for i1 in 0 .. 64:                   # examples
      carry_1 = 4 elements               # of a carry of shape (64, 4)
      for i2 in 0 .. 9:
        ...
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import replace

from tinyjax.compile.codegen.codegen import Target
from tinyjax.compile.fusion.cost_record import eqn_cost
from tinyjax.compile.fusion.groups import KernelGroup
from tinyjax.compile.kernel.example_axes import ExampleAxes, NotByExampleError, example_axes
from tinyjax.compile.kernel.indices import Index, index
from tinyjax.compile.kernel.kernel_ir import KernelError, PrivateArray
from tinyjax.compile.kernel.loop_bodies import BOOL
from tinyjax.compile.kernel.memref import Example, MemRef
from tinyjax.compile.kernel.naive_loop import LoopKernel, LoopNest
from tinyjax.compile.kernel.private_arrays import Storage
from tinyjax.compile.kernel.rules import Position
from tinyjax.compile.passes.loops import Branches, Loop
from tinyjax.core.jaxpr import Atom, JaxprEqn, Var

# Operations of one example in an iteration: products of larger matrices are faster as one product.
MAX_EXAMPLE_WORK = 2**13
# How many times the work of an iteration all examples may do, as each computes what they share.
MAX_REPEATED = 2


def example_nest(
    found: Loop | Branches, before: Sequence[JaxprEqn], names: dict[Var, str], target: Target,
    sizes: Iterable[tuple[int, ...]], form: str,
) -> LoopKernel | str:  # fmt: skip
    """The naive nest of a loop or a branch that each example runs, or the reason why there is none. The
    examples' axes have the first of these sizes that works. The form tells whether an example is one element.
    """
    nest = ExampleNest(found, before, names, target, form)
    if reason := nest.why_not(found.bodies.values()):
        return reason
    try:
        axes = example_axes(found, sizes, nest.computed, nest.target)
        if form == "by example" and (reason := _why_too_much(found, axes, target)):
            return reason
        nest.sizes, nest.axes = axes.sizes, axes.axes
        made = nest.made()
        return made if isinstance(made, str) else replace(made, examples=axes.count)
    except (NotByExampleError, KernelError) as error:
        return str(error)


def _why_too_much(found: Loop | Branches, axes: ExampleAxes, target: Target) -> str:
    """Why the examples should not run the loop by themselves, or an empty text. A value without their axes,
    such as a sum over all of them, is computed by each.
    """
    eqns = [eqn for body in found.bodies.values() for eqn in body.eqns]
    work = {eqn: eqn_cost(eqn, target).work for eqn in eqns}
    shared = sum(work[eqn] for eqn in eqns if axes.axes.keys().isdisjoint(eqn.outvars))
    each = shared + (sum(work.values()) - shared) // axes.count
    if each > MAX_EXAMPLE_WORK:
        return f"an example has {each} operations, too many for a lane (> {MAX_EXAMPLE_WORK})"
    if each * axes.count > MAX_REPEATED * sum(work.values()):
        return f"each of {axes.count} examples would repeat {shared} operations"
    return ""


class ExampleNest(LoopNest):
    """Writes the computation of one example, at the place `example` among all, within loops over them."""

    example: Position
    sizes: tuple[int, ...]  # and axes: see ExampleAxes
    axes: dict[Var, int]

    def __init__(
        self, found: Loop | Branches, before: Sequence[JaxprEqn], names: dict[Var, str], target: Target,
        form: str,
    ):  # fmt: skip
        super().__init__(found, before, names, target)
        self.form = form

    def _axis(self, v: Atom) -> int | None:
        return self.axes.get(v) if isinstance(v, Var) else None

    def _given(self, v: Atom) -> dict[int, Index]:
        """The example's coordinates in `v`, along each of the examples' axes."""
        first, shape = self._axis(v), v.aval.shape
        if first is None:
            return {}
        coords = enumerate(self.example.coords, first)
        return {axis: at if shape[axis] > 1 else index(0) for axis, at in coords}

    @contextmanager
    def loops_along(
        self, v: Atom, axes: Sequence[int], sizes: Sequence[int] | None = None
    ) -> Iterator[Position]:
        sizes = v.aval.shape if sizes is None else sizes
        given = self._given(v)
        with ExitStack() as stack:
            loops = [
                nullcontext(given[axis]) if axis in given else self.loop(sizes[axis])
                for axis in axes
            ]
            coords = [stack.enter_context(loop) for loop in loops]
            yield Position([sizes[axis] for axis in axes], coords)

    def positions(self, v: Atom) -> AbstractContextManager[Position]:
        return self.loops_along(v, range(v.aval.ndim))

    @contextmanager
    def numbers(self, v: Atom) -> Iterator[Index]:
        if self._axis(v) is None:
            with super().numbers(v) as number:
                yield number
        else:
            with self.positions(v) as position:
                yield position.flat

    def stored_size(self, v: Atom) -> int:
        given = self._given(v)
        return math.prod(size for axis, size in enumerate(v.aval.shape) if axis not in given)

    def private(self, v: Var, name: str = "") -> MemRef:
        axis, given = self._axis(v), tuple(self._given(v).values())
        if axis is None:
            if self.form == "elementwise" and v.aval.size > 1:
                raise NotByExampleError("its elements need whole arrays")
            return super().private(v, name)
        return replace(super().private(v, name), example=Example(v.aval.shape, axis, given))

    def can_store(self, place: MemRef) -> bool:
        """False for buffers, so that no example loads where others store: results are copied there."""
        return isinstance(place.memory, PrivateArray)

    def group(self, group: KernelGroup, direct: dict[Var, MemRef]) -> None:
        if len(set(map(self._axis, group.outputs))) > 1:
            raise NotByExampleError("a kernel in its body makes values with and without examples")
        super().group(group, direct)

    # ---- the kernel ----

    def write_nest(self) -> None:
        """A loop operand that the kernel computes itself has the same axes as in the bodies."""
        if isinstance(self.found, Loop):
            inside = zip(self.eqn.invars, self.found.variables)
            pairs = [(v, u) for v, u in inside if isinstance(v, Var) and v in self.computed]
            whole = {v for v, u in pairs if u not in self.axes}
            self.axes |= {v: self.axes[u] for v, u in pairs if v not in whole}
        with self.loops(self.sizes) as self.example:
            self.elements = self.example.axes
            super().write_nest()

    def operand(self, v: Atom) -> Storage:
        """An element that the kernel computes itself is computed once."""
        if v not in self.computed:
            return super().operand(v)
        if self.stored_size(v) > 1:
            raise NotByExampleError("an array of all examples is the same in every iteration")
        return self.scalar(v)

    def result_places(self) -> Sequence[MemRef]:
        """Values that all examples share are stored by the first one."""
        outs = super().result_places()
        is_whole = [v not in self.axes for v in self.eqn.outvars]
        if not any(is_whole):
            return outs
        is_first = self.let("eq", (self.example.flat, index(0)), BOOL)
        return [replace(out, only_if=is_first) if w else out for out, w in zip(outs, is_whole)]
