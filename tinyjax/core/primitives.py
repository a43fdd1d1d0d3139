"""The first primitives: ten of them, enough to tell the story of every transformation.

To be computed, a primitive needs an impl rule; to be traced, an abstract_eval rule, which also checks the
operands. Files after this one give the same ten their jvp, batching and transpose rules; all other primitives
are in lax/.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinyjax.core import dtypes
from tinyjax.core.array import Array, ShapedArray
from tinyjax.core.bind import Primitive, abstract_eval_rules, impl_rules
from tinyjax.core.facts import ACCURACY, FUNCTION, MOVES

# ---- what elementwise primitives share ----


def shape_of(x: Any) -> tuple[int, ...]:
    if isinstance(x, Array):
        return x.aval.shape
    return () if dtypes.is_python_scalar(x) else np.shape(x)


def broadcast_shapes(name: str, *avals: ShapedArray) -> tuple[int, ...]:
    """The shape of an elementwise result: equal shapes, sizes of 1 stretch, scalars fit anywhere.

    Raises TypeError ("<name> got incompatible shapes for broadcasting: ...") where they do not fit."""
    shapes = {aval.shape for aval in avals if aval.shape}
    if len(shapes) <= 1:
        return next(iter(shapes), ())
    if len({len(shape) for shape in shapes}) == 1:
        sizes = [{size for size in sizes if size != 1} or {1} for sizes in zip(*shapes)]
        if all(len(size) == 1 for size in sizes):
            return tuple(size.pop() for size in sizes)
    listed = ", ".join(str(aval.shape) for aval in avals)
    raise TypeError(
        f"{name} got incompatible shapes for broadcasting: {listed}. Shapes must be equal (or 1) in "
        "every dimension: reshape, or add a dimension by x[:, None]"
    )


@functools.lru_cache(4096)
def elementwise_aval(name: str, kinds: str, *avals: ShapedArray) -> ShapedArray:
    """The aval of an elementwise result, in the operands' common dtype.

    Raises TypeError where dtypes differ, a dtype's kind is not in `kinds`, or shapes do not fit."""
    shape, dtype, weak_type = avals[0].shape, avals[0].dtype, True
    for position, aval in enumerate(avals):
        if dtypes.kind(aval.dtype) not in kinds:
            words = {"b": "bool", "i": "signed", "u": "unsigned", "f": "floating", "c": "complex"}
            raise TypeError(
                f"{name} does not accept dtype {aval.dtype.name} at position {position}. Accepted "
                f"dtypes are subtypes of {', '.join(words[k] for k in kinds)}: use x.astype"
            )
        if aval.dtype != dtype:
            listed = ", ".join(a.dtype.name for a in avals)
            raise TypeError(
                f"lax.{name} requires arguments to have the same dtypes, got {listed}. Convert one "
                "with lax.convert_element_type, or use jax.numpy, which promotes"
            )
        if aval.shape != shape:
            shape = broadcast_shapes(name, *avals)
        weak_type = weak_type and aval.weak_type
    return ShapedArray(shape, dtype, weak_type)


def def_elementwise(primitive: Primitive, impl: Callable, kinds: str) -> None:
    """Registers impl and abstract_eval rules of a primitive that works element by element."""
    impl_rules[primitive] = impl
    abstract_eval_rules[primitive] = functools.partial(elementwise_aval, primitive.name, kinds)


add_p = Primitive("add", axes="elementwise", cost=1, makes_nan=True, linear="all")
mul_p = Primitive(
    "mul", axes="elementwise", cost=1, makes_nan=True, linear="each", ignored_params=("out_dtype",)
)
neg_p = Primitive("neg", axes="elementwise", cost=1, makes_nan=False)
sin_p = Primitive("sin", axes="elementwise", **FUNCTION, ignored_params=ACCURACY)
cos_p = Primitive("cos", axes="elementwise", **FUNCTION, ignored_params=ACCURACY)
gt_p = Primitive("gt", axes="elementwise", cost=1, makes_nan=False)
reduce_sum_p = Primitive(
    "reduce_sum", axes="reduction", makes_nan=True, ignored_params=("out_sharding",)
)
broadcast_in_dim_p = Primitive(
    "broadcast_in_dim", **MOVES, linear="all", keys="same", ignored_params=("sharding",)
)
reshape_p = Primitive("reshape", **MOVES, keys="same", ignored_params=("dimensions", "sharding"))
transpose_p = Primitive("transpose", **MOVES)

