"""Tree reductions: a sum as many sums side by side, which are then added in pairs, and these in pairs.

256 work-items combine their values in 8 steps. The first takes elements 0, 256, 512, ..., its neighbour 1,
257, 513, ..., so that what all load at once lies side by side in memory ("coalesced"). Nothing runs in
parallel yet: the loops over lanes are for the directive that makes work-groups. (Halide calls the first half
rfactor, TVM all of it a cross-thread reduction.)

    acc1:f32 = variable of 0.0         items1:f32 = 4 elements
    for i2 in 0 .. 100:                for i2_lane in 0 .. 4:
      a:f32 = a_in[i2]                   acc1:f32 = variable of 0.0
      acc1 = add acc1 a                  for i2 in i2_lane .. 100 by 4:
    b:f32 = acc1                           a:f32 = a_in[i2]
                                           acc1 = add acc1 a
                                         t1:f32 = acc1
                                         items1[i2_lane] = t1
                                       for i2_half1 in 0 .. 2:
                                         t2:f32 = items1[i2_half1 + 2]
                                         items1[i2_half1] = add items1[i2_half1] t2
                                       for i2_half2 in 0 .. 1:
                                         ...
                                       b:f32 = items1[0]

Source: M. Harris, "Optimizing Parallel Reduction in CUDA", 2007
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tinyjax.compile.kernel.indices import index, index_var
from tinyjax.compile.kernel.kernel_ir import (
    Allocate,
    Combine,
    For,
    Kernel,
    Load,
    PrivateArray,
    Statement,
)
from tinyjax.compile.kernel.substitution import replaced
from tinyjax.compile.schedules.directive import (
    LoopDirective,
    accumulators_in,
    body_with,
    loop_over,
    with_body,
)
from tinyjax.compile.schedules.lanes import why_no_parts
from tinyjax.compile.schedules.nests import Fresh
from tinyjax.compile.schedules.split_reduction import (
    combines_of,
    left_partial,
    with_partial,
)


@dataclass(frozen=True)
class TreeReduction(LoopDirective):
    """What the loop over `axis` combines, in `lanes` (a power of two) of every lanes-th element each, whose
    results are combined in pairs."""

    lanes: int

    def _why_not(self, kernel: Kernel, loop: For) -> str:
        if self.lanes < 2 or self.lanes & (self.lanes - 1):
            return f"{self.lanes} is no power of two"
        accumulators = _accumulators(body_with(kernel, loop), loop)
        if not accumulators:
            return f"the loop over {self.axis} combines into no variables that are made right before it"
        return why_no_parts(kernel, loop, accumulators)

    def _applied(self, kernel: Kernel) -> Kernel:
        loop, fresh = loop_over(kernel, self.axis), Fresh(kernel)
        body = body_with(kernel, loop)
        accumulators = _accumulators(body, loop)
        combines = [
            (s, PrivateArray(fresh("items"), s.array.dtype, self.lanes))
            for s in combines_of(loop, accumulators)
        ]
        arrays = {s.array: array for s, array in combines}
        allocated = [Allocate(array, None, origin=s.origin) for s, array in combines]
        lane = index_var(f"{self.axis}_lane", 0, self.lanes - 1)
        every = replace(loop, start=loop.start + lane, step=self.lanes)
        own = [accumulators[array] for array in arrays]
        part = [*own, every, *left_partial(combines, lane, fresh)]
        lanes = For(lane, index(0), index(self.lanes), part, origin=loop.origin)
        tree = [*allocated, lanes, *self._tree(loop, combines, fresh)]

        def change(s: Statement) -> list[Statement]:
            match s:
                case For() if s is loop:
                    return tree
                case Allocate(array) if array in arrays:
                    return []
                case Load(_, array) if array in arrays:
                    return [replace(s, source=arrays[array])]
            return [s]

        return with_body(kernel, body, replaced(body, change))

    def _tree(
        self, loop: For, combines: Sequence[tuple[Combine, PrivateArray]], fresh: Fresh
    ) -> list[Statement]:
        """The upper half of what is left is combined into the lower one, until that is one element."""
        loops: list[Statement] = []
        half = self.lanes // 2
        while half:
            lane = index_var(fresh(f"{self.axis}_half"), 0, half - 1)
            elements = [(replace(s, array=array, index=lane), array) for s, array in combines]
            body = with_partial(elements, lane + half, fresh)
            loops.append(For(lane, index(0), index(half), body, origin=loop.origin))
            half //= 2
        return loops


def _accumulators(body: Sequence[Statement], loop: For) -> dict[PrivateArray, Allocate]:
    """The variables that are made beside the loop, combined in it, and loaded after it."""
    at = body.index(loop)
    made = [s for s in body[:at] if isinstance(s, Allocate) and s.initial is not None]
    sums = accumulators_in(loop.body)
    return {s.array: s for s in made if s.array.size == 1 and s.array in sums}
