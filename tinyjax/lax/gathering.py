"""gather: reading windows of an array at computed places.

vmap of an indexing is one gather, with the batch dims of operand and indices side by side as batching dims.
The gradient of a gather is a scatter-add (see scattering).

Source: https://www.openxla.org/stablehlo/spec#gather
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tinyjax.core import dtypes
from tinyjax.core.array import Array, ShapedArray
from tinyjax.core.avals import get_aval
from tinyjax.core.bind import Primitive, abstract_eval_rules, impl_rules
from tinyjax.core.facts import MOVES
from tinyjax.core.primitives import add, shape_of
from tinyjax.lax.arithmetic import rem
from tinyjax.lax.comparison import lt
from tinyjax.lax.conversion import convert_element_type
from tinyjax.lax.creation import full, full_of_type
from tinyjax.lax.elementwise import canonicalize_shape, constant
from tinyjax.lax.joining import concatenate
from tinyjax.lax.scattering import scatter_add
from tinyjax.lax.selection import select
from tinyjax.lax.shape import broadcast_shapes, canonicalize_axis, reshape, squeeze
from tinyjax.lax.windows import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
    Windows,
    batched_dims,
    check_indexing,
    index_dtype,
    with_batching_axis,
    with_window_axis,
)
from tinyjax.transform import batching
from tinyjax.transform.batching import batch_rules, not_mapped
from tinyjax.transform.jvp import defjvp
from tinyjax.transform.transposition import require_known, transpose_rules

# ---- gather ----

gather_p = Primitive("gather", **MOVES, linear=(0,), keys="part")


def _gather_impl(
    x: np.ndarray, indices: np.ndarray, *, dimension_numbers: GatherDimensionNumbers,
    slice_sizes: tuple[int, ...], unique_indices: bool, indices_are_sorted: bool,
    mode: GatherScatterMode, fill_value: Any,
) -> np.ndarray:  # fmt: skip
    if mode is GatherScatterMode.FILL_OR_DROP:
        indices = indices.astype(index_dtype(x.shape))
    windows = Windows(x.shape, indices, dimension_numbers, slice_sizes)
    out = windows.read(x)
    if mode is GatherScatterMode.FILL_OR_DROP and not windows.inside.all():
        inside = np.expand_dims(windows.inside, dimension_numbers.offset_dims)
        out = np.where(inside, out, np.array(fill_value, out.dtype))
    return out


def _gather_shape(
    indices_shape: Sequence[int], numbers: GatherDimensionNumbers, slice_sizes: Sequence[int]
) -> tuple[int, ...]:
    hidden = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
    window = iter([size for axis, size in enumerate(slice_sizes) if axis not in hidden])
    batch = iter(indices_shape[:-1])
    ndim = len(indices_shape) - 1 + len(numbers.offset_dims)
    return tuple(next(window if d in numbers.offset_dims else batch) for d in range(ndim))


def _gather_aval(
    x: ShapedArray,
    indices: ShapedArray,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: tuple[int, ...],
    **params: Any,
) -> ShapedArray:
    numbers = dimension_numbers
    check_indexing("gather", x.shape, indices, GatherDimensionNumbers._fields, numbers)
    if len(slice_sizes) != x.ndim:
        raise TypeError(
            "Gather op must have one slice size for every input dimension; got: "
            f"slice_sizes={slice_sizes} for operand shape {x.shape}"
        )
    for axis, (size, n) in enumerate(zip(slice_sizes, x.shape)):
        if not 0 <= size <= n and 0 not in indices.shape:
            raise TypeError(
                f"Slice size at index {axis} in gather op is out of range, must be within "
                f"[0, {n} + 1), got {size}."
            )
    for axis in (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims):
        if slice_sizes[axis] != 1 and (axis in numbers.collapsed_slice_dims or slice_sizes[axis]):
            raise TypeError(
                "Gather op can only collapse slice dims and batch over dims with bound 1, but bound is "
                f"{slice_sizes[axis]} for dimension {axis}."
            )
    return x.update(shape=_gather_shape(indices.shape, numbers, slice_sizes))


def _gather_jvp(
    g: Any, x: Any, indices: Any, *, dimension_numbers: Any, slice_sizes: Any, **params: Any
) -> Any:
    return gather(g, indices, dimension_numbers, slice_sizes, **{**params, "fill_value": 0})


def _gather_transpose(ct: Any, x: Any, indices: Any, **params: Any) -> list[Any]:
    require_known(gather_p, indices)
    numbers = ScatterDimensionNumbers(*params["dimension_numbers"])
    how = {name: params[name] for name in ("indices_are_sorted", "unique_indices", "mode")}
    return [scatter_add(full_of_type(x.aval, 0, ct.dtype), indices, ct, numbers, **how), None]


def batch_gather(
    vals: Any,
    dims: Any,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Any,
    **params: Any,
) -> Any:
    """A batched operand alone: windows with one more axis. Batched indices: more windows. Both: the
    batch dims go together as batching dims."""
    (x, indices), (x_dim, indices_dim) = vals, dims
    if x_dim is not not_mapped:
        x = batching.moveaxis(x, x_dim, 0)
    if indices_dim is not not_mapped:
        indices = batching.moveaxis(indices, indices_dim, 0)
    if indices_dim is not_mapped:
        numbers = GatherDimensionNumbers(*with_window_axis(dimension_numbers))
        slice_sizes = (shape_of(x)[0], *slice_sizes)
    elif x_dim is not_mapped:
        numbers = dimension_numbers._replace(
            offset_dims=tuple(1 + d for d in dimension_numbers.offset_dims),
            start_indices_batching_dims=batched_dims(dimension_numbers.start_indices_batching_dims),
        )
        # Windows of different examples may be the same, and each example's indices restart.
        params |= {"unique_indices": False, "indices_are_sorted": False}
    else:
        numbers = GatherDimensionNumbers(*with_batching_axis(dimension_numbers))
        slice_sizes = (min(shape_of(x)[0], 1), *slice_sizes)
    return gather(x, indices, numbers, slice_sizes, **params), 0


impl_rules[gather_p] = _gather_impl
abstract_eval_rules[gather_p] = _gather_aval
defjvp(gather_p, _gather_jvp, None)
transpose_rules[gather_p] = _gather_transpose
batch_rules[gather_p] = batch_gather


# ---- the public function ----


def _default_fill_value(dtype: np.dtype) -> Any:
    """The default result of a read out of bounds: nan, the least signed or greatest unsigned integer, or
    True."""
    kind = dtypes.kind(dtype)
    if kind in "fc":
        return np.nan
    if kind == "i":
        return int(dtypes.iinfo(dtype).min)
    if kind == "u":
        return int(dtypes.iinfo(dtype).max)
    return True if kind == "b" else np.iinfo(np.uint32).max


def gather(
    operand: Any, start_indices: Any, dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Sequence[int], *, unique_indices: bool = False, indices_are_sorted: bool = False,
    mode: str | GatherScatterMode | None = None, fill_value: Any = None,
) -> Array:  # fmt: skip
    """Windows of `slice_sizes` of `operand`, one at each index vector in the last axis of the indices.

    `mode` defines the result for a window that is not all inside (None is 'promise_in_bounds');
    `fill_value` is that of mode 'fill'. Most programs use jax.numpy indexing, which becomes a gather.
    Raises TypeError where dimension_numbers do not fit, ValueError for indices that are no integers."""
    parsed_mode = GatherScatterMode.from_any("promise_in_bounds" if mode is None else mode)
    if parsed_mode is not GatherScatterMode.FILL_OR_DROP:
        fill_value = None
    elif fill_value is None:
        fill_value = _default_fill_value(get_aval(operand).dtype)
    return gather_p.bind(
        operand,
        start_indices,
        dimension_numbers=dimension_numbers,
        slice_sizes=canonicalize_shape(slice_sizes, "gather"),
        unique_indices=bool(unique_indices),
        indices_are_sorted=bool(indices_are_sorted),
        mode=parsed_mode,
        fill_value=fill_value,
    )


# ---- along an axis ----


def index_take(src: Any, idxs: Sequence[Any], axes: Sequence[int]) -> Array:
    """The slices of `src` at one index of each of `axes`. `idxs` has a vector of n integers for each
    axis, taken modulo its size. The result's first axis has length n.

    Raises TypeError for another number of vectors, or for arrays that are no vectors."""
    ranks = [len(shape_of(idx)) for idx in idxs]
    if not isinstance(axes, Sequence) or ranks != [1] * len(axes):
        raise TypeError(
            f"index_take needs a vector of indices for each of a sequence of axes, got arrays of {ranks} "
            f"axes for {axes=}"
        )
    axes = tuple(canonicalize_axis(axis, src.ndim) for axis in axes)
    sizes = [src.shape[axis] for axis in axes]
    columns = [_modulo(idx, size) for idx, size in zip(idxs, sizes)]
    offset_dims = tuple(range(1, src.ndim - len(axes) + 1))
    numbers = GatherDimensionNumbers(offset_dims, tuple(sorted(axes)), start_index_map=axes)
    slice_sizes = [1 if axis in axes else size for axis, size in enumerate(src.shape)]
    return gather(src, concatenate(columns, 1), numbers, slice_sizes)


def _modulo(index: Any, size: int) -> Any:
    """A vector of indices as a column; negative ones count from the end."""
    index = reshape(index, (*shape_of(index), 1))
    left = rem(index, constant(index, size))
    return select(lt(left, constant(left, 0)), add(left, constant(left, size)), left)


def gather_along_axis(
    a: Any,
    indices: Any,
    axis: int,
    mode: str = "fill",
    fill_value: Any = None,
    wrap_negative_indices: bool = True,
) -> Array:
    """For each vector of `a` along `axis`: the elements at the indices in the matching vector of
    `indices`.

    Both have the same rank. Indices out of range give what `gather` gives in this mode."""
    axis = canonicalize_axis(axis, a.ndim)
    one_of_axis = tuple(1 if i == axis else n for i, n in enumerate(a.shape))
    out_shape = broadcast_shapes(indices.shape, one_of_axis)
    size = a.shape[axis]
    if size == 0:
        return full(out_shape, 0, a.dtype)
    indices = convert_element_type(indices, index_dtype(a.shape))
    if wrap_negative_indices:
        negative = lt(indices, constant(indices, 0))
        indices = select(negative, add(indices, constant(indices, size)), indices)
    return _gather_along(a, indices, axis, out_shape, mode, fill_value)


def _gather_along(
    a: Any, indices: Any, axis: int, out_shape: tuple[int, ...], mode: str, fill_value: Any
) -> Any:
    """Axes that are longer than 1 on both sides are batch dimensions of the gather."""
    kept = [i for i, n in enumerate(indices.shape) if i == axis or n != 1]
    starts = reshape(indices, (*(out_shape[i] for i in kept), 1))
    sizes, offsets, batching, start_batching, squeezed = [], [], [], [], []
    a_axis = start_axis = 0  # the axis of `a` once it is squeezed, and of `starts`
    map_axis = 0
    for i in range(a.ndim):
        if i == axis:
            map_axis = a_axis
            sizes.append(1)
        elif indices.shape[i] == 1:  # the whole axis, for the one vector of indices
            offsets.append(i)
            sizes.append(a.shape[i])
            a_axis += 1
            continue
        elif a.shape[i] == 1:  # the one vector, for all indices
            squeezed.append(i)
            start_axis += 1
            continue
        else:
            sizes.append(min(1, a.shape[i]))
            batching.append(a_axis)
            start_batching.append(start_axis)
        a_axis += 1
        start_axis += 1
    along, batch_dims = (map_axis,), (tuple(batching), tuple(start_batching))
    numbers = GatherDimensionNumbers(tuple(offsets), along, along, *batch_dims)
    a = squeeze(a, tuple(squeezed)) if squeezed else a
    return gather(a, starts, numbers, tuple(sizes), mode=mode, fill_value=fill_value)
