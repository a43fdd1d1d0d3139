"""sort, with any number of operands that follow the keys, and top_k.

The derivative of a sort is a gather: the tangents move to where the elements went.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinyjax.core import dtypes, primitives
from tinyjax.core.array import Array, ShapedArray
from tinyjax.core.bind import Primitive, abstract_eval_rules, impl_rules
from tinyjax.core.primitives import shape_of
from tinyjax.lax.comparison import total_order_key
from tinyjax.lax.creation import broadcasted_iota
from tinyjax.lax.gathering import gather
from tinyjax.lax.shape import canonicalize_axis, expand_dims, reshape
from tinyjax.lax.windows import GatherDimensionNumbers
from tinyjax.transform.batching import batch_rules, moveaxis, not_mapped
from tinyjax.transform.jvp import Zero, jvp_rules, zero_tangent

# ---- sort ----


def _comparisons(eqn: Any) -> int:
    aval = eqn.outvars[0].aval
    return aval.size * math.ceil(math.log2(max(aval.shape[eqn.params["dimension"]], 1)))


FEW = 512  # elements of a row whose places NumPy sorts fast
sort_p = Primitive("sort", multiple_results=True, cost=_comparisons, makes_nan=False)


def _sort_impl(
    *operands: np.ndarray, dimension: int, is_stable: bool, num_keys: int
) -> list[np.ndarray]:
    """nan is last, 0.0 and -0.0 are equal, complex numbers go by (real, imag): as NumPy does."""
    keys = [
        x.astype(np.float32) if x.dtype.name in dtypes.EXTENSIONS else x
        for x in operands[:num_keys]
    ]
    x = operands[0]
    if len(operands) == 1 and x.dtype.kind in "biuf" and not _has_minus_zero(x):
        # Equal elements look alike.
        return [np.sort(x, dimension)]
    if num_keys == 1 and keys[0].dtype.kind in "biuf" and x.shape[dimension] <= FEW:
        order = np.argsort(keys[0], dimension, kind="stable")
    elif num_keys == 1 and keys[0].dtype.kind in "biuf" and keys[0].dtype.itemsize <= 4:
        order = _order(_comparable(keys[0]), dimension)
    else:
        order = np.lexsort(keys[::-1], axis=dimension)
    return [_taken(x, order, dimension) for x in operands]


def _has_minus_zero(x: np.ndarray) -> bool:
    if not dtypes.is_float(x.dtype):
        return False
    zeros = x == 0
    return bool(zeros.any() and np.signbit(x[zeros]).any())


def _comparable(x: np.ndarray) -> np.ndarray:
    """Integers in the order in which a sort puts elements of 32 bits or less."""
    if x.dtype.kind != "f":
        return x
    x = x.astype(np.float32) + np.float32(0)  # -0.0 + 0.0 is 0.0
    key = total_order_key(x)
    return np.where(np.isnan(x), np.iinfo(key.dtype).max, key)


def _order(key: np.ndarray, axis: int, first: int | None = None) -> np.ndarray:
    """The places of integers of 32 bits or less, smallest first, equal ones in their order; or only the
    places of the `first` smallest. Key and place are sorted as one number: NumPy sorts numbers 20 times
    as fast as places."""
    key = np.moveaxis(key, axis, -1)
    signed = key.astype(np.int64) - (2**31 if key.dtype == np.uint32 else 0)
    pairs = (signed << 32) | np.arange(key.shape[-1])
    if first is not None and 0 < first < key.shape[-1]:
        pairs = np.partition(pairs, first - 1)
    pairs = pairs[..., :first]
    pairs.sort()
    return np.moveaxis(pairs & 0xFFFFFFFF, -1, axis)


def _taken(x: np.ndarray, order: np.ndarray, axis: int) -> np.ndarray:
    """The elements at the places along an axis."""
    if x.ndim == 1:
        return x[order]
    if axis == x.ndim - 1:
        rows = np.arange(math.prod(x.shape[:-1])).reshape(*x.shape[:-1], 1)
        return np.take(x, order + rows * x.shape[-1])
    return np.take_along_axis(x, order, axis)


def _sort_aval(
    *operands: ShapedArray, dimension: int, is_stable: bool, num_keys: int
) -> list[ShapedArray]:
    if len({aval.shape for aval in operands}) > 1:
        shapes = " ".join(str(aval.shape) for aval in operands)
        raise TypeError(f"Arguments to sort must have equal shapes, got: {shapes}")
    if any(dtypes.kind(aval.dtype) == "V" for aval in operands[:num_keys]):
        raise TypeError("sort can't compare random keys: sort numbers, and let the keys follow")
    return list(operands)


def _sort_jvp(primals: Any, tangents: Any, *, dimension: int, **params: Any) -> Any:
    """Sorts the places as well, and takes each tangent from its element's place."""
    shape = shape_of(primals[0])
    places = broadcasted_iota(np.uint32, shape, dimension)
    *outs, places = sort_p.bind(*primals, places, dimension=dimension, **params)
    indices = expand_dims(places, (len(shape),))
    others = tuple(np.delete(np.arange(len(shape)), dimension))  # np.int64, as JAX prints them
    where = (indices, _along_axis(dimension, others), (1,) * len(shape))
    return outs, [t if type(t) is Zero else gather(t, *where) for t in tangents]


