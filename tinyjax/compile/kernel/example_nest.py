"""The naive nest of a loop that each example of a batch runs by itself.

A loop over the examples is around all of it. Of a value that has their axis, private memory holds one
example's part; all others are whole, and each example computes them.

    for i1 in 0 .. 64:                   # examples
      carry_1 = 4 elements               # of a carry of shape (64, 4)
      for i2 in 0 .. 9:
        ...
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import replace

from tinyjax.compile.codegen.codegen import Target
from tinyjax.compile.fusion.groups import KernelGroup
from tinyjax.compile.kernel.example_axes import ExampleAxes, NotByExampleError, example_axes
from tinyjax.compile.kernel.indices import Index, index
from tinyjax.compile.kernel.kernel_ir import KernelError, PrivateArray
from tinyjax.compile.kernel.loop_bodies import BOOL, BodyBuilder
from tinyjax.compile.kernel.memref import Example, MemRef
from tinyjax.compile.kernel.naive_loop import LoopKernel, LoopNest, for_one_item, written
from tinyjax.compile.kernel.rules import Position
from tinyjax.compile.passes.loops import Branches, Loop
from tinyjax.core.jaxpr import Atom, JaxprEqn, Var


def example_nest(
    found: Loop | Branches, before: Sequence[JaxprEqn], names: dict[Var, str], target: Target
) -> LoopKernel | str:
    """The naive nest of a loop or a branch, run by each example; or why it can't be one."""
    alone = for_one_item(target)
    if reason := BodyBuilder(dict(names), alone).why_not(found.bodies.values()):
        return reason
    try:
        axes = example_axes(found, alone)
        builder = ExampleBuilder(dict(names), alone, axes)
        nest = written(ExampleNest(found, before, names, builder))
        return nest if isinstance(nest, str) else replace(nest, examples=axes.count)
    except (NotByExampleError, KernelError) as error:
        return str(error)


class ExampleBuilder(BodyBuilder):
    """Writes what one example computes; `number` is its own."""

    number: Index = index(0)

    def __init__(self, names: dict[Var, str], target: Target, found: ExampleAxes):
        super().__init__(names, target)
        self.count, self.axes = found.count, found.axes

    def _axis(self, v: Atom) -> int | None:
        return self.axes.get(v) if isinstance(v, Var) else None

    @contextmanager
    def loops_along(
        self, v: Atom, axes: Sequence[int], sizes: Sequence[int] | None = None
    ) -> Iterator[Position]:
        sizes = v.aval.shape if sizes is None else sizes
        own = self._axis(v)
        with ExitStack() as stack:
            loops = [
                nullcontext(self.number) if axis == own else self.loop(sizes[axis]) for axis in axes
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
        return v.aval.size // (1 if self._axis(v) is None else self.count)

    def private(self, v: Var, name: str = "") -> MemRef:
        place, axis = super().private(v, name), self._axis(v)
        if axis is None:
            return place
        return replace(place, example=Example(v.aval.shape, axis, self.number))

    def can_store(self, place: MemRef) -> bool:
        """No example loads from where others store: what goes to a buffer is copied there."""
        return isinstance(place.memory, PrivateArray)

    def group(self, group: KernelGroup, direct: dict[Var, MemRef]) -> None:
        if len(set(map(self._axis, group.outputs))) > 1:
            raise NotByExampleError("a kernel in its body makes values with and without examples")
        super().group(group, direct)


class ExampleNest(LoopNest):
    """The nest of a loop or branch within one over the examples."""

    form = "by example"
    b: ExampleBuilder

    def write(self) -> None:
        with self.b.axis(self.b.fresh("i"), self.b.count) as number:
            self.b.number = number
            self.elements = (number.args[0],)
            super().write()

    def places(self) -> Sequence[MemRef]:
        """The first example stores what all have."""
        b, outs = self.b, super().places()
        is_whole = [v not in b.axes for v in self.eqn.outvars]
        if not any(is_whole):
            return outs
        is_first = b.let("eq", (b.number, index(0)), BOOL)
        return [replace(out, only_if=is_first) if w else out for out, w in zip(outs, is_whole)]
