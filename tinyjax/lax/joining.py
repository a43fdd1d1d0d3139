"""Primitives that join arrays or take them apart: concatenate, split, stack, unstack, tile.

All are linear. The gradient of a concatenate is a split, that of a stack an unstack, and the other way round.
The gradient of a tile is a sum over its copies.

Source: https://www.openxla.org/stablehlo/spec#concatenate
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tinyjax.core import primitives
from tinyjax.core.array import Array, ShapedArray
from tinyjax.core.bind import Primitive, abstract_eval_rules, as_array, impl_rules
from tinyjax.core.facts import MOVES
from tinyjax.core.primitives import shape_of
from tinyjax.lax.shape import (
    all_weak,
    batched_at_front,
    canonicalize_axis,
    check_same_dtypes,
    insert,
    reshape,
    without,
)
from tinyjax.transform.batching import batch_rules, not_mapped
from tinyjax.transform.jvp import instantiate_zeros
from tinyjax.transform.transposition import deflinear2, is_undefined_primal

# ---- concatenate and split ----

concatenate_p = Primitive("concatenate", **MOVES)
split_p = Primitive("split", multiple_results=True, axes="first operand", **MOVES)


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

stack_p = Primitive("stack", **MOVES)
unstack_p = Primitive("unstack", multiple_results=True, **MOVES)


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


def _unstack_batch(vals: Any, dims: Any, *, axis: int) -> Any:
    (x,), (dim,) = vals, dims
    if axis < dim:
        outs, out_dim = unstack_p.bind(x, axis=axis), dim - 1
    else:
        outs, out_dim = unstack_p.bind(x, axis=axis + 1), dim
    return outs, [out_dim] * len(outs)


impl_rules[unstack_p] = lambda x, *, axis: list(np.moveaxis(x, axis, 0))
abstract_eval_rules[unstack_p] = _unstack_aval
deflinear2(
    unstack_p, lambda cts, x, *, axis: [stack_p.bind(*map(instantiate_zeros, cts), axis=axis)]
)
batch_rules[unstack_p] = _unstack_batch


# ---- tile ----

tile_p = Primitive("tile", axes="first operand", **MOVES)


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
    return [primitives.reduce_sum(reshape(ct, split_shape), range(0, 2 * x.aval.ndim, 2))]


def _tile_batch(vals: Any, dims: Any, *, reps: tuple[int, ...]) -> Any:
    (x,), (dim,) = vals, dims
    return tile(x, insert(reps, dim, 1)), dim


impl_rules[tile_p] = lambda x, *, reps: np.tile(x, reps)
abstract_eval_rules[tile_p] = _tile_aval
deflinear2(tile_p, _tile_transpose)
batch_rules[tile_p] = _tile_batch


# ---- public functions ----


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
    arrays = [as_array(x) for x in operands]
    return stack_p.bind(*arrays, axis=canonicalize_axis(axis, arrays[0].ndim + 1))


def unstack(x: Any, axis: int = 0) -> tuple[Array, ...]:
    """The arrays from which `stack` makes `x`. Raises ValueError for a scalar."""
    x = as_array(x)
    return tuple(unstack_p.bind(x, axis=canonicalize_axis(axis, x.ndim)))


def tile(operand: Any, reps: Sequence[int]) -> Array:
    """`operand` repeated reps[i] times along axis i. Raises TypeError if reps has another length."""
    return tile_p.bind(operand, reps=tuple(reps))
