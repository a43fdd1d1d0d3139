"""Primitives that move elements but compute nothing: squeeze, rev, tile, pad, concatenate, stack, slice...

After this file you can say why all of these are linear (each has a transpose rule: slice and pad are
each other's, as are split and concatenate), and what a batch dim does to an axis parameter. A
primitive's rules stand together: impl, abstract_eval, jvp and transpose, batch; the public functions
close the file. Builds on core and the interpreters' rule tables. broadcast_in_dim, reshape and
transpose, which every transformation needs, are in core.

Source: https://www.openxla.org/stablehlo/spec (pad, slice, concatenate, reverse)
"""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinyjax import core
from tinyjax.array import Array, ArrayImpl, ShapedArray
from tinyjax.core import Primitive, abstract_eval_rules, impl_rules, shape_of
from tinyjax.interpreters import batching
from tinyjax.interpreters.batching import batch_rules, not_mapped
from tinyjax.interpreters.jvp import instantiate_zeros
from tinyjax.interpreters.vjp import deflinear2, is_undefined_primal
from tinyjax.lax.arithmetic import sub
from tinyjax.lax.conversion import full_like
from tinyjax.lax.elementwise import canonicalize_shape
from tinyjax.lax.selection import select

# ---- checking parameters ----


def canonicalize_axis(axis: Any, ndim: int) -> int:
    """A non-negative axis. Raises ValueError if an array of rank `ndim` has no such axis."""
    axis = operator.index(axis)
    if not -ndim <= axis < ndim:
        raise ValueError(f"axis {axis} is out of bounds for array of dimension {ndim}")
    return axis % ndim


def check_same_dtypes(name: str, *avals: ShapedArray) -> None:
    """Raises TypeError where dtypes differ."""
    if len({aval.dtype for aval in avals}) > 1:
        listed = ", ".join(aval.dtype.name for aval in avals)
        raise TypeError(
            f"lax.{name} requires arguments to have the same dtypes, got {listed}. Convert with "
            "lax.convert_element_type, or use jax.numpy, which promotes"
        )


def all_weak(avals: Sequence[ShapedArray]) -> bool:
    return all(aval.weak_type for aval in avals)


def insert(values: Sequence[Any], position: int, value: Any) -> list[Any]:
    """A list with one more entry: what a parameter by axis becomes when there is a batch dim."""
    return [*values[:position], value, *values[position:]]


def without(shape: Sequence[int], axes: Sequence[int]) -> tuple[int, ...]:
    """The shape without some of its axes."""
    return tuple(size for axis, size in enumerate(shape) if axis not in axes)


def batch_size(vals: Sequence[Any], dims: Sequence[int | None]) -> int:
    return next(shape_of(x)[d] for x, d in zip(vals, dims) if d is not not_mapped)


def batched_at_front(vals: Sequence[Any], dims: Sequence[int | None]) -> list[Any]:
    """All operands with the batch dim in front, repeated along it where they had none."""
    size = batch_size(vals, dims)
    return [
        broadcast(x, (size,)) if d is not_mapped else batching.moveaxis(x, d, 0)
        for x, d in zip(vals, dims)
    ]


# ---- squeeze ----

squeeze_p = Primitive("squeeze")


def _squeeze_aval(x: ShapedArray, *, dimensions: tuple[int, ...]) -> ShapedArray:
    if len(set(dimensions)) != len(dimensions):
        raise ValueError(f"dimensions are not unique: {dimensions}")
    if not all(0 <= d < x.ndim for d in dimensions):
        raise ValueError(f"dimensions outside range [0, ndim): {dimensions} for shape {x.shape}")
    if any(x.shape[d] != 1 for d in dimensions):
        raise ValueError(
            "cannot select an axis to squeeze out which has size not equal to one, got "
            f"shape={x.shape} and dimensions={dimensions}"
        )
    return x.update(shape=without(x.shape, dimensions))


def _squeeze_batch(vals: Any, dims: Any, *, dimensions: tuple[int, ...]) -> Any:
    (x,), (dim,) = vals, dims
    return squeeze(batching.moveaxis(x, dim, 0), tuple(np.add(1, dimensions))), 0


