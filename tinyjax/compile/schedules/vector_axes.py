"""Which loops become vectors: those whose elements are neighbours or evenly spaced, and sums.

A loop over few elements (three coordinates, say) doesn't fill a vector: then the iterations of the loop
around it are the lanes.
"""

from __future__ import annotations

from tinyjax.compile.codegen.codegen import Target
from tinyjax.compile.kernel.kernel_ir import For, Kernel, Let, Load, Store
from tinyjax.compile.kernel.substitution import every_statement
from tinyjax.compile.schedules.dependences import why_dependent
from tinyjax.compile.schedules.directive import (
    accumulators_in,
    axis_of,
    changed_again,
    loop_over,
    loops_of,
)
from tinyjax.compile.schedules.lanes import MAX_STRIDE
from tinyjax.compile.schedules.schedule import ScheduleBuilder
from tinyjax.compile.schedules.unroll_and_jam import UnrollAndJam
from tinyjax.compile.schedules.vectorize import Vectorize

ACCUMULATORS = 8  # of a sum that is not in vectors


def vector_width(kernel: Kernel, target: Target) -> int:
    """The elements of a vector: as many as fit of the longest dtype."""
    made = [s.target for s in every_statement(kernel.body) if isinstance(s, Let | Load)]
    sizes = [x.dtype.itemsize for x in made] + [x.dtype.itemsize for x in kernel.buffers]
    return target.width if max(sizes) <= 4 else target.width // 2


def vectors_along(
    builder: ScheduleBuilder, axis: str, width: int, overlap: bool = True, of_rows: bool = False
) -> Vectorize | None:
    """Vectorizes the axis if possible: vectors of neighbours in memory, or strided ones if all are whole. The
    last one may `overlap` if there are enough elements; `of_rows`, which are shorter than a vector, the lanes
    are neighbouring rows.
    """
    size, stride = builder.size(axis), largest_stride(builder, axis)
    is_even = stride > 1 and (overlap or size % width == 0) or of_rows
    if width == 1 or (overlap and size < width) or (of_rows and not stride):
        return None
    why = "they are evenly apart in memory" if is_even else "neighbours in memory"
    why = "a row is shorter than a vector" if of_rows else why
    overlap = overlap and size % width > 0
    vectors = Vectorize(axis, width, gather=is_even, overlap=overlap, why=why)
    return vectors if builder.can_vectorize(vectors) else None


def largest_stride(builder: ScheduleBuilder, axis: str) -> int:
    """The largest stride of accesses along the loop; 0 if vectors don't support it or it isn't constant."""
    inside = every_statement(loop_over(builder.kernel, axis).body)
    strides = [s.index.stride(axis) for s in inside if isinstance(s, Load | Store)]
    is_even = all(stride is not None and 0 <= stride <= MAX_STRIDE for stride in strides)
    return max([stride or 0 for stride in strides], default=0) if is_even else 0


def _loops_by_axis(builder: ScheduleBuilder) -> dict[str, list[For]]:
    """All loops. An axis has several if the loop around it was cut: a directive changes them together."""
    found: dict[str, list[For]] = {}
    for loop in loops_of(builder.kernel.body):
        found.setdefault(axis_of(loop), []).append(loop)
    return found


def vectorize_maps(builder: ScheduleBuilder, width: int) -> None:
    """Vectorizes innermost loops whose iterations are independent and whose vectors may overlap."""
    for axis, loops in _loops_by_axis(builder).items():
        is_part = any((loop.stop - loop.start).hi % width > 0 for loop in loops)
        stores = all(any(isinstance(s, Store) for s in loop.body) for loop in loops)
        if not stores or any(loops_of(loop.body) or why_dependent(loop) for loop in loops):
            continue
        why = "neighbours are contiguous in memory"
        vectors = Vectorize(axis, width, overlap=is_part, why=why)
        is_again = is_part and any(changed_again(loop) for loop in loops)
        shortest = min((loop.stop - loop.start).lo for loop in loops)  # a border may be one element
        if shortest >= width and not is_again:
            builder.apply_if_possible(vectors)


def vectorize_sums(builder: ScheduleBuilder, width: int) -> None:
    """Vectorizes the innermost loops of sums, as the elements are not in vectors; else uses several
    accumulators.
    """
    for axis, loops in _loops_by_axis(builder).items():
        count = min((loop.stop - loop.start).lo for loop in loops)
        if not all(_is_sum(loop) for loop in loops):
            continue
        why = "an accumulator for each lane"
        widths = (width, width // 2, width // 4) if width > 1 else ()
        for vectors in [Vectorize(axis, w, why=why) for w in widths if count >= 2 * w]:
            if builder.apply_if_possible(vectors):
                break
        else:
            if count >= 4 * ACCUMULATORS:
                why = "independent sums"
                builder.apply_if_possible(UnrollAndJam(axis, ACCUMULATORS, why=why))


def _is_sum(loop: For) -> bool:
    sizes = {array.size for array in accumulators_in(loop.body)}
    return sizes == {1} and not loops_of(loop.body)
