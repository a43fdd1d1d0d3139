"""x[i], of every kind that NumPy has: integers, slices, None, ..., arrays, masks.

An index takes one of three ways:
  1. integers and slices that are known -> slice (then rev, squeeze, broadcast_in_dim);
  2. integers that are traced, with slices of step 1 (jax.ds(i, n): also traced) -> dynamic_slice;
  3. all else, arrays above all -> gather, from one array of start positions.
Negative indices count from the end; reads out of range are clamped, as there are no errors on a device.
Updates, x.at[i].set(y), take the third way with scatter (see at.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core.array import ShapedArray
from tinyjax.core.bind import as_array
from tinyjax.core.primitives import shape_of
from tinyjax.numpy.gather_plan import gather_plan
from tinyjax.numpy.index_parts import (
    ARRAY,
    BOOLEAN,
    INTEGER,
    NEW_AXIS,
    SLICE,
    TRACED_SLICE,
    IndexPart,
    check_slices_are_known,
    expand_masks,
    parse,
    without_ellipsis,
)
from tinyjax.numpy.util import INT32, concrete, convert

# ---- reading ----


def getitem(x: Any, index: Any) -> Any:
    """x[index]. Raises IndexError or TypeError if `index` is no index into x's shape."""
    if type(x.aval) is not ShapedArray:
        return x.aval.getitem(x, index)
    return rewriting_take(x, index)


def setitem(x: Any, index: Any, value: Any) -> None:
    """x[index] = value. Raises TypeError for an array."""
    if type(x.aval) is not ShapedArray:
        return x.aval.setitem(x, index, value)
    raise TypeError(
        "JAX arrays are immutable and do not support in-place item assignment. Instead of x[idx] = y, "
        "use x = x.at[idx].set(y) or another .at[] method: "
        "https://docs.jax.dev/en/latest/_autosummary/jax.numpy.ndarray.at.html"
    )


def rewriting_take(
    x: Any, index: Any, indices_are_sorted: bool = False, unique_indices: bool = False,
    mode: Any = None, fill_value: Any = None, wrap_negative: bool = True,
) -> Any:  # fmt: skip
    """x[index], by the first of the three ways that can do it (see the top of this file)."""
    parts = parse(index, x.aval.shape)
    check_slices_are_known(parts)
    if mode is None or lax.GatherScatterMode.from_any(mode) in _NO_FILL:
        kinds = {part.kind for part in parts}
        in_range = mode is not None or _integers_are_in_range(parts, x.aval.shape, wrap_negative)
        if not kinds & {ARRAY, BOOLEAN, TRACED_SLICE} and in_range:
            return _static_slice(x, without_ellipsis(parts, x.ndim), wrap_negative)
        elif _fits_dynamic_slice(parts, x.aval.shape):
            return _dynamic_slice(x, without_ellipsis(parts, x.ndim), wrap_negative)
    return _gather(x, parts, indices_are_sorted, unique_indices, mode, fill_value, wrap_negative)


_NO_FILL = (lax.GatherScatterMode.PROMISE_IN_BOUNDS, lax.GatherScatterMode.CLIP)


def _integers_are_in_range(
    parts: list[IndexPart], shape: tuple[int, ...], wrap_negative: bool
) -> bool:
    integers = [(part.index, shape[part.axes[0]]) for part in parts if part.kind == INTEGER]
    return all((-size if wrap_negative else 0) <= i < size for i, size in integers)


def _static_slice(x: Any, parts: list[IndexPart], wrap_negative: bool) -> Any:
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


def _fits_dynamic_slice(parts: list[IndexPart], shape: tuple[int, ...]) -> bool:
    for part in parts:
        if part.kind == BOOLEAN:
            return False
        if part.kind == ARRAY:
            if isinstance(part.index, Sequence) or shape_of(part.index) != ():
                return False
        if part.kind == SLICE and part.index.step not in (None, 1, -1):
            return False
        if part.kind == TRACED_SLICE and part.index.stride != 1:
            return False
        if part.kind in (ARRAY, INTEGER) and shape[part.axes[0]] == 0:
            return False
    return True


def _dynamic_slice(x: Any, parts: list[IndexPart], wrap_negative: bool) -> Any:
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
        elif part.kind == TRACED_SLICE:
            starts.append(as_array(part.index.start))
            sizes.append(part.index.size)
        else:
            starts.append(as_array(part.index))
            sizes.append(1)
            squeeze.append(axis)
    if len(starts) > 1:
        starts = [convert(i, INT32) for i in starts]
    x = lax.dynamic_slice(x, starts, sizes, allow_negative_indices=wrap_negative)
    return _tidy(x, reverse, squeeze, new_axes)


# ---- the general way ----


def _gather(
    x: Any, parts: list[IndexPart], indices_are_sorted: bool, unique_indices: bool, mode: Any,
    fill_value: Any, wrap_negative: bool,
) -> Any:  # fmt: skip
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
        where = (plan.starts, plan.dimension_numbers, plan.sizes)
        promises = plan.promises(indices_are_sorted, unique_indices)
        x = lax.gather(x, *where, mode=mode, fill_value=fill_value, **promises)
    return _tidy(x, plan.reversed_axes, (), plan.new_axes)
