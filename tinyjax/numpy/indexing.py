"""x[i], of every kind that NumPy has: integers, slices, None, ..., arrays, masks.

After this file you can say which of three ways an index takes, and read its equations:
  1. integers and slices that are known -> slice (then rev, squeeze, broadcast_in_dim);
  2. integers that are traced, with slices of step 1 -> dynamic_slice;
  3. all else, arrays above all -> gather, from one array of start positions.
Negative indices count from the end; reads out of range are clamped, as there are no errors on a device.
Updates, x.at[i].set(y), take the third way with scatter (see at.py). Builds on lax.

Source: https://docs.jax.dev/en/latest/_autosummary/jax.numpy.ndarray.at.html
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tinyjax import dtypes, lax
from tinyjax.array import Array, ArrayImpl
from tinyjax.core import Tracer
from tinyjax.errors import NonConcreteBooleanIndexError
from tinyjax.numpy.util import (
    as_array,
    broadcast_arrays,
    concrete,
    constant,
    convert,
    shape_of,
    weak_constant_like,
)

INT32 = np.dtype("int32")

# ---- what an index consists of ----

NEW_AXIS, SLICE, ELLIPSIS, INTEGER, BOOLEAN, ARRAY = range(6)


class Part(NamedTuple):
    """One item of an index, its kind, and the axes of the array that it speaks of."""

    index: Any
    kind: int
    axes: tuple[int, ...]


def parse(index: Any, shape: tuple[int, ...]) -> list[Part]:
    """The parts of an index into an array of `shape`.

    Raises IndexError for too many parts or two ellipses, TypeError for a part that is no index."""
    items = as_tuple(index)
    kinds = [_kind(item) for item in items]
    consumed = [_axes_consumed(item, kind) for item, kind in zip(items, kinds)]
    if kinds.count(ELLIPSIS) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    total = sum(consumed)
    if total > len(shape):
        raise IndexError(
            f"Too many indices: array is {len(shape)}-dimensional, but {total} were indexed"
        )
    parts, axis = [], 0
    for item, kind, count in zip(items, kinds, consumed):
        count = len(shape) - total if kind == ELLIPSIS else count
        parts.append(Part(item, kind, tuple(range(axis, axis + count))))
        axis += count
    return parts


def as_tuple(index: Any) -> tuple:
    """An index as a tuple of its parts. Raises TypeError for a list: NumPy's meaning is ambiguous."""
    if isinstance(index, tuple):
        return index
    if isinstance(index, Sequence) and not isinstance(index, str):
        is_part = lambda i: isinstance(i, (Sequence, slice)) or i is Ellipsis or np.ndim(i)  # noqa: E731
        wrap = "tuple" if any(i is None or is_part(i) for i in index) else "array"
        raise TypeError(
            "Using a non-tuple sequence for multidimensional indexing is not allowed; use "
            f"`arr[{wrap}(seq)]` instead of `arr[seq]`. See "
            "https://github.com/jax-ml/jax/issues/4564 for more information."
        )
    return (index,)


def _kind(item: Any) -> int:
    if item is None:
        return NEW_AXIS
    if item is Ellipsis:
        return ELLIPSIS
    if isinstance(item, slice):
        return SLICE
    if isinstance(item, (bool, np.bool_)):
        return BOOLEAN
    if isinstance(item, (int, np.integer)):
        return INTEGER
    if isinstance(item, str):
        raise TypeError(f"JAX does not support string indexing; got idx={item!r}")
    if isinstance(item, Sequence):
        if not item:
            return ARRAY
        item = np.asarray(item) if not any(isinstance(i, Array) for i in item) else _stack(item)
    if isinstance(item, (Array, np.ndarray, float, complex, np.generic)):
        dtype = dtypes.dtype(item) if not isinstance(item, Array) else item.dtype
        if dtype == np.bool_:
            return BOOLEAN
        if dtypes.kind(dtype) in "iu" and not isinstance(item, (float, complex)):
            return ARRAY
        raise TypeError(
            f"Indexer must have integer or boolean type, got indexer with type {dtype.name}: convert "
            "it with .astype(int)"
        )
    raise IndexError(
        "only integers, slices (`:`), ellipsis (`...`), newaxis (`None`) and integer or boolean arrays "
        f"are valid indices. Got {item}"
    )


def _axes_consumed(item: Any, kind: int) -> int:
    if kind in (NEW_AXIS, ELLIPSIS):
        return 0
    if kind == BOOLEAN:
        return len(shape_of(item)) if isinstance(item, Array) else np.ndim(item)
    return 1


def _stack(items: Sequence[Any]) -> Any:
    from tinyjax.numpy.creation import asarray

    return asarray(items)