impl_rules[squeeze_p] = lambda x, *, dimensions: np.squeeze(x, dimensions)
abstract_eval_rules[squeeze_p] = _squeeze_aval
deflinear2(squeeze_p, lambda ct, x, *, dimensions: [expand_dims(ct, dimensions)])
batch_rules[squeeze_p] = _squeeze_batch


# ---- rev ----

rev_p = Primitive("rev")


def _rev_aval(x: ShapedArray, *, dimensions: tuple[int, ...]) -> ShapedArray:
    if len(set(dimensions)) != len(dimensions):
        raise TypeError(f"rev dimensions must be unique, got {dimensions}.")
    if not all(0 <= d < x.ndim for d in dimensions):
        raise TypeError(
            "rev dimensions must all be less than operand ndim, got dimensions "
            f"{dimensions} for operand ndim {x.ndim}."
        )
    return x


def _rev_batch(vals: Any, dims: Any, *, dimensions: tuple[int, ...]) -> Any:
    (x,), (dim,) = vals, dims
    return rev(x, [d + 1 if d >= dim else d for d in dimensions]), dim


impl_rules[rev_p] = lambda x, *, dimensions: np.flip(x, dimensions)
abstract_eval_rules[rev_p] = _rev_aval
deflinear2(rev_p, lambda ct, x, *, dimensions: [rev(ct, dimensions)])
batch_rules[rev_p] = _rev_batch


# ---- tile ----

tile_p = Primitive("tile")


def _tile_aval(x: ShapedArray, *, reps: tuple[int, ...]) -> ShapedArray:
    if x.ndim != len(reps):
        raise TypeError(
            f"reps length must be equal to the ndim of x, got len(reps)={len(reps)} and "
            f"x.ndim={x.ndim}."
        )
    return x.update(shape=tuple(size * n for size, n in zip(x.shape, reps)))


def _tile_transpose(ct: Any, x: Any, *, reps: tuple[int, ...]) -> Any:
    """The sum over the copies: each axis is split in two, and the outer part summed."""
    split_shape = [k for pair in zip(reps, x.aval.shape) for k in pair]
    return [core.reduce_sum(reshape(ct, split_shape), range(0, 2 * x.aval.ndim, 2))]


def _tile_batch(vals: Any, dims: Any, *, reps: tuple[int, ...]) -> Any:
    (x,), (dim,) = vals, dims
    return tile(x, insert(reps, dim, 1)), dim


impl_rules[tile_p] = lambda x, *, reps: np.tile(x, reps)
abstract_eval_rules[tile_p] = _tile_aval
deflinear2(tile_p, _tile_transpose)
batch_rules[tile_p] = _tile_batch


# ---- pad ----

pad_p = Primitive("pad")


def _pad_impl(x: np.ndarray, padding_value: np.ndarray, *, padding_config: Any) -> np.ndarray:
    """A negative low or high cuts elements off: first place them, then cut."""
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
    """The operand's part of `ct` is cut out; what is left of the sum is the padding value's."""
    lo, hi, interior = zip(*padding_config) if padding_config else ((), (), ())

    def cut_out() -> Any:
        unpad_config = tuple(zip(np.negative(lo), np.negative(hi), np.zeros_like(interior)))
        unpadded = pad(ct, np.zeros((), ct.dtype), unpad_config)
        starts, strides = tuple(np.zeros_like(lo)), tuple(np.add(interior, 1))
        return slice(unpadded, starts, shape_of(unpadded), strides)

    total = lambda v: core.reduce_sum(v, range(len(shape_of(v))))  # noqa: E731
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
    # Each example has a padding value of its own: pad with zeros, and select by a padded mask.
    padded = pad(x, np.zeros((), x.dtype), padding_config)
    mask = pad(full_like(x, True, np.bool_), np.False_, padding_config)
    values = core.broadcast_in_dim(padding_value, shape_of(padded), (dim,))
    return select(mask, padded, values), dim


impl_rules[pad_p] = _pad_impl
abstract_eval_rules[pad_p] = _pad_aval
deflinear2(pad_p, _pad_transpose)
batch_rules[pad_p] = _pad_batch


# ---- concatenate and split ----

