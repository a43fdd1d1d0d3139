"""The decisions that schedules are made of: the same ones, in the same order, for every kind of nest.

1. *Fuse* axes that are contiguous in memory, or too short.
2. *Lanes*: on a CPU, the iterations of a loop become vectors, if they are neighbours in memory or evenly
   spaced, or a sum. A loop over few elements (three coordinates, say) doesn't fill a vector: then the
   iterations of the loop around it are the lanes. Elements that data scatters are loaded lane by lane, if the
   lanes compute more than that. On a GPU, the lanes are the work-items of a group.
3. Cut a loop at its borders, so that inside of them nothing is tested (*Partition*).
4. *Share out* independent iterations among work-items, if each then has enough of them.

The schedule for a kind of nest (map_schedule.py, reduction_schedule.py, product_schedule.py, loop_kernels.py)
chooses the axes for these, and adds what only such nests need.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property

from tinyjax.compile.kernel.kernel_ir import Buffer, For, Kernel, Let, Load, Statement, Store
from tinyjax.compile.kernel.scalar_ops import scalar_ops
from tinyjax.compile.kernel.substitution import every_statement, stored_memory
from tinyjax.compile.schedules.dependences import why_dependent
from tinyjax.compile.schedules.directive import (
    accumulators_in,
    axis_of,
    changed_again,
    find_loop,
    loops_of,
    loops_over,
)
from tinyjax.compile.schedules.fuse import Fuse, divides
from tinyjax.compile.schedules.lanes import MAX_STRIDE, Lanes
from tinyjax.compile.schedules.parallelize import Parallelize, split_work
from tinyjax.compile.schedules.partition import Partition
from tinyjax.compile.schedules.reorder import tile
from tinyjax.compile.schedules.schedule import MAX_STATEMENTS, ScheduleBuilder
from tinyjax.compile.schedules.split import Split
from tinyjax.compile.schedules.unroll_and_jam import UnrollAndJam
from tinyjax.compile.schedules.vectorize import Vectorize
from tinyjax.compile.target import Target

SHORT_ROW = 8  # elements: of longer rows, neighbours are too far apart to be lanes
ACCUMULATORS = 8  # of a sum that is not in vectors
GATHERED = 7  # operations for each element that a lane loads by itself: vectors must save time
MAX_REPEATED = 150  # statements of a kernel in which a loop of two iterations is cut into both
INSIDE = "inside of the borders nothing is tested"
LAST = "only the last vector needs a mask"


class Chooser(ScheduleBuilder):
    """A schedule under construction for a target."""

    def __init__(self, naive: Kernel, target: Target):
        super().__init__(naive)
        self.target = target

    @cached_property
    def width(self) -> int:
        """The elements of a vector: as many as fit of the longest dtype; one without vectors."""
        made = [s.target for s in self.naive.statements if isinstance(s, Let | Load)]
        sizes = [x.dtype.itemsize for x in made] + [x.dtype.itemsize for x in self.naive.buffers]
        return self.target.width if max(sizes) <= 4 else max(1, self.target.width // 2)

    def size(self, axis: str) -> int:
        """How many iterations a loop over an axis has at most; one if there is none."""
        loops = loops_over(self.kernel, axis)
        return max([(loop.stop - loop.start).hi for loop in loops], default=1)

    # ---- fuse ----

    def fuse_axes(self, axes: Sequence[str], why: str) -> str:
        """Fuses axes into one and returns it, empty for no axes."""
        axes = [axis for axis in axes if axis]
        if len(axes) > 1:
            self.apply(Fuse(tuple(axes), why=why))
        return "_".join(axes)

    def fuse_contiguous_axes(self, axes: Sequence[str], why: str) -> list[str]:
        """Fuses neighbouring axes, the last ones first, without divisions; returns the axes that are left."""
        first = 0
        while len(axes) - first > 1:
            fused = self.tried(Fuse(tuple(axes[first:])), self.kernel)
            if isinstance(fused, Kernel) and not divides(fused, "_".join(axes[first:])):
                break
            first += 1
        before = self.fuse_contiguous_axes(axes[:first], why) if first else []
        return [*before, self.fuse_axes(axes[first:], why)]

    def tile(self, axes: Sequence[str], height: int, width: int, why: str) -> None:
        """Tiles nested loops. The last tiles overlap with others where there are enough elements."""
        sides = (axes[0], height), (axes[-1], width)
        overlap = [axis for axis, factor in sides if self.size(axis) >= factor]
        self.apply(*tile(axes, height, width, why, overlap))

    # ---- lanes ----

    def vectors_along(
        self, axis: str, overlap: bool = True, of_rows: bool = False
    ) -> Vectorize | None:
        """Vectors along the axis if possible: of neighbours in memory, or strided ones if all are whole. The
        last one may `overlap` if there are enough elements; otherwise smaller vectors may hold a short row.
        With `of_rows`, for rows shorter than a vector, the lanes are neighbouring rows, and gather what data
        or divisions scatter."""
        size, strides, width = self.size(axis), self._strides(axis, of_rows), self.width
        if size < width and not overlap:
            parts = width // 2, width // 4
            whole = (part for part in parts if size % part == 0)
            width = next(whole, min((part for part in parts if part > size), default=width))
        gather = not strides <= {0, 1} and (overlap or size % width == 0) or of_rows
        if width == 1 or (overlap and size < width) or (of_rows and strides <= {0}):
            return None
        why = "they are evenly apart in memory" if gather else "neighbours in memory"
        why = "a row is shorter than a vector" if of_rows else why
        overlap = overlap and size % width > 0
        vectors = Vectorize(axis, width, gather=gather, overlap=overlap, why=why)
        if self.is_possible(vectors):
            return vectors
        gathered = self.gathered(vectors)
        return gathered if gathered and self.is_possible(gathered) else None

    def gathered(self, vectors: Vectorize) -> Vectorize | None:
        """Vectors whose lanes load scattered elements one by one; None if they compute too little for it."""
        work, places = 0, list[bool]()
        for loop in loops_over(self.kernel, vectors.axis):
            lanes = Lanes(vectors.axis, loop.start, None, vectors.width, gather=True)
            lanes.find_varying(loop.body)
            inside = every_statement(loop.body)
            apart = [s.index for s in inside if isinstance(s, Load) and lanes.access(s) == "apart"]
            places += map(lanes.is_data, apart)  # others may be borders, where the loop is cut
            work += work_of(inside)
        if not places or not all(places) or work < GATHERED * len(places):
            return None
        return replace(vectors, gather=True, why="lanes compute more than they gather")

    def vectors_of_sums(self, axis: str) -> tuple[list[Partition], Vectorize | None]:
        """Vectors along a loop of sums, and how to cut it before: at borders, and into whole vectors."""
        if vectors := self.vectors_along(axis, overlap=False):
            return [], self._twice(vectors) or vectors
        cut = self.cut(axis, INSIDE, self.width) if self.width > 1 else None
        if cut is None:
            return [], None
        trial = copy(self)
        trial.kernel = cut.apply(self.kernel)
        vectors = find_loop(trial.kernel, axis) and trial.vectors_along(axis, overlap=False)
        return ([cut], vectors) if vectors else ([], None)

    def _twice(self, vectors: Vectorize) -> Vectorize | None:
        """Vectors of a maximum or minimum, the last of which overlaps: it needs no mask."""
        loops, size = loops_over(self.kernel, vectors.axis), self.size(vectors.axis)
        stored = (memory for loop in loops for memory in stored_memory(loop.body))
        is_sum = all(accumulators_in(loop.body) and not changed_again(loop) for loop in loops)
        width = min(vectors.width, power_of_two(size + 1) // 2)
        if size % vectors.width == 0 or not is_sum or any(isinstance(s, Buffer) for s in stored):
            return None
        why = "an element may count twice"
        twice = replace(vectors, width=width, overlap=True, why=why)
        return twice if 2 * width >= self.width and self.is_possible(twice) else None

    def _strides(self, axis: str, may_vary: bool) -> set[int]:
        """The strides of accesses along the loop, without those that may vary; empty if vectors don't support
        one, or one varies and must not. They skip few elements if other loops read these."""
        inside = every_statement(loops_over(self.kernel, axis))
        places = [s.index for s in inside if isinstance(s, Load | Store)]
        found = {place.stride(axis) for place in places}
        known = {stride for stride in found if stride is not None}
        others = set(map(axis_of, loops_of(self.kernel.body))) - {axis}
        is_read = any(place.stride(other) == 1 for place in places for other in others)
        most = SHORT_ROW if is_read else MAX_STRIDE
        is_even = may_vary or known == found
        return known if is_even and all(abs(stride) <= most for stride in known) else set()

    def vectorize(self, wanted: Vectorize, splits_one: bool = False) -> str:
        """Vectorizes an axis; returns the axis that numbers the vectors, which is empty if one vector holds
        all elements (it may still be split)."""
        axis, width = wanted.axis, wanted.width
        if splits_one and self.size(axis) <= width:
            self.apply(Split(axis, width, why=wanted.why), replace(wanted, axis=f"{axis}_inner"))
        else:
            self.apply(wanted)
        return f"{axis}_outer" if find_loop(self.kernel, f"{axis}_outer") else ""

    def vectorize_maps(self, widest: int, least: int = 0) -> None:
        """Vectorizes innermost loops whose iterations are independent and whose vectors may overlap. With
        `least`, vectors of shorter loops are narrower, and loops that only copy or fill stay: in place
        they vanish, and drivers do as well."""
        for axis, loops in self._loops_by_axis().items():
            shortest = min((loop.stop - loop.start).lo for loop in loops)  # of borders, maybe 1
            if least and (any(map(_is_copy, loops)) or shortest < least):
                continue
            width = min(widest, 2 ** int(math.log2(shortest))) if least else widest
            is_part = any((loop.stop - loop.start).hi % width > 0 for loop in loops)
            stores = all(any(isinstance(s, Store) for s in loop.body) for loop in loops)
            if not stores or any(loops_of(loop.body) or why_dependent(loop) for loop in loops):
                continue
            why = "neighbours are contiguous in memory"
            vectors = Vectorize(axis, width, overlap=is_part, why=why)
            is_again = is_part and any(changed_again(loop) for loop in loops)
            if shortest >= width and not is_again and not self.apply_if_possible(vectors):
                if gathered := self.gathered(vectors):
                    self.apply_if_possible(gathered)

    def vectorize_sums(self) -> None:
        """Vectorizes the innermost loops of sums along their terms; else uses several accumulators."""
        for axis, loops in self._loops_by_axis().items():
            count = min((loop.stop - loop.start).lo for loop in loops)
            if not all(map(_is_sum, loops)):
                continue
            for width in (self.width, self.width // 2, self.width // 4):
                why = "an accumulator for each lane"
                vectors = [Vectorize(axis, width, overlap=over, why=why) for over in (True, False)]
                is_long = width > 1 and count >= 2 * width
                if is_long and any(map(self.apply_if_possible, vectors)):
                    break
            else:
                if count >= 4 * ACCUMULATORS:
                    why = "independent sums"
                    self.apply_if_possible(UnrollAndJam(axis, ACCUMULATORS, why=why))

    def _loops_by_axis(self) -> dict[str, list[For]]:
        """All loops. An axis has several after unrolling, and a directive changes them together."""
        found: dict[str, list[For]] = {}
        for loop in loops_of(self.kernel.body):
            found.setdefault(axis_of(loop), []).append(loop)
        return found

    # ---- borders ----

    def partition(self, axis: str, why: str) -> bool:
        """Cuts a loop at its borders, unless it has none or too many pieces; returns whether it did."""
        if cut := self.cut(axis, why):
            self.apply(cut)
        return cut is not None

    def cut(self, axis: str, why: str, multiple: int = 1) -> Partition | None:
        """How to cut a loop at its borders; None if it has none, or too many pieces."""
        count = len(self.kernel.statements)
        would_repeat = self.size(axis) == 2 and count > MAX_REPEATED
        most = max(MAX_STATEMENTS, count)
        for into_three in (False, True):
            directive = Partition(axis, into_three, multiple, why=why)
            made = self.tried(directive, self.kernel)
            if isinstance(made, str):
                return None
            if not would_repeat and len(made.statements) <= most:
                return directive
        self.leave_out(directive, "its pieces would be too many")
        return None

    # ---- work-items ----

    def share_out(
        self, axis: str, grain: int = 1, why: str = "", most: int = 0, multiple: int = 1,
        in_groups: bool = False,
    ) -> int:  # fmt: skip
        """Shares a loop out, if possible, among work-items with at least `grain` iterations each, and a
        multiple of `multiple`; returns their number, at most `most` or the target's. A single iteration needs
        no loop. Work-items that come `in_groups` have neighbouring iterations, on a GPU."""
        if not axis:
            return 1
        count = math.ceil(self.size(axis) / multiple)
        items, run = split_work(count, grain // multiple, most or self.target.max_items)
        why = why or f"{run:,} iterations each, at least {max(1, grain):,}"
        group = self.target.local_size if in_groups else 1
        shared = Parallelize(axis, items, group, multiple, why=why)
        is_shared = items * group > 1 or self.size(axis) == 1
        return items if is_shared and self.apply_if_possible(shared) else 1


def power_of_two(count: int) -> int:
    """The smallest power of two that is not less."""
    return 1 << (count - 1).bit_length()


def work_of(statements: Iterable[Statement]) -> int:
    """The cost in simple operations; rearranging lanes is free."""
    lets = (s for s in statements if isinstance(s, Let) and s.op in scalar_ops)
    return sum(scalar_ops[s.op].cost for s in lets)


def _is_copy(loop: For) -> bool:
    """Whether each iteration only stores an element from the same place elsewhere, or always the same."""
    match loop.body:
        case [Store()]:
            return True
        case [Load() as load, Store() as store]:
            return (load.target, load.index) == (store.value, store.index)
    return False


def _is_sum(loop: For) -> bool:
    sizes = {array.size for array in accumulators_in(loop.body)}
    return sizes == {1} and not loops_of(loop.body)