def _along_axis(axis: int, others: tuple[Any, ...]) -> GatherDimensionNumbers:
    """Dimension numbers to gather single elements along `axis`, with the other axes as batch axes."""
    return GatherDimensionNumbers((), (axis,), (axis,), others, others)


def _sort_batch(vals: Any, dims: Any, *, dimension: int, **params: Any) -> Any:
    like, out_dim = next((x, d) for x, d in zip(vals, dims) if d is not not_mapped)
    shape = shape_of(like)
    kept = [axis for axis in range(len(shape)) if axis != out_dim]
    operands = [
        primitives.broadcast_in_dim(x, shape, kept) if d is not_mapped else moveaxis(x, d, out_dim)
        for x, d in zip(vals, dims)
    ]
    outs = sort_p.bind(*operands, dimension=dimension + (out_dim <= dimension), **params)
    return outs, [out_dim] * len(outs)


impl_rules[sort_p] = _sort_impl
abstract_eval_rules[sort_p] = _sort_aval
jvp_rules[sort_p] = _sort_jvp
batch_rules[sort_p] = _sort_batch


# ---- top_k ----

top_k_p = Primitive("top_k", multiple_results=True, cost=0, makes_nan=False)


def _top_k_impl(x: np.ndarray, *, k: int, axis: int, is_stable: bool) -> list[np.ndarray]:
    """Greatest first, equal ones in their order; by total order, so nan is above inf."""
    key = total_order_key(x)
    descending = ~key if dtypes.kind(key.dtype) != "b" else ~key.astype(np.int8)
    if key.dtype.itemsize <= 4:
        order = _order(descending, axis, k)
    else:
        order = np.argsort(descending, axis=axis, kind="stable")
        order = np.take(order, np.arange(k), axis=axis)
    return [_taken(x, order, axis), order.astype(np.int32)]


def _top_k_aval(x: ShapedArray, *, k: int, axis: int, is_stable: bool) -> list[ShapedArray]:
    if dtypes.kind(x.dtype) == "c":
        raise ValueError("top_k is not compatible with complex inputs.")
    if k < 0:
        raise ValueError(f"k argument to top_k must be nonnegative, got {k}")
    if k > x.shape[axis]:
        raise ValueError(
            f"k argument to top_k must be no larger than size along axis; got k={k} with "
            f"shape={list(x.shape)} and axis={axis}"
        )
    out = x.update(shape=(*x.shape[:axis], k, *x.shape[axis + 1 :]))
    return [out, out.update(dtype=np.dtype(np.int32))]


def _top_k_jvp(primals: Any, tangents: Any, *, axis: int, **params: Any) -> Any:
    values, places = top_k_p.bind(*primals, axis=axis, **params)
    ndim = len(shape_of(places))
    indices = reshape(places, (*shape_of(places), 1))
    others = tuple(i for i in range(ndim) if i != axis)
    tangent_out = gather(tangents[0], indices, _along_axis(axis, others), (1,) * ndim)
    return [values, places], [tangent_out, zero_tangent(places)]


def _top_k_batch(vals: Any, dims: Any, *, axis: int, **params: Any) -> Any:
    (x,), (dim,) = vals, dims
    return top_k_p.bind(x, axis=axis + (dim <= axis), **params), (dim, dim)


impl_rules[top_k_p] = _top_k_impl
abstract_eval_rules[top_k_p] = _top_k_aval
jvp_rules[top_k_p] = _top_k_jvp
batch_rules[top_k_p] = _top_k_batch


# ---- public functions ----


def sort(
    operand: Any, dimension: int = -1, is_stable: bool = True, num_keys: int = 1
) -> Array | tuple[Array, ...]:
    """`operand` sorted along `dimension`, nan last; or a tuple of arrays sorted together.

    The first `num_keys` arrays of a tuple are compared, in turn, and all are permuted alike.
    Raises TypeError where shapes differ, ValueError for num_keys out of range; as jax.lax.sort."""
    operands = tuple(operand) if isinstance(operand, Sequence) else (operand,)
    if not operands:
        raise TypeError("Sort requires at least one operand")
    if not 1 <= num_keys <= len(operands):
        raise ValueError(f"num_keys={num_keys} must be between 1 and {len(operands)} operands")
    axis = canonicalize_axis(dimension, len(shape_of(operands[0])))
    outs = sort_p.bind(*operands, dimension=axis, is_stable=is_stable, num_keys=num_keys)
    return tuple(outs) if isinstance(operand, Sequence) else outs[0]


def sort_key_val(
    keys: Any, values: Any, dimension: int = -1, is_stable: bool = True
) -> tuple[Array, Array]:
    """`keys` sorted along `dimension`, and `values` moved alike; as jax.lax.sort_key_val."""
    axis = canonicalize_axis(dimension, len(shape_of(keys)))
    out = sort_p.bind(keys, values, dimension=axis, is_stable=is_stable, num_keys=1)
    return out[0], out[1]


def top_k(operand: Any, k: int, *, axis: int = -1, is_stable: bool = True) -> list[Array]:
    """A pair: the k greatest elements along `axis`, greatest first, and their indices (int32).
    With `is_stable`, equal elements stay in their order.

    Raises ValueError if k is negative or larger than that axis, TypeError if it is not an integer; as
    jax.lax.top_k."""
    axis = canonicalize_axis(axis, len(shape_of(operand)))
    return top_k_p.bind(operand, k=operator.index(k), axis=axis, is_stable=is_stable)