concatenate_p = Primitive("concatenate")
split_p = Primitive("split", multiple_results=True)


def _concatenate_aval(*operands: ShapedArray, dimension: int) -> ShapedArray:
    first = operands[0]
    listed = ", ".join(str(aval.shape) for aval in operands)
    if len({aval.ndim for aval in operands}) != 1:
        raise TypeError(
            f"Cannot concatenate arrays with different numbers of dimensions: got {listed}."
        )
    if not 0 <= dimension < first.ndim:
        raise TypeError(
            f"concatenate dimension out of bounds: dimension {dimension} for shapes {listed}."
        )
    if len({without(aval.shape, [dimension]) for aval in operands}) != 1:
        raise TypeError(
            "Cannot concatenate arrays with shapes that differ in dimensions other than the one being "
            f"concatenated: concatenating along dimension {dimension} for shapes {listed}."
        )
    check_same_dtypes("concatenate", *operands)
    shape = list(first.shape)
    shape[dimension] = sum(aval.shape[dimension] for aval in operands)
    return ShapedArray(tuple(shape), first.dtype, all_weak(operands))


def _concatenate_transpose(ct: Any, *operands: Any, dimension: int) -> Any:
    shapes = [x.aval.shape if is_undefined_primal(x) else shape_of(x) for x in operands]
    return split(ct, [shape[dimension] for shape in shapes], dimension)


impl_rules[concatenate_p] = lambda *operands, dimension: np.concatenate(operands, dimension)
abstract_eval_rules[concatenate_p] = _concatenate_aval
deflinear2(concatenate_p, _concatenate_transpose)
batch_rules[concatenate_p] = lambda vals, dims, *, dimension: (
    concatenate(batched_at_front(vals, dims), dimension + 1),
    0,
)


def _split_aval(x: ShapedArray, *, sizes: tuple[int, ...], axis: int) -> list[ShapedArray]:
    if any(size < 0 for size in sizes):
        raise ValueError(f"Sizes passed to split must be nonnegative, got {list(sizes)}")
    if sum(sizes) != x.shape[axis]:
        raise ValueError(
            f"Sum of sizes {sum(sizes)} must be equal to dimension {axis} of the operand shape "
            f"{list(x.shape)}"
        )
    return [x.update(shape=(*x.shape[:axis], int(size), *x.shape[axis + 1 :])) for size in sizes]


def _split_transpose(cts: Any, x: Any, *, sizes: tuple[int, ...], axis: int) -> Any:
    return [concatenate([instantiate_zeros(ct) for ct in cts], axis)]


def _split_batch(vals: Any, dims: Any, *, sizes: tuple[int, ...], axis: int) -> Any:
    (x,), (dim,) = vals, dims
    return split(x, sizes, axis + 1 if axis >= dim else axis), [dim] * len(sizes)


impl_rules[split_p] = lambda x, *, sizes, axis: np.split(x, np.cumsum(sizes)[:-1], axis)
abstract_eval_rules[split_p] = _split_aval
deflinear2(split_p, _split_transpose)
batch_rules[split_p] = _split_batch


# ---- stack and unstack ----

stack_p = Primitive("stack")
unstack_p = Primitive("unstack", multiple_results=True)


def _stack_aval(*operands: ShapedArray, axis: int) -> ShapedArray:
    listed = ", ".join(str(aval.shape) for aval in operands)
    if len({aval.ndim for aval in operands}) != 1:
        raise ValueError(f"Cannot stack arrays with different numbers of dimensions: got {listed}.")
    if len({aval.shape for aval in operands}) != 1:
        raise ValueError(f"All input arrays must have the same shape. Got {listed}.")
    check_same_dtypes("stack", *operands)
    shape = tuple(insert(operands[0].shape, axis, len(operands)))
    return ShapedArray(shape, operands[0].dtype, all_weak(operands))


def _stack_batch(vals: Any, dims: Any, *, axis: int) -> Any:
    dim = dims[0]
    if dim is not not_mapped and all(d == dim for d in dims):
        if axis <= dim:
            return stack_p.bind(*vals, axis=axis), dim + 1
        return stack_p.bind(*vals, axis=axis + 1), dim
    return stack_p.bind(*batched_at_front(vals, dims), axis=axis + 1), 0


