"""Primitives that reshape or reverse an array: squeeze, rev, and those from core.

Under vmap, each axis behind the batch dim moves on by one in parameters that name axes. It also has the
helpers for axes that the joining and slicing families share. A primitive's rules stand together: impl,
abstract_eval, jvp and transpose, batch; the public functions close the file.

Source: https://www.openxla.org/stablehlo/spec (reverse, reshape, broadcast_in_dim, transpose)
"""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinyjax.core import primitives
from tinyjax.core.array import Array, ShapedArray
from tinyjax.core.avals import get_aval
from tinyjax.core.bind import Primitive, abstract_eval_rules, as_array, impl_rules
from tinyjax.core.facts import MOVES
from tinyjax.core.primitives import shape_of
from tinyjax.lax.elementwise import canonicalize_shape
from tinyjax.lax.placing import place_params
from tinyjax.transform import batching
from tinyjax.transform.batching import batch_rules, not_mapped
from tinyjax.transform.transposition import deflinear2

# ---- helpers with axes, for all families ----


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
    """A list with one more entry, for a parameter by axis when there is a batch dim."""
    return [*values[:position], value, *values[position:]]


def without(shape: Sequence[int], axes: Sequence[int]) -> tuple[int, ...]:
    """The shape without some of its axes."""
    return tuple(size for axis, size in enumerate(shape) if axis not in axes)


def batch_size(vals: Sequence[Any], dims: Sequence[int | None]) -> int:
    return next(shape_of(x)[d] for x, d in zip(vals, dims) if d is not not_mapped)


def batched_at_front(vals: Sequence[Any], dims: Sequence[int | None]) -> list[Any]:
    """All operands with the batch dim in front; operands without one are repeated along it."""
    size = batch_size(vals, dims)
    return [
        broadcast(x, (size,)) if d is not_mapped else batching.moveaxis(x, d, 0)
        for x, d in zip(vals, dims)
    ]


# ---- squeeze ----

squeeze_p = Primitive("squeeze", **MOVES, keys="same")


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

rev_p = Primitive("rev", axes="first operand", **MOVES)


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


# ---- public functions ----


def broadcast(operand: Any, sizes: Sequence[int], *, out_sharding: Any = None) -> Array:
    """Repeats `operand` along new leading axes of `sizes`; as jax.lax.broadcast."""
    if not len(sizes) and out_sharding is None:
        return as_array(operand)
    shape = shape_of(operand)
    dimensions = range(len(sizes), len(sizes) + len(shape))
    place = place_params("broadcast_in_dim", out_sharding, "broadcast")
    return primitives.broadcast_in_dim(operand, (*sizes, *shape), dimensions, **place)


def broadcast_in_dim(
    operand: Any,
    shape: Sequence[int],
    broadcast_dimensions: Sequence[int],
    *,
    out_sharding: Any = None,
) -> Array:
    """Puts axis i of `operand` at broadcast_dimensions[i] of `shape`, and repeats it elsewhere.

    `out_sharding`, a PartitionSpec, says how the result is split over devices.
    Raises TypeError where a size is neither 1 nor that of its place; as jax.lax.broadcast_in_dim."""
    place = place_params("broadcast_in_dim", out_sharding)
    sizes = canonicalize_shape(shape, "broadcast_in_dim")
    return primitives.broadcast_in_dim(operand, sizes, broadcast_dimensions, **place)


def broadcast_like(arr: Any, like_arr: Any) -> Array:
    """`arr` in the shape of `like_arr`, repeated along axes that it does not have, or has with size 1.

    Raises ValueError where it does not fit; as jax.lax.broadcast_like."""
    aval, like = get_aval(arr), get_aval(like_arr)
    if aval.ndim > like.ndim:
        raise ValueError(
            f"Cannot broadcast to shape with fewer dimensions: arr_shape={aval.shape} shape={like.shape}"
        )
    if aval.shape == like.shape:
        return as_array(arr)
    kept = like.shape[like.ndim - aval.ndim :]
    if any(a not in (1, b) for a, b in zip(aval.shape, kept)):
        raise ValueError(
            f"Incompatible types for broadcasting: input type={aval.str_short()} and requested type="
            f"{aval.update(shape=like.shape).str_short()}"
        )
    return primitives.broadcast_in_dim(arr, like.shape, range(like.ndim - aval.ndim, like.ndim))


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that arrays of these shapes broadcast to. Raises ValueError if there is none."""
    try:
        return np.broadcast_shapes(
            *(canonicalize_shape(shape, "broadcast_shapes") for shape in shapes)
        )
    except ValueError:
        raise ValueError(f"Incompatible shapes for broadcasting: shapes={list(shapes)}") from None


def split_axis(x: Any, axis: int, count: int) -> Any:
    """Splits an axis in two: `count` parts, and the elements in each."""
    shape = list(shape_of(x))
    shape[axis : axis + 1] = [count, shape[axis] // count]
    return reshape(x, shape)


def broadcast_to_rank(x: Any, rank: int) -> Array:
    """`x` with leading axes of size 1 up to `rank` axes."""
    return broadcast(x, (1,) * (rank - len(shape_of(x))))


def reshape(
    operand: Any,
    new_sizes: Sequence[int],
    dimensions: Sequence[int] | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """The elements of `operand`, in row-major order, in a new shape of the same size.

    With `dimensions`, a permutation, they are read in that order of the axes. `out_sharding`, a
    PartitionSpec, splits the result over devices.
    Raises TypeError where the sizes differ; as jax.lax.reshape."""
    new_sizes = canonicalize_shape(new_sizes, "reshape")
    if dimensions is not None:
        operand = primitives.transpose(operand, tuple(dimensions))
    place = place_params("reshape", out_sharding)
    if shape_of(operand) == new_sizes and new_sizes and isinstance(operand, Array) and not place:
        return operand
    return primitives.reshape_p.bind(operand, new_sizes=new_sizes, **place)


def transpose(operand: Any, permutation: Sequence[int]) -> Array:
    """`operand` with its axes in the order of `permutation`; as jax.lax.transpose."""
    return primitives.transpose(operand, tuple(operator.index(d) for d in permutation))


def expand_dims(array: Any, dimensions: Sequence[int]) -> Array:
    """`array` with new axes of size 1, which will be the result's axes `dimensions`.

    Raises ValueError for an axis out of range or named twice; as jax.lax.expand_dims."""
    ndim = len(shape_of(array)) + len(dimensions)
    axes = [canonicalize_axis(d, ndim) for d in dimensions]
    if len(set(axes)) != len(axes):
        raise ValueError(f"repeated axis in lax.expand_dims: {tuple(dimensions)}")
    return primitives.expand_dims(as_array(array), axes)


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