def_elementwise(add_p, np.add, "iufc")
def_elementwise(mul_p, np.multiply, "iufc")
def_elementwise(neg_p, np.negative, "iufc")

def_elementwise(sin_p, np.sin, "fc")
def_elementwise(cos_p, np.cos, "fc")

impl_rules[gt_p] = np.greater


@functools.lru_cache(4096)
def _compare_aval(x: ShapedArray, y: ShapedArray) -> ShapedArray:
    return elementwise_aval("gt", "biuf", x, y).update(dtype=np.dtype(bool))


abstract_eval_rules[gt_p] = _compare_aval


def _reduce_sum_impl(x: np.ndarray, *, axes: tuple[int, ...]) -> np.ndarray:
    if not axes:
        return x  # otherwise NumPy adds 0.0, and -0.0 loses its sign
    # A long sum of short floats is added up in 32 bits, as on any device, and rounded once.
    is_half = dtypes.is_float(x.dtype) and x.dtype.itemsize <= 2
    out = np.add.reduce(x, axis=axes, dtype=np.float32 if is_half else x.dtype)
    return np.asarray(out, x.dtype)


def reduced_aval(x: ShapedArray, axes: tuple[int, ...], name: str = "reduce_sum") -> ShapedArray:
    """The aval with `axes` summed away. Raises ValueError for an axis out of range or named twice."""
    if any(not 0 <= axis < x.ndim for axis in axes) or len(set(axes)) != len(axes):
        raise ValueError(
            f"{name} axes {axes} are not distinct axes of an operand of shape {x.shape}: "
            f"each is in [0, {x.ndim})"
        )
    shape = tuple(size for axis, size in enumerate(x.shape) if axis not in axes)
    return ShapedArray(shape, x.dtype, x.weak_type)


@functools.lru_cache(4096)
def _reduce_sum_aval(x: ShapedArray, *, axes: tuple[int, ...]) -> ShapedArray:
    if dtypes.kind(x.dtype) not in "iufc":
        raise TypeError(f"reduce_sum does not accept dtype {x.dtype.name}: convert with x.astype")
    return reduced_aval(x, axes)


impl_rules[reduce_sum_p] = _reduce_sum_impl
abstract_eval_rules[reduce_sum_p] = _reduce_sum_aval


def _broadcast_in_dim_impl(
    x: np.ndarray, *, shape: tuple[int, ...], broadcast_dimensions: tuple[int, ...]
) -> np.ndarray:
    """`x` with its dimension i at broadcast_dimensions[i] of `shape`, repeated along all others. The
    broadcast_dimensions increase."""
    unit_shape = [1] * len(shape)
    for size, dimension in zip(x.shape, broadcast_dimensions):
        unit_shape[dimension] = size
    spread = x.reshape(unit_shape)
    if spread.shape == shape:
        return spread
    if math.prod(shape) > 10_000:
        return np.broadcast_to(spread, shape)  # a view, in which repeated elements are stored once
    out = np.empty(shape, x.dtype)  # for few elements a copy is faster than a view
    out[...] = spread
    return out


@functools.lru_cache(4096)
def _broadcast_in_dim_aval(
    x: ShapedArray, *, shape: tuple[int, ...], broadcast_dimensions: tuple[int, ...]
) -> ShapedArray:
    fits = (
        len(broadcast_dimensions) == x.ndim
        and list(broadcast_dimensions) == sorted(set(broadcast_dimensions))
        and all(0 <= d < len(shape) for d in broadcast_dimensions)
        and all(size in (1, shape[d]) for size, d in zip(x.shape, broadcast_dimensions))
    )
    if not fits:
        raise TypeError(
            f"broadcast_in_dim can't bring an operand of shape {x.shape} to shape {shape} with "
            f"broadcast_dimensions {broadcast_dimensions}: each operand dimension needs a place of its "
            "own, behind that of the one before it, and a size of 1 or the target's size there"
        )
    return ShapedArray(shape, x.dtype, x.weak_type)


