"""slice and pad: cutting a window out of an array, and putting one back, at places known while tracing.

Slice and pad are linear and each other's transpose; a stride of slice is interior padding of pad. For
computed places see dynamic_slicing.

Source: https://www.openxla.org/stablehlo/spec (slice, pad)
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinyjax.core import primitives
from tinyjax.core.array import Array, ShapedArray
from tinyjax.core.bind import Primitive, abstract_eval_rules, impl_rules
from tinyjax.core.facts import MOVES
from tinyjax.core.primitives import shape_of
from tinyjax.lax.arithmetic import sub
from tinyjax.lax.creation import full_like
from tinyjax.lax.selection import select
from tinyjax.lax.shape import broadcast, insert, squeeze
from tinyjax.transform.batching import batch_rules, not_mapped
from tinyjax.transform.transposition import deflinear2, is_undefined_primal

# ---- slice ----

slice_p = Primitive("slice", axes="first operand", **MOVES, keys="part")


def _slice_impl(
    x: np.ndarray, *, start_indices: Any, limit_indices: Any, strides: Any
) -> np.ndarray:
    return x[tuple(map(builtins.slice, start_indices, limit_indices, strides or [1] * x.ndim))]


def _slice_aval(
    x: ShapedArray, *, start_indices: Any, limit_indices: Any, strides: Any
) -> ShapedArray:
    for name, indices in (("start_indices", start_indices), ("limit_indices", limit_indices)):
        if len(indices) != x.ndim:
            raise TypeError(
                f"slice {name} must have length equal to the number of dimensions of the operand, got "
                f"indices {indices} for operand shape {x.shape}."
            )
    if any(limit > size for limit, size in zip(limit_indices, x.shape)):
        raise TypeError(
            "slice limit_indices must be less than or equal to operand shape, got limit_indices "
            f"{limit_indices} for operand shape {x.shape}."
        )
    if any(start < 0 for start in start_indices):
        raise TypeError(
            "slice start_indices must be greater than or equal to zero, got start_indices of "
            f"{start_indices}. lax.slice counts no index from the end: jax.numpy indexing does"
        )
    if any(start > limit for start, limit in zip(start_indices, limit_indices)):
        raise TypeError(
            "slice limit_indices must be greater than or equal to start_indices, got start_indices "
            f"{start_indices} and limit_indices {limit_indices}."
        )
    if strides is not None and len(strides) != x.ndim:
        raise TypeError(
            "slice strides must have length equal to the number of dimensions of the operand, got "
            f"strides {strides} for operand shape {x.shape}."
        )
    strides = strides or (1,) * x.ndim
    if any(stride < 1 for stride in strides):
        raise TypeError(f"slice strides must be positive, got {strides}")
    shape = tuple(
        int(-(-(limit - start) // stride))
        for start, limit, stride in zip(start_indices, limit_indices, strides)
    )
    return x.update(shape=shape)


def _slice_transpose(
    ct: Any, x: Any, *, start_indices: Any, limit_indices: Any, strides: Any
) -> list[Any]:
    """A pad: zeros before and behind, and between the elements where there is a stride."""
    shape, ct_shape = x.aval.shape, shape_of(ct)
    if strides is None or np.all(np.equal(strides, 1)):
        config = zip(start_indices, np.subtract(shape, limit_indices), (0,) * len(start_indices))
    else:
        span = np.add(1, np.multiply(np.subtract(ct_shape, 1), strides))
        real_limits = np.add(start_indices, np.where(np.array(ct_shape) == 0, 0, span))
        config = zip(start_indices, np.subtract(shape, real_limits), np.subtract(strides, 1))
    return [pad(ct, np.zeros((), ct.dtype), tuple(config))]


def _slice_batch(
    vals: Any, dims: Any, *, start_indices: Any, limit_indices: Any, strides: Any
) -> Any:
    (x,), (dim,) = vals, dims
    starts = insert(start_indices, dim, 0)
    limits = insert(limit_indices, dim, shape_of(x)[dim])
    return slice(x, starts, limits, None if strides is None else insert(strides, dim, 1)), dim


impl_rules[slice_p] = _slice_impl
abstract_eval_rules[slice_p] = _slice_aval
deflinear2(slice_p, _slice_transpose)
batch_rules[slice_p] = _slice_batch


# ---- pad ----

pad_p = Primitive("pad", axes="first operand", **MOVES)


def _pad_impl(x: np.ndarray, padding_value: np.ndarray, *, padding_config: Any) -> np.ndarray:
    """A negative low or high cuts elements off after the dilated array is placed."""
    padded_shape = [
        max(lo, 0) + _dilated_size(n, interior) + max(hi, 0)
        for n, (lo, hi, interior) in zip(x.shape, padding_config)
    ]
    out = np.full(padded_shape, padding_value, x.dtype)
    places = tuple(
        builtins.slice(max(lo, 0), max(lo, 0) + _dilated_size(n, interior), interior + 1)
        for n, (lo, _, interior) in zip(x.shape, padding_config)
    )
    out[places] = x
    return out[
        tuple(
            builtins.slice(max(-lo, 0), n - max(-hi, 0))
            for n, (lo, hi, _) in zip(padded_shape, padding_config)
        )
    ]


def _dilated_size(size: int, interior: int) -> int:
    """The size of an axis with `interior` elements put between each two."""
    return max(size + (size - 1) * interior, 0)


def _pad_aval(x: ShapedArray, padding_value: ShapedArray, *, padding_config: Any) -> ShapedArray:
    if x.dtype != padding_value.dtype:
        raise TypeError(
            "pad operand and padding_value must be same dtype: got "
            f"{x.dtype.name} and {padding_value.dtype.name}."
        )
    if padding_value.ndim:
        raise ValueError(f"padding_value must be a scalar; got shape {padding_value.shape}")
    if len(padding_config) != x.ndim:
        raise ValueError(
            "length of padding_config must equal the number of axes of operand, got padding_config "
            f"{padding_config} for operand shape {x.shape}"
        )
    if any(interior < 0 for _, _, interior in padding_config):
        raise ValueError(
            f"interior padding in padding_config must be nonnegative, got {padding_config}"
        )
    shape = tuple(
        int(lo + _dilated_size(n, interior) + hi)
        for n, (lo, hi, interior) in zip(x.shape, padding_config)
    )
    if any(size < 0 for size in shape):
        raise ValueError(
            f"Dimension size after padding is not at least 0, got result shape {shape}, for "
            f"padding_config {padding_config} and operand shape {x.shape}"
        )
    return ShapedArray(shape, x.dtype, x.weak_type and padding_value.weak_type)


def _pad_transpose(ct: Any, x: Any, padding_value: Any, *, padding_config: Any) -> list[Any]:
    """The operand's cotangent is cut out of `ct`; the rest of the sum is the padding value's."""
    lo, hi, interior = zip(*padding_config) if padding_config else ((), (), ())

    def cut_out() -> Any:
        unpad_config = tuple(zip(np.negative(lo), np.negative(hi), np.zeros_like(interior)))
        unpadded = pad(ct, np.zeros((), ct.dtype), unpad_config)
        starts, strides = tuple(np.zeros_like(lo)), tuple(np.add(interior, 1))
        return slice(unpadded, starts, shape_of(unpadded), strides)

    total = lambda v: primitives.reduce_sum(v, range(len(shape_of(v))))  # noqa: E731
    x_ct = cut_out() if is_undefined_primal(x) else None
    if not is_undefined_primal(padding_value):
        return [x_ct, None]
    inside = x_ct if x_ct is not None else cut_out()
    return [x_ct, sub(total(ct), total(inside))]


def _pad_batch(vals: Any, dims: Any, *, padding_config: Any) -> Any:
    (x, padding_value), (dim, value_dim) = vals, dims
    if dim is not_mapped:
        x, dim = broadcast(x, (shape_of(padding_value)[value_dim],)), 0
    padding_config = insert(padding_config, dim, (0, 0, 0))
    if value_dim is not_mapped:
        return pad(x, padding_value, padding_config), dim
    # Each example has its own padding value: pad with zeros, and select by a padded mask.
    padded = pad(x, np.zeros((), x.dtype), padding_config)
    mask = pad(full_like(x, True, np.bool_), np.False_, padding_config)
    values = primitives.broadcast_in_dim(padding_value, shape_of(padded), (dim,))
    return select(mask, padded, values), dim


impl_rules[pad_p] = _pad_impl
abstract_eval_rules[pad_p] = _pad_aval
deflinear2(pad_p, _pad_transpose)
batch_rules[pad_p] = _pad_batch


# ---- public functions ----


def slice(  # noqa: A001
    operand: Any,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None = None,
) -> Array:
    """operand[start:limit:stride] for each axis, with indices that are known while tracing.

    Raises TypeError for indices out of bounds: unlike Python's slices, nothing is cut to fit."""
    return slice_p.bind(
        operand,
        start_indices=tuple(start_indices),
        limit_indices=tuple(limit_indices),
        strides=None if strides is None else tuple(strides),
    )