def without_ellipsis(parts: list[Part], ndim: int) -> list[Part]:
    """The parts with `...` and the axes that are not named as full slices."""
    out: list[Part] = []
    for part in parts:
        if part.kind == ELLIPSIS:
            out += [Part(slice(None), SLICE, (axis,)) for axis in part.axes]
        else:
            out.append(part)
    used = sum(len(part.axes) for part in out)
    return out + [Part(slice(None), SLICE, (axis,)) for axis in range(used, ndim)]


# ---- reading ----


def getitem(x: Any, index: Any) -> Any:
    """x[index]. Raises IndexError or TypeError for what is no index into x's shape."""
    return rewriting_take(x, index)


def rewriting_take(
    x: Any,
    index: Any,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
    fill_value: Any = None,
    wrap_negative: bool = True,
) -> Any:
    """x[index], by the first of the three ways that can do it (see the top of this file)."""
    parts = parse(index, x.aval.shape)
    if mode is None or lax.GatherScatterMode.from_any(mode) in _NO_FILL:
        kinds = {part.kind for part in parts}
        in_range = mode is not None or _integers_are_in_range(parts, x.aval.shape, wrap_negative)
        if not kinds & {ARRAY, BOOLEAN} and in_range:
            if _slices_are_known(parts):
                return _static_slice(x, without_ellipsis(parts, x.ndim), wrap_negative)
        elif _fits_dynamic_slice(parts, x.aval.shape):
            return _dynamic_slice(x, without_ellipsis(parts, x.ndim), wrap_negative)
    return _gather(
        x, parts, indices_are_sorted, unique_indices, mode, fill_value, wrap_negative
    )


_NO_FILL = (lax.GatherScatterMode.PROMISE_IN_BOUNDS, lax.GatherScatterMode.CLIP)


def _integers_are_in_range(parts: list[Part], shape: tuple[int, ...], wrap_negative: bool) -> bool:
    for part in parts:
        if part.kind == INTEGER:
            size = shape[part.axes[0]]
            if not (-size if wrap_negative else 0) <= part.index < size:
                return False
    return True


def _slices_are_known(parts: list[Part]) -> bool:
    for position, part in enumerate(parts):
        if part.kind == SLICE:
            ends = (part.index.start, part.index.stop, part.index.step)
            if any(isinstance(e, Tracer) and e.concrete() is None for e in ends):
                raise IndexError(
                    f"Slice entries must be static integers. Got {part.index} at position {position}: "
                    "use lax.dynamic_slice, whose start may be traced"
                )
            for entry in ends:
                if isinstance(entry, float):
                    raise TypeError(
                        f"slice entries are integers or None, got a float: {part.index} at position "
                        f"{position}"
                    )
    return True


def _static_slice(x: Any, parts: list[Part], wrap_negative: bool) -> Any:
    """Integers and slices that are known: one slice, then the axes are tidied."""
    starts: list[int] = []
    squeeze: list[int] = []
    new_axes: list[int] = []
    limits, strides, reverse = [], [], []
    for part in parts:
        if part.kind == NEW_AXIS:
            new_axes.append(len(starts) - len(squeeze) + len(new_axes))
            continue
        (axis,) = part.axes
        size = x.aval.shape[axis]
        if part.kind == INTEGER:
            start = _clamped(int(part.index), axis, size, wrap_negative)
            stop, stride = start + 1, 1
            squeeze.append(axis)
        else:
            start, stop, stride = part.index.indices(size)
            if stride < 0:  # the same elements upwards, then reversed
                count = len(range(start, stop, stride))
                lowest = start + (count - 1) * stride if count else stop + 1
                start, stop, stride = lowest, max(lowest, start + 1), -stride
                reverse.append(axis)
            stop = max(start, stop)
        starts.append(start)
        limits.append(stop)
        strides.append(stride)
    whole = all(a == 0 and b == n for a, b, n in zip(starts, limits, x.aval.shape))
    if not (whole and set(strides) <= {1}):
        x = lax.slice(x, starts, limits, strides if set(strides) - {1} else None)
    return _tidy(x, reverse, squeeze, new_axes)


def _clamped(i: int, axis: int, size: int, wrap_negative: bool) -> int:
    if size == 0:
        raise IndexError(f"index is out of bounds for axis {axis} with size 0")
    if wrap_negative and i < 0:
        i += size
    return min(max(i, 0), size - 1)


def _tidy(x: Any, reverse: Sequence[int], squeeze: Sequence[int], new_axes: Sequence[int]) -> Any:
    if reverse:
        x = lax.rev(x, tuple(reverse))
    if squeeze:
        x = lax.squeeze(x, tuple(squeeze))
    return lax.expand_dims(x, tuple(new_axes)) if new_axes else x


