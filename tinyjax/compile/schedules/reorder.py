"""Reorder: loops that are nested in another order.

The naive nest takes a column and walks down all of its rows, each far from the last one in memory. In the
other order it takes a row, and adds each of its elements to its column's accumulator. This is legal if no
iteration of the outer loop depends on another. If the outer loop has other statements too, it is distributed,
and variables become arrays: here, one accumulator for each column.

    for i1 in 0 .. 40:                    each_acc1:f32 = 64 elements of 0.0
      acc1:f32 = variable of 0.0          for i2 in 0 .. 30:
      for i2 in 0 .. 30:                    for i1 in 0 .. 40:
        a:f32 = x_in[i2 * 40 + i1]            a:f32 = x_in[i2 * 40 + i1]
        acc1 = add acc1 a                     each_acc1[i1] = add each_acc1[i1] a
      b:f32 = acc1                        for i3 in 0 .. 40:
      y_out[i1] = b                         b:f32 = each_acc1[i3]
                                            y_out[i3] = b

Two loops that are split and reordered so that they go through small rectangles are tiled (`tile`). That is
how an array is transposed fast: along the rows of the result, the elements of the operand are far apart. Each
load fetches a cache line whose other elements the next rows need: a tile's lines stay in the cache.

    for i1 in 0 .. 300:              for i1_outer in 0 .. 10:
      for i2 in 0 .. 300:              for i2_outer in 0 .. 10:
        ...                              for i1_inner in i1_outer * 30 .. i1_outer * 30 + 30:
                                           for i2_inner in i2_outer * 30 .. i2_outer * 30 + 30:
                                             ...

A loop that is distributed becomes several, each of which does a part of what an iteration did. The first part
of all iterations runs before the second part of any. So a variable that passes a value between parts becomes
an array with one element for each iteration ("scalar expansion"). A product's kernel keeps a tile's sums in
such an array until its epilogue reads them.

Source: Halide's tile, https://halide-lang.org/tutorials/tutorial_lesson_05_scheduling_1.html;
R. Allen, K. Kennedy, "Optimizing Compilers for Modern Architectures", sections 5.3 and 6.2.5, 2001
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tinyjax.compile.kernel import kernel_ir as ir
from tinyjax.compile.kernel.indices import Index, index
from tinyjax.compile.kernel.substitution import relocated, replaced, substituted
from tinyjax.compile.schedules.dependences import numbers, why_dependent, why_not_numbered
from tinyjax.compile.schedules.directive import (
    Directive,
    axis_of,
    carried,
    in_loops,
    loop_over,
    no_such_axis,
    why_not_perfect,
    with_loop,
)
from tinyjax.compile.schedules.nests import Fresh, names_in, stored_names
from tinyjax.compile.schedules.split import Split


@dataclass(frozen=True)
class Reorder(Directive):
    """Moves the loop over `inner` out of the loops over `around`, a perfect nest that contains it. An
    iteration keeps a variable in a register between loading and storing it or, if `in_memory`, works on the
    array's element.

    If it `stays`, it is the last loop inside them, and only statements after it go to separate loops."""

    inner: str
    around: tuple[str, ...]
    in_memory: bool = False
    stays: bool = False

    def why_not(self, kernel: ir.Kernel) -> str:
        if reason := no_such_axis(kernel, *self.around, self.inner):
            return reason
        *around, loop = (loop_over(kernel, axis) for axis in (*self.around, self.inner))
        if reason := why_not_perfect(around):
            return reason
        if not any(s is loop for s in around[-1].body):
            return f"{self.inner} is no loop right in the loop over {self.around[-1]}"
        for outer in around:
            if reason := why_not_numbered(outer) or (carried(outer) and why_dependent(outer)):
                return reason
        if self.stays:
            return ""
        if names_in([loop.start, loop.stop]) & set(self.around):
            return f"{self.inner} runs from {loop.start} to {loop.stop}, which a loop around it decides"
        return ""

    def _applied(self, kernel: ir.Kernel) -> ir.Kernel:
        nest, loop = [loop_over(kernel, a) for a in self.around], loop_over(kernel, self.inner)
        body, fresh = nest[-1].body, Fresh(kernel)
        number = body.index(loop)
        if self.stays:
            made, nests = _distributed(nest, [body[: number + 1], body[number + 1 :]], 0, fresh)
        else:
            arrays = [s for s in body[:number] if isinstance(s, ir.Allocate)]
            others = [s for s in body[:number] if not isinstance(s, ir.Allocate)]
            parts = [arrays, others, loop.body, body[number + 1 :]]
            made, nests = _distributed(nest, parts, 2, fresh, self.in_memory)
            nests[2] = [replace(loop, body=nests[2])]
        new = [*made, *itertools.chain(*nests)]
        return with_loop(kernel, axis_of(nest[0]), lambda _: new)


def tile(
    axes: Sequence[str], height: int, width: int, why: str, overlap: Sequence[str] = ()
) -> list[Directive]:
    """Tiles the first and the last of nested loops, `height` by `width`; the loops between come first. The
    last tiles along the axes in `overlap` begin earlier, so that all are alike."""
    rows, *between, columns = axes
    split = f"{rows}_outer", f"{rows}_inner"
    return [
        Split(rows, height, rows in overlap, why=why),
        Split(columns, width, columns in overlap, why=why),
        *(Reorder(axis, split, why=why) for axis in between),
        Reorder(f"{columns}_outer", split[1:], why=why),
    ]


# ---- distribution ----


def _distributed(
    nest: Sequence[ir.For], parts: Sequence[ir.Body], keeps_names: int, fresh: Fresh,
    in_memory: bool = False,
) -> tuple[ir.Body, list[ir.Body]]:  # fmt: skip
    """The statements that allocate arrays for all iterations of the nest, and its loops around each of the
    parts. A part that only initializes variables becomes their allocation; one part keeps the names. Parts
    update a variable in a register or, if `in_memory`, in its array element."""
    expansion = _Expansion(nest, parts, fresh, in_memory)
    bodies = [expansion.part(number) for number in range(len(parts))]
    nests = [_around(nest, body, fresh, n == keeps_names) for n, body in enumerate(bodies)]
    return expansion.allocations, nests


def _around(nest: Sequence[ir.For], body: ir.Body, fresh: Fresh, keeps_names: bool) -> ir.Body:
    """The same loops with another body."""
    if not body:
        return []
    names = {} if keeps_names else {axis_of(loop): fresh(axis_of(loop)) for loop in nest}
    return substituted(in_loops(nest, body), {}, names)


_Maker = ir.Let | ir.Load | ir.Allocate


class _Expansion:
    """Finds the values that parts pass on, and allocates an array for each over all iterations."""

    def __init__(
        self, nest: Sequence[ir.For], parts: Sequence[ir.Body], fresh: Fresh, in_memory: bool
    ):
        self.parts, self.fresh, self.in_memory = parts, fresh, in_memory
        self.at, self.count = numbers(nest)
        self.allocations: ir.Body = []
        self.handed_on: list[list[_Maker]] = []  # the statements that define names, for each part
        self.arrays: dict[str, ir.PrivateArray] = {}
        for number, part in enumerate(parts):
            later = names_in(list(parts[number + 1 :]))
            makers = [s for s in part if isinstance(s, _Maker)]
            self.handed_on.append([s for s in makers if _made_by(s).name in later])
            for maker in self.handed_on[-1]:
                self._allocate(maker, self._only_allocates(number))

    def _allocate(self, maker: _Maker, is_set: bool) -> None:
        thing = _made_by(maker)
        size = getattr(thing, "size", 1)
        name = self.fresh(f"each_{thing.name}")
        array = ir.PrivateArray(name, thing.dtype, size * self.count, thing.width)
        self.arrays[thing.name] = array
        initial = maker.initial if isinstance(maker, ir.Allocate) and (is_set or size > 1) else None
        self.allocations.append(ir.Allocate(array, initial, origin=maker.origin))

    def _only_allocates(self, number: int) -> bool:
        return all(isinstance(s, ir.Allocate) for s in self.parts[number])

    def part(self, number: int) -> ir.Body:
        """A part's statements, after loads of earlier parts' values and before stores for later parts."""
        if self._only_allocates(number):
            return []
        statements, begin, end = self.parts[number], ir.Body(), ir.Body()
        used, stored = names_in(statements), stored_names(statements)
        for earlier, makers in enumerate(self.handed_on[: number + 1]):
            is_handed = earlier < number
            for maker in makers:
                thing = _made_by(maker)
                if thing.name not in used:
                    continue
                is_loaded_only = is_handed and thing.name not in stored
                is_element = is_loaded_only or (is_handed and self.in_memory)
                if isinstance(thing, ir.PrivateArray) and (thing.size > 1 or is_element):
                    array = self.arrays[thing.name]
                    statements = _in_array(statements, thing, array, self.at * thing.size)
                    continue
                with ir.statements_of(maker.origin):
                    begin += self._loaded(thing) if is_handed else []
                    end += [] if is_handed and is_loaded_only else self._stored(thing)
        loads = [s.target.name for s in begin if isinstance(s, ir.Load)]
        names = {name: self.fresh(name) for name in loads if name in used}
        return substituted([*begin, *statements, *end], {}, names)

    def _loaded(self, thing: ir.Value | ir.PrivateArray) -> ir.Body:
        """The load of a value or variable that an earlier part made."""
        array = self.arrays[thing.name]
        if isinstance(thing, ir.Value):
            return [ir.Load(thing, array, self.at)]
        value = ir.Value(self.fresh("t"), thing.dtype, thing.width)
        store = ir.Store(thing, index(0), value)
        return [ir.Load(value, array, self.at), ir.Allocate(thing, None), store]

    def _stored(self, thing: ir.Value | ir.PrivateArray) -> ir.Body:
        """The store that keeps a value for later parts, or for this part's next iteration."""
        array = self.arrays[thing.name]
        if isinstance(thing, ir.Value):
            return [ir.Store(array, self.at, thing)]
        value = ir.Value(self.fresh("t"), thing.dtype, thing.width)
        return [ir.Load(value, thing, index(0)), ir.Store(array, self.at, value)]


def _in_array(body: ir.Body, old: ir.PrivateArray, new: ir.PrivateArray, first: Index) -> ir.Body:
    """The statements with a private array replaced by the elements of another array from `first` on."""
    kept = replaced(body, lambda s: [] if isinstance(s, ir.Allocate) and s.array == old else [s])
    return relocated(kept, lambda memory, at: (new, first + at) if memory == old else None)


def _made_by(maker: _Maker) -> ir.Value | ir.PrivateArray:
    return maker.array if isinstance(maker, ir.Allocate) else maker.target