def slice_in_dim(
    operand: Any, start_index: int | None, limit_index: int | None, stride: int = 1, axis: int = 0
) -> Array:
    """operand[start:limit:stride] along one axis; negative indices count from its end."""
    shape = shape_of(operand)
    size = shape[axis]
    start = 0 if start_index is None else operator.index(start_index)
    limit = size if limit_index is None else operator.index(limit_index)
    starts, limits, strides = [0] * len(shape), list(shape), [1] * len(shape)
    starts[axis] = start + size if start < 0 else start
    limits[axis] = limit + size if limit < 0 else limit
    strides[axis] = operator.index(stride)
    return slice(operand, starts, limits, strides)


def index_in_dim(operand: Any, index: int, axis: int = 0, keepdims: bool = True) -> Array:
    """operand[index] along one axis, which stays with size 1 if keepdims. Raises IndexError."""
    size = shape_of(operand)[axis]
    wrapped = index + size if index < 0 else index
    if not 0 <= wrapped < size:
        raise IndexError(f"index {index} is out of bounds for axis {axis} with size {size}")
    result = slice_in_dim(operand, wrapped, wrapped + 1, 1, axis)
    return result if keepdims else squeeze(result, (axis,))


def pad(operand: Any, padding_value: Any, padding_config: Sequence[tuple[int, int, int]]) -> Array:
    """`operand` with `padding_value` around and between its elements.

    `padding_config` has (low, high, interior) for each axis; a negative low or high cuts off.
    Raises TypeError where dtypes differ, ValueError where the result would have a negative size.
    Source: https://www.openxla.org/stablehlo/spec#pad"""
    return pad_p.bind(operand, padding_value, padding_config=tuple(padding_config))