def _fits_dynamic_slice(parts: list[Part], shape: tuple[int, ...]) -> bool:
    for part in parts:
        if part.kind == BOOLEAN:
            return False
        if part.kind == ARRAY:
            if isinstance(part.index, Sequence) or shape_of(part.index) != ():
                return False
        if part.kind == SLICE and part.index.step not in (None, 1, -1):
            return False
        if part.kind in (ARRAY, INTEGER) and shape[part.axes[0]] == 0:
            return False
    return _slices_are_known(parts)


def _dynamic_slice(x: Any, parts: list[Part], wrap_negative: bool) -> Any:
    """Integers that are traced: one dynamic_slice, then the axes are tidied."""
    starts: list[Any] = []
    squeeze: list[int] = []
    new_axes: list[int] = []
    sizes, reverse = [], []
    for part in parts:
        if part.kind == NEW_AXIS:
            new_axes.append(len(starts) - len(squeeze) + len(new_axes))
            continue
        (axis,) = part.axes
        if part.kind == SLICE:
            start, stop, stride = part.index.indices(x.aval.shape[axis])
            if stride < 0:
                start, stop = stop + 1, start + 1
                reverse.append(axis)
            starts.append(start)
            sizes.append(max(0, stop - start))
        else:
            starts.append(as_array(part.index))
            sizes.append(1)
            squeeze.append(axis)
    if len(starts) > 1:
        starts = [convert(i, INT32) for i in starts]
    x = lax.dynamic_slice(x, starts, sizes, allow_negative_indices=wrap_negative)
    return _tidy(x, reverse, squeeze, new_axes)


# ---- the general way: gather ----