impl_rules[broadcast_in_dim_p] = _broadcast_in_dim_impl
abstract_eval_rules[broadcast_in_dim_p] = _broadcast_in_dim_aval


@functools.lru_cache(4096)
def _reshape_aval(x: ShapedArray, *, new_sizes: tuple[int, ...]) -> ShapedArray:
    out = ShapedArray(new_sizes, x.dtype, x.weak_type)
    if out.size != x.size or any(size < 0 for size in new_sizes):
        raise TypeError(
            f"cannot reshape array of shape {x.shape} (size {x.size}) into shape {new_sizes} "
            f"(size {out.size}): sizes must be equal"
        )
    return out


impl_rules[reshape_p] = lambda x, *, new_sizes: x.reshape(new_sizes)
abstract_eval_rules[reshape_p] = _reshape_aval


@functools.lru_cache(4096)
def _transpose_aval(x: ShapedArray, *, permutation: tuple[int, ...]) -> ShapedArray:
    if sorted(permutation) != list(range(x.ndim)):
        raise TypeError(
            f"transpose permutation isn't a permutation of operand dimensions, got permutation {permutation} "
            f"for operand shape {x.shape}."
        )
    return ShapedArray(tuple(x.shape[axis] for axis in permutation), x.dtype, x.weak_type)


impl_rules[transpose_p] = lambda x, *, permutation: x.transpose(permutation)
abstract_eval_rules[transpose_p] = _transpose_aval


def add(x: Any, y: Any) -> Any:
    return add_p.bind(x, y)


def mul(x: Any, y: Any) -> Any:
    return mul_p.bind(x, y)


def neg(x: Any) -> Any:
    return neg_p.bind(x)


def sin(x: Any) -> Any:
    return sin_p.bind(x)


def cos(x: Any) -> Any:
    return cos_p.bind(x)


def gt(x: Any, y: Any) -> Any:
    return gt_p.bind(x, y)


def reduce_sum(x: Any, axes: Sequence[int], **place: Any) -> Any:
    return reduce_sum_p.bind(x, axes=tuple(axes), **place)


def broadcast_in_dim(
    x: Any, shape: Sequence[int], broadcast_dimensions: Sequence[int], **place: Any
) -> Any:
    """Puts dimension i of `x` at broadcast_dimensions[i] of `shape`, and repeats it elsewhere. `place`: the
    parameter that says where the result is, if any (lax/placing.py)."""
    if not len(broadcast_dimensions) and not len(shape) and isinstance(x, Array):
        return x
    in_order = sorted(broadcast_dimensions)
    if in_order != [*broadcast_dimensions] and len(in_order) == len(shape_of(x)):
        x = transpose(x, [[*broadcast_dimensions].index(d) for d in in_order])
        broadcast_dimensions = in_order
    return broadcast_in_dim_p.bind(
        x, shape=tuple(shape), broadcast_dimensions=tuple(broadcast_dimensions), **place
    )


def reshape(x: Any, new_sizes: Sequence[int], **place: Any) -> Any:
    if shape_of(x) == tuple(new_sizes) and isinstance(x, Array) and not place:
        return x
    return reshape_p.bind(x, new_sizes=tuple(new_sizes), **place)


def transpose(x: Any, permutation: Sequence[int]) -> Any:
    permutation = tuple(map(int, permutation))
    if permutation == tuple(range(len(shape_of(x)))) and isinstance(x, Array):
        return x
    return transpose_p.bind(x, permutation=permutation)


def expand_dims(x: Any, dimensions: Sequence[int]) -> Any:
    """Inserts axes of size 1, which will be the result's axes `dimensions`."""
    shape = list(shape_of(x))
    kept = [d for d in range(len(shape) + len(dimensions)) if d not in dimensions]
    for dimension in sorted(dimensions):
        shape.insert(dimension, 1)
    return broadcast_in_dim(x, shape, kept) if dimensions else x
