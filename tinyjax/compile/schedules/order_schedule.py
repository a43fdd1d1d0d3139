"""The schedule of what is made in order: rows or columns that are independent, in vectors, and shared out.

An update's windows may meet, so one work-item changes them one after the other. Elements at different places
along the axes that each window covers whole never meet: neighbours along the last one are a vector, and
work-items share the vectors. Each of them goes through all windows. Likewise the columns of a cumulative sum
are vectors, and its rows are shared out.
"""

from __future__ import annotations

from dataclasses import replace

from tinyjax.compile.codegen.codegen import Target
from tinyjax.compile.kernel.kernel_ir import Kernel
from tinyjax.compile.schedules.directive import loop_over
from tinyjax.compile.schedules.map_schedule import iterations, vector_width
from tinyjax.compile.schedules.parallelize import Parallelize, split_work
from tinyjax.compile.schedules.schedule import ScheduleBuilder
from tinyjax.compile.schedules.split import Split
from tinyjax.compile.schedules.vectorize import Vectorize


def order_schedule(naive: Kernel, axes: tuple[str, ...], target: Target) -> ScheduleBuilder:
    """The schedule of a naive nest whose elements are made in order, but for the loops over `axes`, around
    all."""
    builder = ScheduleBuilder(naive)
    outer, vectors = list(axes), None
    if outer and (width := _width(builder, outer[-1], target)) > 1:
        vectors = Vectorize(outer[-1], width, why="neighbours in memory are independent")
        if not builder.can_vectorize(vectors):
            vectors = None
        elif builder.size(outer[-1]) > width:
            last = outer.pop()
            builder.apply(Split(last, width, why=f"a vector has {width} elements"))
            vectors = replace(vectors, axis=f"{last}_inner")
            outer.append(f"{last}_outer")
        else:
            outer.pop()
    axis = builder.fuse_axes(outer, "elements that never meet")
    if axis:
        grain = target.grain // iterations(loop_over(builder.kernel, axis).body)
        items, run = split_work(builder.size(axis), grain, target.max_items)
        if items > 1:
            builder.apply_if_possible(Parallelize(axis, items, why=f"{run} iterations each"))
    if vectors is not None:
        builder.apply(vectors)
    return builder


def _width(builder: ScheduleBuilder, axis: str, target: Target) -> int:
    """The elements of a vector: as many as possible; for a short axis, a number that divides its size."""
    size, most = builder.size(axis), vector_width(builder.kernel, target)
    widths = [width for width in (16, 8, 4) if width <= min(size, most)]
    whole = (width for width in widths if size % width == 0)
    return next(whole, max(widths, default=1) if size > most else 1)