class GatherPlan(NamedTuple):
    """How an index is done by gather or scatter.

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


def expand_masks(parts: list[Part], shape: tuple[int, ...]) -> list[Part]:
    """The parts with each mask as the arrays of the positions where it holds.

    Raises NonConcreteBooleanIndexError for a traced mask, IndexError if its shape does not fit."""
    out: list[Part] = []
    for position, part in enumerate(parts):
        if part.kind != BOOLEAN or not np.ndim(part.index):
            out.append(part)
            continue
        mask = part.index
        if isinstance(mask, Tracer):
            if mask.concrete() is None:
                raise NonConcreteBooleanIndexError(mask)
            mask = mask.concrete()
        mask = np.asarray(mask)
        expected = tuple(shape[axis] for axis in part.axes)
        if any(n not in (0, m) for n, m in zip(mask.shape, expected)):
            raise IndexError(
                f"boolean index did not match shape of indexed array in index {position}: got "
                f"{mask.shape}, expected {expected}"
            )
        for where, axis in zip(np.nonzero(mask), part.axes):
            out.append(Part(where, ARRAY, (axis,)))
    return out


def _gather(
    x: Any,
    parts: list[Part],
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: Any,
    fill_value: Any,
    wrap_negative: bool,
) -> Any:
    plan = gather_plan(expand_masks(parts, x.aval.shape), x.aval.shape, wrap_negative)
    if fill_value is not None:
        fill_value = concrete(fill_value, "fill_value argument to indexed get()")
        if np.ndim(fill_value) != 0:
            raise ValueError("fill_value argument to indexed get() must be a scalar")
        fill_value = fill_value.item() if hasattr(fill_value, "item") else fill_value
    if plan.scalar_bool_axes:
        x = lax.expand_dims(x, plan.scalar_bool_axes)
    if 0 in plan.shape:
        return lax.full_like(x, 0, shape=plan.shape)
    if math.prod(plan.starts.shape):
        x = lax.gather(
            x,
            plan.starts,
            plan.dimension_numbers,
            plan.sizes,
            unique_indices=unique_indices or plan.is_basic,
            indices_are_sorted=indices_are_sorted or plan.is_basic,
            mode=mode,
            fill_value=fill_value,
        )
    return _tidy(x, plan.reversed_axes, (), plan.new_axes)


def gather_plan(parts: list[Part], shape: tuple[int, ...], wrap_negative: bool = True) -> GatherPlan:
    """How gather or scatter does an index.

    Index arrays broadcast together; their axes come first in the result if they are separated by a
    slice or None, else they stay where the first of them was (NumPy's rule)."""
    arrays_at = [i for i, part in enumerate(parts) if part.kind in (ARRAY, INTEGER)]
    contiguous = all(b - a == 1 for a, b in zip(arrays_at, arrays_at[1:]))
    _slices_are_known(parts)
    parts = without_ellipsis([_sequence_as_array(part) for part in parts], len(shape))
    parts, shape, scalar_bool_axes = _expand_scalar_bools(parts, shape)
    parts = [_count_from_end(part, shape) if wrap_negative else part for part in parts]
    is_advanced = any(p.kind == ARRAY and len(shape_of(p.index)) for p in parts)
    advanced = [
        (as_array(part.index), position, part.axes[0])
        for position, part in enumerate(parts)
        if is_advanced and part.kind in (ARRAY, INTEGER)
    ]
    first = (advanced[0][1] if contiguous else 0) if advanced else -1

    starts: list[tuple[Any, int]] = []  # (positions, the first of their axes in the starts' shape)
    starts_shape: list[int] = []
    out_shape: list[int] = []
    sizes, offset_dims, collapsed, start_index_map, new_axes, reversed_axes = [], [], [], [], [], []
    out_axis = plain_axis = 0  # the axis of the result, with and without new axes

    for position, part in enumerate(parts):
        if position == first:
            arrays = broadcast_arrays(*[a for a, _, _ in advanced])
            starts += [(convert(a, INT32), len(starts_shape)) for a in arrays]
            start_index_map += [axis for _, _, axis in advanced]
            collapsed += [axis for _, _, axis in advanced]
            starts_shape += arrays[0].shape
            out_shape += arrays[0].shape
            out_axis += arrays[0].ndim
            plain_axis += arrays[0].ndim
        if part.kind == NEW_AXIS:
            out_shape.append(1)
            new_axes.append(out_axis)
            out_axis += 1
            continue
        (axis,) = part.axes
        size = shape[axis]
        if part.kind in (ARRAY, INTEGER):
            sizes.append(1)
            if not is_advanced:
                if size == 0:
                    raise IndexError(f"index is out of bounds for axis {axis} with size 0")
                starts.append((convert(as_array(part.index), INT32), len(starts_shape)))
                collapsed.append(axis)
                start_index_map.append(axis)
            continue
        start, stop, step = part.index.indices(size)
        count = len(range(start, stop, step))
        out_shape.append(count)
        if step == 1:  # a window of the slice
            if count != size:
                starts.append((convert(start, INT32), len(starts_shape)))
                start_index_map.append(axis)
            sizes.append(count)
            offset_dims.append(plain_axis)
        else:  # each element is a slice of its own
            counted = lax.mul(convert(step, INT32), lax.iota(INT32, count))
            positions = lax.add(convert(start, INT32), counted)
            if step < 0:
                reversed_axes.append(plain_axis)
                positions = lax.rev(positions, (0,))
            sizes.append(1)
            starts.append((positions, len(starts_shape)))
            start_index_map.append(axis)
            starts_shape.append(count)
            collapsed.append(axis)
        plain_axis += 1
        out_axis += 1

    numbers = lax.GatherDimensionNumbers(
        offset_dims=tuple(offset_dims),
        collapsed_slice_dims=tuple(sorted(collapsed)),
        start_index_map=tuple(start_index_map),
    )
    return GatherPlan(
        shape=tuple(out_shape),
        sizes=tuple(sizes),
        starts=_join_starts(starts, starts_shape),
        dimension_numbers=numbers,
        is_basic=not advanced,
        reversed_axes=tuple(reversed_axes),
        new_axes=tuple(new_axes),
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


def _sequence_as_array(part: Part) -> Part:
    if not isinstance(part.index, Sequence):
        return part
    if not part.index:
        return part._replace(index=np.zeros(0, INT32))
    return part._replace(index=_stack(part.index))


def _count_from_end(part: Part, shape: tuple[int, ...]) -> Part:
    """Negative indices made non-negative."""
    if part.kind not in (INTEGER, ARRAY):
        return part
    (axis,) = part.axes
    index, size = part.index, shape[axis]
    if part.kind == INTEGER:
        index = operator.index(index)
        return part._replace(index=index + size if index < 0 else index)
    if dtypes.kind(index.dtype) == "u":
        return part
    if isinstance(index, np.ndarray):
        negative: Any = index < 0
        index = as_array(index)
    else:
        negative = lax.lt(index, constant(0, index.dtype, index.weak_type))
    wrapped = lax.add(index, weak_constant_like(index, size))
    return part._replace(index=lax.select(negative, wrapped, index))


def _expand_scalar_bools(
    parts: list[Part], shape: tuple[int, ...]
) -> tuple[list[Part], tuple[int, ...], tuple[int, ...]]:
    """x[True] and x[False]: a new axis of size 1, of which one or no element is taken."""
    if not any(part.kind == BOOLEAN for part in parts):
        return parts, shape, ()
    new_shape, axes, out, axis = list(shape), [], [], 0
    for part in parts:
        if part.kind == BOOLEAN:
            if isinstance(part.index, Tracer) and part.index.concrete() is None:
                raise NonConcreteBooleanIndexError(part.index)
            new_shape.insert(axis, 1)
            axes.append(axis)
            out.append(Part(np.arange(int(bool(part.index)), dtype=INT32), ARRAY, (axis,)))
            axis += 1
        else:
            count = len(part.axes)
            out.append(part._replace(axes=tuple(range(axis, axis + count))))
            axis += count
    return out, tuple(new_shape), tuple(axes)
