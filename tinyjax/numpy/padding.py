"""jnp.pad with all of NumPy's modes.

Each mode is slices and a concatenate.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core import dtypes
from tinyjax.core.array import Array
from tinyjax.core.bind import Tracer
from tinyjax.core.errors import ConcretizationTypeError
from tinyjax.numpy import averages, reductions
from tinyjax.numpy.creation import asarray, empty_like
from tinyjax.numpy.manipulation import flip, squeeze
from tinyjax.numpy.mapping import apply_along_axis
from tinyjax.numpy.quantiles import median
from tinyjax.numpy.ranges import linspace
from tinyjax.numpy.rounding import round as round_
from tinyjax.numpy.taking import repeat
from tinyjax.numpy.ufuncs import multiply, subtract
from tinyjax.numpy.util import broadcast_to, convert, ensure_arraylike
from tinyjax.transform.jit.api import jitted

# mode -> the keyword arguments that it takes
_MODES: dict[str, tuple[str, ...]] = {
    "constant": ("constant_values",),
    "linear_ramp": ("end_values",),
    "maximum": ("stat_length",),
    "minimum": ("stat_length",),
    "mean": ("stat_length",),
    "median": ("stat_length",),
    "reflect": ("reflect_type",),
    "symmetric": ("reflect_type",),
    "edge": (),
    "wrap": (),
    "empty": (),
}


def pad(array: Any, pad_width: Any, mode: str | Callable = "constant", **kwargs: Any) -> Array:
    """`array` with pad_width elements added before and after each axis; as numpy.pad.

    pad_width is a count, a pair (before, after) or a pair for each axis. Raises TypeError for counts
    that are no integers, ValueError for negative ones, NotImplementedError for an unknown mode."""
    array = ensure_arraylike("pad", array)
    widths = _pairs(pad_width, array.ndim, "pad_width")
    if any(not isinstance(n, (int, np.integer)) for pair in widths for n in pair):
        raise TypeError("`pad_width` must be of integral type.")
    # NumPy's integers, as JAX has them there: its jaxprs show np.int64(1).
    widths = tuple((np.int64(before), np.int64(after)) for before, after in widths)
    if any(n < 0 for pair in widths for n in pair):
        raise ValueError("index can't contain negative values")
    if callable(mode):
        return _pad_by_function(array, widths, mode, kwargs)
    if mode not in _MODES:
        raise NotImplementedError(f"Unimplemented padding mode '{mode}' for np.pad.")
    unsupported = set(kwargs) - set(_MODES[mode])
    if unsupported:
        raise ValueError(f"unsupported keyword arguments for mode '{mode}': {unsupported}")
    options = {
        "stat_length": _freeze(kwargs.get("stat_length"), array.ndim, "stat_length"),
        "end_values": _freeze(kwargs.get("end_values", 0), array.ndim, "end_values"),
        "reflect_type": kwargs.get("reflect_type", "even"),
    }
    values = kwargs.get("constant_values", 0)
    values = asarray(values) if isinstance(values, (tuple, list)) else values
    return _pad(array, widths, mode, values, **options)


def _pairs(values: Any, ndim: int, name: str) -> tuple:
    """A (before, after) pair for each axis."""
    try:
        given = np.asarray(values)
    except ValueError as error:
        raise TypeError(f"`{name}` entries must be the same shape: {values}") from error
    except TypeError as error:
        if isinstance(values, Tracer):
            raise ConcretizationTypeError(values, f"{name} argument of jnp.pad") from error
        raise
    if given.shape not in ((ndim, 2), (1, 2), (2,), (1,), ()):
        raise ValueError(
            f"jnp.pad: {name} with nd={ndim} has unsupported shape {given.shape}. Valid shapes are "
            f"({ndim}, 2), (1, 2), (2,), (1,), or ()."
        )
    return tuple((before, after) for before, after in np.broadcast_to(given, (ndim, 2)).tolist())


def _freeze(values: Any, ndim: int, name: str) -> Any:
    return None if values is None else _pairs(values, ndim, name)


@jitted(static_argnames=("pad_width", "mode", "stat_length", "end_values", "reflect_type"))
def _pad(
    array: Any, pad_width: tuple, mode: str, constant_values: Any, stat_length: Any = None,
    end_values: Any = None, reflect_type: str = "even",
) -> Any:  # fmt: skip
    if array.ndim == 0:
        return array
    if mode == "constant":
        return _pad_constant(array, pad_width, constant_values)
    if mode in _STATISTICS:
        return _pad_statistic(array, pad_width, stat_length, _STATISTICS[mode])
    for axis, (before, after) in enumerate(pad_width):
        if array.shape[axis] == 0 and mode != "empty":
            if before or after:
                raise ValueError(f"Cannot apply '{mode}' padding to empty axis")
        elif mode in ("reflect", "symmetric"):
            array = _mirror(array, axis, before, mode, reflect_type, at_start=True)
            array = _mirror(array, axis, after, mode, reflect_type, at_start=False)
        elif mode == "wrap":
            array = _wrap(array, axis, before, after)
        elif mode == "edge":
            first = repeat(lax.slice_in_dim(array, 0, 1, axis=axis), before, axis=axis)
            last = repeat(lax.slice_in_dim(array, -1, None, axis=axis), after, axis=axis)
            array = lax.concatenate([first, array, last], axis)
        elif mode == "linear_ramp":
            array = _ramp(array, axis, before, after, end_values[axis])
        else:
            parts = [_empty(array, axis, before), array, _empty(array, axis, after)]
            array = lax.concatenate(parts, axis)
    return array


def _pad_constant(array: Any, pad_width: tuple, values: Any) -> Any:
    values = convert(asarray(values), array.dtype, dtypes.is_weakly_typed(array))
    if values.shape in ((), (1,)):
        value = squeeze(values) if values.ndim else values
        return lax.pad(array, value, [(before, after, 0) for before, after in pad_width])
    if values.ndim == 1 and values.shape != (2,):
        raise ValueError(
            f"jnp.pad: constant_values has unsupported shape {values.shape}. If the shape is 1D or 2D, "
            "the last dimension must be of size 1 or 2."
        )
    values = broadcast_to(values, (array.ndim, 2))
    for axis, pair in enumerate(pad_width):
        for side, count in enumerate(pair):
            if count:
                widths = [(0, 0, 0)] * array.ndim
                widths[axis] = (count, 0, 0) if side == 0 else (0, count, 0)
                array = lax.pad(array, values[axis, side], widths)
    return array


def _wrap(array: Any, axis: int, before: int, after: int) -> Any:
    size = array.shape[axis]
    repeats_before, rest_before = divmod(before, size)
    repeats_after, rest_after = divmod(after, size)
    parts = [array] * (repeats_before + repeats_after + 1)
    if rest_before:
        parts = [lax.slice_in_dim(array, size - rest_before, size, axis=axis), *parts]
    if rest_after:
        parts = [*parts, lax.slice_in_dim(array, 0, rest_after, axis=axis)]
    return lax.concatenate(parts, axis)


def _mirror(array: Any, axis: int, count: int, mode: str, reflect_type: str, at_start: bool) -> Any:
    """Adds `count` mirrored elements on one side, a whole mirror image at a time."""
    size = array.shape[axis]
    offset = 1 if mode == "reflect" and size > 1 else 0  # reflect does not repeat the edge
    first_or_last: tuple[int, int | None] = (0, 1) if at_start else (-1, None)
    edge_of = lambda x: lax.slice_in_dim(x, first_or_last[0], first_or_last[1], axis=axis)  # noqa: E731
    edge = edge_of(array)
    while count > 0:
        part = min(count, size - offset)
        count -= part
        if at_start:
            start, stop = offset, offset + part
        else:
            start, stop = array.shape[axis] - part - offset, array.shape[axis] - offset
        x = flip(lax.slice_in_dim(array, start, stop, axis=axis), axis)
        if reflect_type == "odd":
            x = subtract(multiply(2, edge), x)
            if size > 1:
                edge = edge_of(x)
        array = lax.concatenate([x, array] if at_start else [array, x], axis)
    return array


def _ramp(array: Any, axis: int, before: int, after: int, ends: tuple) -> Any:
    weak_type = dtypes.is_weakly_typed(array)

    def ramp(end: Any, edge: Any, count: int) -> Any:
        options = {"num": count, "endpoint": False, "dtype": array.dtype, "axis": axis}
        return convert(linspace(end, squeeze(edge, axis), **options), array.dtype, weak_type)

    first = ramp(ends[0], lax.slice_in_dim(array, 0, 1, axis=axis), before)
    last = ramp(ends[1], lax.slice_in_dim(array, -1, None, axis=axis), after)
    return lax.concatenate([first, array, flip(last, axis)], axis)


def _median(a: Any, axis: int, keepdims: bool) -> Any:
    return median(a, axis, keepdims=keepdims)


_STATISTICS: dict[str, Callable] = {
    "maximum": reductions.max,
    "minimum": reductions.min,
    "mean": averages.mean,
    "median": _median,
}


def _pad_statistic(array: Any, pad_width: tuple, stat_length: Any, statistic: Callable) -> Any:
    for axis, (before, after) in enumerate(pad_width):
        if stat_length is None:
            first = last = statistic(array, axis=axis, keepdims=True)
        else:
            size = array.shape[axis]
            if 0 in stat_length[axis]:
                raise ValueError("stat_length of 0 yields no value for padding")
            left, right = (min(n, size) for n in stat_length[axis])
            head = lax.slice_in_dim(array, 0, left, axis=axis)
            tail = lax.slice_in_dim(array, -right, None, axis=axis)
            first, last = (statistic(x, axis=axis, keepdims=True) for x in (head, tail))
        if dtypes.kind(array.dtype) in "iu":
            first, last = round_(first), round_(last)
        weak_type = dtypes.is_weakly_typed(array)
        first, last = (convert(x, array.dtype, weak_type) for x in (first, last))
        parts = [repeat(first, before, axis=axis), array, repeat(last, after, axis=axis)]
        array = lax.concatenate(parts, axis)
    return array


def _empty(array: Any, axis: int, count: int) -> Any:
    return empty_like(array, shape=(*array.shape[:axis], count, *array.shape[axis + 1 :]))


def _pad_by_function(array: Any, widths: tuple, function: Callable, kwargs: dict) -> Any:
    padded = _pad_constant(array, widths, 0)
    for axis in range(padded.ndim):
        padded = apply_along_axis(function, axis, padded, widths[axis], axis, kwargs)
    return padded