impl_rules[stack_p] = lambda *operands, axis: np.stack(operands, axis)
abstract_eval_rules[stack_p] = _stack_aval
deflinear2(stack_p, lambda ct, *operands, axis: unstack_p.bind(ct, axis=axis))
batch_rules[stack_p] = _stack_batch


def _unstack_aval(x: ShapedArray, *, axis: int) -> list[ShapedArray]:
    if not x.ndim:
        raise ValueError(f"unstack requires arrays with rank > 0, got a scalar of shape {x.shape}")
    return [x.update(shape=without(x.shape, [axis]))] * x.shape[axis]


def _unstack_transpose(cts: Any, x: Any, *, axis: int) -> Any:
    return [stack_p.bind(*[instantiate_zeros(ct) for ct in cts], axis=axis)]


def _unstack_batch(vals: Any, dims: Any, *, axis: int) -> Any:
    (x,), (dim,) = vals, dims
    if axis < dim:
        outs, out_dim = unstack_p.bind(x, axis=axis), dim - 1
    else:
        outs, out_dim = unstack_p.bind(x, axis=axis + 1), dim
    return outs, [out_dim] * len(outs)


impl_rules[unstack_p] = lambda x, *, axis: list(np.moveaxis(x, axis, 0))
abstract_eval_rules[unstack_p] = _unstack_aval
deflinear2(unstack_p, _unstack_transpose)
batch_rules[unstack_p] = _unstack_batch


# ---- slice ----

slice_p = Primitive("slice")


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


# ---- public functions: shapes ----


def _as_array(x: Any) -> Any:
    """`x` itself if it is an Array, else the Array of its value."""
    if isinstance(x, Array):
        return x
    aval = core.get_aval(x)
    return ArrayImpl(core.to_numpy(x, aval), aval)


def broadcast(operand: Any, sizes: Sequence[int]) -> Array:
    """Repeats `operand` along new leading axes of `sizes`; as jax.lax.broadcast."""
    if not len(sizes):
        return _as_array(operand)
    shape = shape_of(operand)
    dimensions = range(len(sizes), len(sizes) + len(shape))
    return core.broadcast_in_dim(operand, (*sizes, *shape), dimensions)


