"""How an index becomes one gather or scatter: start positions, the shape of a slice, and axes.

Gather takes a slice of shape `sizes` at each start; the axes of starts come out as batch axes, those of the
slice as offset_dims, except the collapsed ones.

Source: https://openxla.org/xla/operation_semantics#gather
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tinyjax import lax
from tinyjax.core.array import ArrayImpl
from tinyjax.core.bind import as_array
from tinyjax.core.primitives import shape_of
from tinyjax.numpy.index_parts import (
    ARRAY,
    INTEGER,
    NEW_AXIS,
    SLICE,
    TRACED_SLICE,
    IndexPart,
    check_slices_are_known,
    count_from_end,
    expand_scalar_bools,
    sequence_as_array,
    without_ellipsis,
)
from tinyjax.numpy.slices import Slice
from tinyjax.numpy.util import INT32, broadcast_arrays, convert


class GatherPlan(NamedTuple):
    """The parameters by which gather or scatter performs an index.

    `shape` is that of the result before new axes and reversal; `starts` holds one start position for
    each slice taken; `sizes` is the shape of a slice."""

    shape: tuple[int, ...]
    sizes: tuple[int, ...]
    starts: Any
    dimension_numbers: Any
    is_basic: bool
    reversed_axes: tuple[int, ...]
    new_axes: tuple[int, ...]
    scalar_bool_axes: tuple[int, ...]

    def promises(self, indices_are_sorted: bool, unique_indices: bool) -> dict[str, Any]:
        """The promises for gather or scatter; a basic index has both."""
        given = {"indices_are_sorted": indices_are_sorted, "unique_indices": unique_indices}
        return {name: promised or self.is_basic for name, promised in given.items()}


def gather_plan(
    parts: list[IndexPart], shape: tuple[int, ...], wrap_negative: bool = True
) -> GatherPlan:
    """How gather or scatter does an index.

    Index arrays broadcast together; their axes come first in the result if they are separated by a
    slice or None, else they stay where the first of them was (NumPy's rule)."""
    arrays_at = [i for i, part in enumerate(parts) if part.kind in (ARRAY, INTEGER)]
    contiguous = all(b - a == 1 for a, b in zip(arrays_at, arrays_at[1:]))
    check_slices_are_known(parts)
    parts = without_ellipsis([sequence_as_array(part) for part in parts], len(shape))
    parts, shape, scalar_bool_axes = expand_scalar_bools(parts, shape)
    if wrap_negative:
        parts = [count_from_end(part, shape) for part in parts]

    advanced = {i: p for i, p in enumerate(parts) if p.kind in (ARRAY, INTEGER)}
    if not any(p.kind == ARRAY and len(shape_of(p.index)) for p in parts):
        advanced = {}
    first = min(advanced) if advanced and contiguous else 0
    builder = _PlanBuilder(shape)
    for position, part in enumerate(parts):
        if advanced and position == first:
            builder.add_arrays(list(advanced.values()))
        if part.kind == NEW_AXIS:
            builder.add_new_axis()
        elif part.kind in (SLICE, TRACED_SLICE):
            builder.add_slice(part.index, part.axes[0])
        else:
            builder.sizes.append(1)
            if not advanced:
                builder.add_scalar(part.index, part.axes[0])
    return builder.plan(is_basic=not advanced, scalar_bool_axes=scalar_bool_axes)


class _PlanBuilder:
    """Collects starts, slices and result axes from the parts of an index."""

    def __init__(self, shape: tuple[int, ...]):
        self.shape = shape
        self.starts: list[tuple[Any, int]] = []  # (positions, the first of their axes among starts)
        self.starts_shape: list[int] = []
        self.start_index_map: list[int] = []  # the axis of the array that each positions are along
        self.sizes: list[int] = []  # the shape of a slice
        self.collapsed: list[int] = []  # axes of the array that the result lacks
        self.offset_dims: list[int] = []  # axes of the result that are axes of a slice
        self.out_shape: list[int] = []
        self.new_axes: list[int] = []
        self.reversed_axes: list[int] = []

    @property
    def out_axis(self) -> int:
        """The next axis of the result, without new axes (they are added last)."""
        return len(self.out_shape) - len(self.new_axes)

    def add_start(self, positions: Any, axis: int) -> None:
        self.starts.append((convert(positions, INT32), len(self.starts_shape)))
        self.start_index_map.append(axis)

    def add_arrays(self, parts: list[IndexPart]) -> None:
        """Adds index arrays: each of their elements is a start, for one element along their axes."""
        arrays = broadcast_arrays(*[as_array(part.index) for part in parts])
        for array, part in zip(arrays, parts):
            self.add_start(array, part.axes[0])
            self.collapsed.append(part.axes[0])
        self.starts_shape += arrays[0].shape
        self.out_shape += arrays[0].shape

    def add_scalar(self, index: Any, axis: int) -> None:
        if self.shape[axis] == 0:
            raise IndexError(f"index is out of bounds for axis {axis} with size 0")
        self.add_start(as_array(index), axis)
        self.collapsed.append(axis)

    def add_new_axis(self) -> None:
        self.new_axes.append(len(self.out_shape))
        self.out_shape.append(1)

    def add_slice(self, index: slice | Slice, axis: int) -> None:
        size = self.shape[axis]
        if isinstance(index, Slice):
            start, count, step = as_array(index.start), index.size, index.stride
        else:
            start, stop, step = index.indices(size)
            count = len(range(start, stop, step))
        if step == 1:  # a window of the slice
            if count != size:
                self.add_start(start, axis)
            self.sizes.append(count)
            self.offset_dims.append(self.out_axis)
        else:  # each element is a separate slice
            counted = lax.mul(convert(step, INT32), lax.iota(INT32, count))
            positions = lax.add(convert(start, INT32), counted)
            if step < 0:
                self.reversed_axes.append(self.out_axis)
                positions = lax.rev(positions, (0,))
            self.add_start(positions, axis)
            self.starts_shape.append(count)
            self.sizes.append(1)
            self.collapsed.append(axis)
        self.out_shape.append(count)

    def plan(self, is_basic: bool, scalar_bool_axes: tuple[int, ...]) -> GatherPlan:
        numbers = lax.GatherDimensionNumbers(
            tuple(self.offset_dims), tuple(sorted(self.collapsed)), tuple(self.start_index_map)
        )
        return GatherPlan(
            shape=tuple(self.out_shape),
            sizes=tuple(self.sizes),
            starts=_join_starts(self.starts, self.starts_shape),
            dimension_numbers=numbers,
            is_basic=is_basic,
            reversed_axes=tuple(self.reversed_axes),
            new_axes=tuple(self.new_axes),
            scalar_bool_axes=scalar_bool_axes,
        )


def _join_starts(starts: list[tuple[Any, int]], shape: list[int]) -> Any:
    """The start positions in one array whose last axis runs over the indexed axes."""
    if not starts:
        return ArrayImpl(np.zeros((0,), INT32), as_array(np.zeros((0,), INT32)).aval)
    if len(starts) == 1:
        positions = starts[0][0]
        return lax.expand_dims(positions, (positions.ndim,))
    full = (*shape, 1)
    columns = [lax.broadcast_in_dim(p, full, range(at, at + p.ndim)) for p, at in starts]
    return lax.concatenate(columns, len(shape))
