"""RFactor: a sum as several sums, which are then added up.

The loop is cut into pieces, each of which stores its partial result in memory. A second loop then combines
these, and the statements after the sum follow. If the pieces are shared out among work-items, the one that
finishes last runs the second loop.

    acc1:f32 = variable of 0.0        for i1_piece in 0 .. 4:
    for i1 in 0 .. 100:                 acc1:f32 = variable of 0.0
      a:f32 = a_in[i1]                  for i1 in i1_piece * 25 .. i1_piece * 25 + 25:
      acc1 = add acc1 a                   a:f32 = a_in[i1]
    b:f32 = acc1                          acc1 = add acc1 a
    b_out[0] = b                        t1:f32 = acc1
                                        partial1[i1_piece] = t1
                                      acc2:f32 = variable of 0.0
                                      for i1_partial in 0 .. 4:
                                        t2:f32 = partial1[i1_partial]
                                        acc2 = add acc2 t2
                                      b:f32 = acc2
                                      b_out[0] = b

As a tree, the pieces are lanes: the first takes elements 0, 256, 512, ..., its neighbour 1, 257, 513, ..., so
that what all load at once lies side by side in memory ("coalesced"). Their results are added in pairs, and
the sums in pairs again: 256 work-items take 8 steps. Nothing runs in parallel yet: the directive WorkGroups
makes the loops over lanes parallel. (TVM calls all of it a cross-thread reduction.)

    acc1:f32 = variable of 0.0         items1:f32 = 4 elements
    for i2 in 0 .. 100:                for i2_lane in 0 .. 4:
      a:f32 = a_in[i2]                   acc1:f32 = variable of 0.0
      acc1 = add acc1 a                  for i2 in i2_lane .. 100 by 4:
    b:f32 = acc1                           ...
                                         t1:f32 = acc1
                                         items1[i2_lane] = t1
                                       for i2_half1 in 0 .. 2:
                                         t2:f32 = items1[i2_half1 + 2]
                                         items1[i2_half1] = add items1[i2_half1] t2
                                       for i2_half2 in 0 .. 1:
                                         ...
                                       b:f32 = items1[0]

Source: Halide's rfactor, https://halide-lang.org/tutorials/tutorial_lesson_18_parallel_associative_reductions.html;
M. Harris, "Optimizing Parallel Reduction in CUDA", 2007
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tinyjax.compile.kernel import kernel_ir as ir
from tinyjax.compile.kernel.indices import Index, index, index_var
from tinyjax.compile.kernel.substitution import replaced, substituted
from tinyjax.compile.schedules import directive
from tinyjax.compile.schedules.lanes import why_no_parts
from tinyjax.compile.schedules.nests import Fresh

# Each Combine of a loop, with the memory of its partial results
Combines = Sequence[tuple[ir.Combine, ir.Buffer | ir.PrivateArray]]


@dataclass(frozen=True)
class RFactor(directive.LoopDirective):
    """Splits the reductions of the loop over `axis` into `pieces`, each of a multiple of `multiple`
    iterations; the remainder (axis_rest) is combined with the partial results. Outer loops end before the
    partial results are combined, and are repeated with names that end in _total.

    As a tree, each piece (axis_lane) takes every n-th element, and outer loops stay as they are."""

    pieces: int
    multiple: int = 1
    as_tree: bool = False

    def _why_not(self, kernel: ir.Kernel, loop: ir.For) -> str:
        around, before, _ = _beside(kernel, self.axis)
        if self.as_tree:
            if self.pieces < 2 or self.pieces & (self.pieces - 1):
                return f"{self.pieces} is no power of two"
            if not _sums(before, loop):
                return f"the loop over {self.axis} combines into no variables that are made right before it"
        elif not loop.start.is_const(0) or loop.stop.op != "const":
            return f"{self.axis} runs from {loop.start} to {loop.stop}, not from 0 to a constant"
        elif loop.stop.lo < self.multiple * self.pieces:
            return f"{self.axis} has too few iterations for {self.pieces} pieces"
        elif around != directive.perfect_nest(kernel.body)[: len(around)]:
            return f"a loop around that over {self.axis} has other statements too"
        elif not all(isinstance(s, ir.Allocate) and s.initial is not None for s in before):
            return f"more than accumulators are made before the loop over {self.axis}"
        return why_no_parts(kernel, loop, [made.array for made in _sums(before, loop)])

    def _applied(self, kernel: ir.Kernel) -> ir.Kernel:
        return self._in_tree(kernel) if self.as_tree else self._in_pieces(kernel)

    def _in_pieces(self, kernel: ir.Kernel) -> ir.Kernel:
        loop, fresh = directive.loop_over(kernel, self.axis), Fresh(kernel)
        around, before, after = _beside(kernel, self.axis)
        number, results = index(0), math.prod(outer.stop.lo for outer in around)
        for outer in around:
            number = number * outer.stop.lo + outer.variable
        blocks = loop.stop.lo // self.multiple
        run = math.ceil(blocks / self.pieces) * self.multiple
        done = blocks * self.multiple
        count = math.ceil(done / run)
        combines = [
            (s, ir.Buffer(fresh("partial"), s.memory.dtype, results * count, "scratch"))
            for s in _sums(before, loop).values()
        ]
        piece = index_var(f"{self.axis}_piece", 0, count - 1)
        whole = _between(loop, self.axis, piece * run, (piece * run + run).min(done))
        stores = _left(combines, piece * results + number, fresh)
        body = directive.in_loops(around, [*before, whole, *stores])
        pieces = ir.For(piece, index(0), index(count), body, origin=loop.origin)

        other = index_var(f"{self.axis}_partial", 0, count - 1)
        body = _with_partial(combines, other * results + number, fresh)
        finish = [*before, ir.For(other, index(0), index(count), body, origin=loop.origin)]
        if done < loop.stop.lo:
            finish.append(_between(loop, f"{self.axis}_rest", index(done), loop.stop))
        names = {directive.axis_of(outer): f"{directive.axis_of(outer)}_total" for outer in around}
        names |= {s.memory.name: fresh(s.memory.name) for s, _ in combines}
        total = substituted(directive.in_loops(around, [*finish, *after]), {}, names)
        buffers = [*kernel.buffers, *(buffer for _, buffer in combines)]
        return replace(kernel, buffers=buffers, body=[pieces, *total])

    def _in_tree(self, kernel: ir.Kernel) -> ir.Kernel:
        loop, fresh = directive.loop_over(kernel, self.axis), Fresh(kernel)
        sums = _sums(_beside(kernel, self.axis)[1], loop)
        combines = [
            (s, ir.PrivateArray(fresh("items"), s.memory.dtype, self.pieces)) for s in sums.values()
        ]
        arrays = {s.memory: array for s, array in combines}
        allocated = [ir.Allocate(array, None, origin=s.origin) for s, array in combines]
        lane = index_var(f"{self.axis}_lane", 0, self.pieces - 1)
        every = replace(loop, start=loop.start + lane, step=self.pieces)
        part = [*sums, every, *_left(combines, lane, fresh)]
        lanes = ir.For(lane, index(0), index(self.pieces), part, origin=loop.origin)
        tree = [*allocated, lanes, *self._halves(loop, combines, fresh)]

        def change(s: ir.Statement) -> ir.Body:
            match s:
                case ir.For() if s is loop:
                    return tree
                case ir.Allocate(array) if array in arrays:
                    return []
                case ir.Load(_, array) if array in arrays:
                    return [replace(s, memory=arrays[array])]
            return [s]

        return replace(kernel, body=replaced(kernel.body, change))

    def _halves(
        self, loop: ir.For, combines: Sequence[tuple[ir.Combine, ir.PrivateArray]], fresh: Fresh
    ) -> ir.Body:
        """Combines the upper half of the remaining elements into the lower half until one is left."""
        loops: ir.Body = []
        half = self.pieces // 2
        while half:
            lane = index_var(fresh(f"{self.axis}_half"), 0, half - 1)
            elements = [(replace(s, memory=array, index=lane), array) for s, array in combines]
            body = _with_partial(elements, lane + half, fresh)
            loops.append(ir.For(lane, index(0), index(half), body, origin=loop.origin))
            half //= 2
        return loops


def _left(combines: Combines, at: Index, fresh: Fresh) -> ir.Body:
    """Stores each accumulator of a part as the element `at` of its memory."""
    stores: ir.Body = []
    for combine, memory in combines:
        value = ir.Value(fresh("t"), memory.dtype)
        stores.append(ir.Load(value, combine.memory, index(0), origin=combine.origin))
        stores.append(ir.Store(memory, at, value, origin=combine.origin))
    return stores


def _with_partial(combines: Combines, at: Index, fresh: Fresh) -> ir.Body:
    """Combines each accumulator with a part's result, the element `at` of its memory."""
    body: ir.Body = []
    for combine, memory in combines:
        value = ir.Value(fresh("t"), memory.dtype)
        body.append(ir.Load(value, memory, at, origin=combine.origin))
        body.append(replace(combine, value=value))
    return body


def _sums(before: ir.Body, loop: ir.For) -> dict[ir.Allocate, ir.Combine]:
    """The variables that are allocated before the loop and combined in it."""
    made = [s for s in before if isinstance(s, ir.Allocate) and s.initial is not None]
    sums = directive.accumulators_in(loop.body)
    return {s: sums[s.array] for s in made if s.array.size == 1 and s.array in sums}


def _beside(kernel: ir.Kernel, axis: str) -> tuple[list[Any], ir.Body, ir.Body]:
    """The loops around the loop over an axis, and the statements before and after it."""
    *around, (body, loop) = directive.path_to(kernel.body, axis)
    number = body.index(loop)
    return [s for _, s in around], body[:number], body[number + 1 :]


def _between(loop: ir.For, axis: str, start: Index, stop: Index) -> ir.For:
    """The iterations from `start` to before `stop`, as a loop over that axis."""
    variable = index_var(axis, start.lo, stop.hi - 1)
    body = substituted(loop.body, {directive.axis_of(loop): variable})
    return ir.For(variable, start, stop, body, origin=loop.origin)