def broadcast_in_dim(
    operand: Any, shape: Sequence[int], broadcast_dimensions: Sequence[int]
) -> Array:
    """Puts axis i of `operand` at broadcast_dimensions[i] of `shape`, and repeats it elsewhere.

    Raises TypeError where a size is neither 1 nor that of its place; as jax.lax.broadcast_in_dim."""
    return core.broadcast_in_dim(
        operand, canonicalize_shape(shape, "broadcast_in_dim"), broadcast_dimensions
    )


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that arrays of these shapes broadcast to. Raises ValueError if there is none."""
    try:
        return np.broadcast_shapes(
            *(canonicalize_shape(shape, "broadcast_shapes") for shape in shapes)
        )
    except ValueError:
        raise ValueError(f"Incompatible shapes for broadcasting: shapes={list(shapes)}") from None


def broadcast_to_rank(x: Any, rank: int) -> Array:
    """`x` with leading axes of size 1 up to `rank` axes."""
    return broadcast(x, (1,) * (rank - len(shape_of(x))))


def reshape(
    operand: Any, new_sizes: Sequence[int], dimensions: Sequence[int] | None = None
) -> Array:
    """The elements of `operand`, in row-major order, in a new shape of the same size.

    With `dimensions`, a permutation, they are read in that order of the axes.
    Raises TypeError where the sizes differ; as jax.lax.reshape."""
    new_sizes = canonicalize_shape(new_sizes, "reshape")
    if dimensions is not None:
        operand = core.transpose(operand, tuple(dimensions))
    if shape_of(operand) == new_sizes and new_sizes and isinstance(operand, Array):
        return operand
    return core.reshape_p.bind(operand, new_sizes=new_sizes, dimensions=None, sharding=None)


def transpose(operand: Any, permutation: Sequence[int]) -> Array:
    """`operand` with its axes in the order of `permutation`; as jax.lax.transpose."""
    return core.transpose(operand, tuple(operator.index(d) for d in permutation))


def expand_dims(array: Any, dimensions: Sequence[int]) -> Array:
    """`array` with new axes of size 1, which will be the result's axes `dimensions`.

    Raises ValueError for an axis out of range or named twice; as jax.lax.expand_dims."""
    ndim = len(shape_of(array)) + len(dimensions)
    axes = [canonicalize_axis(d, ndim) for d in dimensions]
    if len(set(axes)) != len(axes):
        raise ValueError(f"repeated axis in lax.expand_dims: {tuple(dimensions)}")
    return core.expand_dims(_as_array(array), axes)


def squeeze(array: Any, dimensions: Sequence[int]) -> Array:
    """`array` without its axes `dimensions`, each of size 1. Raises ValueError for another size."""
    ndim = len(shape_of(array))
    axes = tuple(sorted(canonicalize_axis(d, ndim) for d in dimensions))
    if not axes and isinstance(array, Array):
        return array
    return squeeze_p.bind(array, dimensions=axes)


def collapse(operand: Array, start_dimension: int, stop_dimension: int | None = None) -> Array:
    """Makes one axis of the axes from `start_dimension` up to, not with, `stop_dimension`.

    Raises ValueError for an empty range; as jax.lax.collapse."""
    shape = operand.shape
    lo, hi, _ = builtins.slice(start_dimension, stop_dimension).indices(len(shape))
    if hi < lo:
        raise ValueError(
            f"Invalid dimension range passed to collapse: {shape}[{start_dimension}:{stop_dimension}]"
        )
    return reshape(operand, (*shape[:lo], math.prod(shape[lo:hi]), *shape[hi:]))


def rev(operand: Any, dimensions: Sequence[int]) -> Array:
    """`operand` with the order of its elements along `dimensions` reversed; as jax.lax.rev."""
    return rev_p.bind(operand, dimensions=tuple(dimensions))


def tile(operand: Any, reps: Sequence[int]) -> Array:
    """`operand` repeated reps[i] times along axis i. Raises TypeError if reps has another length."""
    return tile_p.bind(operand, reps=tuple(reps))


def pad(operand: Any, padding_value: Any, padding_config: Sequence[tuple[int, int, int]]) -> Array:
    """`operand` with `padding_value` around and between its elements.

    `padding_config` has (low, high, interior) for each axis; a negative low or high cuts off.
    Raises TypeError where dtypes differ, ValueError where the result would have a negative size.
    Source: https://www.openxla.org/stablehlo/spec#pad"""
    return pad_p.bind(operand, padding_value, padding_config=tuple(padding_config))


def concatenate(operands: Sequence[Any], dimension: int) -> Array:
    """The arrays one behind the other along axis `dimension`; their other axes must be equal.

    Raises ValueError for no operands, TypeError where shapes or dtypes do not fit."""
    if len(operands) == 0:
        raise ValueError("concatenate requires a non-empty sequences of arrays")
    if len(operands) == 1 and isinstance(operands[0], Array):
        return operands[0]
    return concatenate_p.bind(*operands, dimension=dimension)


def split(operand: Any, sizes: Sequence[int], axis: int = 0) -> list[Array]:
    """Pieces of `sizes` along `axis`. Raises ValueError if the sizes do not add up to that axis."""
    axis = canonicalize_axis(axis, len(shape_of(operand)))
    return split_p.bind(operand, sizes=tuple(sizes), axis=axis)


def stack(operands: Sequence[Any], axis: int = 0) -> Array:
    """Arrays of one shape along a new axis. Raises ValueError where shapes differ."""
    if not len(operands):
        raise ValueError("stack expects at least one operand, got 0.")
    arrays = [_as_array(x) for x in operands]
    return stack_p.bind(*arrays, axis=canonicalize_axis(axis, arrays[0].ndim + 1))


def unstack(x: Any, axis: int = 0) -> tuple[Array, ...]:
    """The arrays that `stack` would make `x` of. Raises ValueError for a scalar."""
    x = _as_array(x)
    return tuple(unstack_p.bind(x, axis=canonicalize_axis(axis, x.ndim)))


# ---- public functions: static slices ----


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
