"""Primitives that remove axes: reduce_prod, reduce_max, reduce_and, ..., argmax and argmin.

The gradient of a maximum goes to the places that hold it, in equal shares; the derivative of a product is
that of a tree of multiplications. reduce_sum is in core.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinyjax.core import dtypes, primitives
from tinyjax.core.array import Array, ShapedArray
from tinyjax.core.bind import Primitive, abstract_eval_rules, impl_rules
from tinyjax.core.primitives import reduced_aval, shape_of
from tinyjax.lax import shape as shapes
from tinyjax.lax import slicing
from tinyjax.lax.arithmetic import div
from tinyjax.lax.comparison import eq
from tinyjax.lax.conversion import convert_element_type
from tinyjax.lax.creation import full
from tinyjax.lax.placing import place_params, with_place
from tinyjax.transform.batching import defreducer
from tinyjax.transform.jvp import defjvp2, defzero, jvp, jvp_rules

# ---- results of empty reductions ----


def max_identity(dtype: np.dtype) -> np.ndarray:
    """The least value of a dtype: -inf (some small floats have none), the least integer or False."""
    if dtypes.kind(dtype) == "c":  # ordered by real, then by imaginary part
        return np.array(complex(-np.inf, -np.inf), dtype)
    if dtypes.is_inexact(dtype):
        least = np.array(-np.inf, dtype)
        return least if least == least else np.array(dtypes.finfo(dtype).min, dtype)
    return np.array(False) if dtype == np.bool_ else np.array(dtypes.iinfo(dtype).min, dtype)


def min_identity(dtype: np.dtype) -> np.ndarray:
    """The greatest value of a dtype: inf, the greatest integer or True."""
    if dtypes.kind(dtype) == "c":
        return np.array(complex(np.inf, np.inf), dtype)
    if dtypes.is_inexact(dtype):
        greatest = np.array(np.inf, dtype)
        return greatest if greatest == greatest else np.array(dtypes.finfo(dtype).max, dtype)
    return np.array(True) if dtype == np.bool_ else np.array(dtypes.iinfo(dtype).max, dtype)


# ---- reduce_prod ----

reduce_prod_p = Primitive("reduce_prod", axes="reduction", makes_nan=True)


def _reduce_prod_aval(x: ShapedArray, *, axes: tuple[int, ...]) -> ShapedArray:
    if dtypes.kind(x.dtype) not in "iufc":
        raise TypeError(
            f"reduce_prod does not accept dtype {x.dtype.name}. Accepted dtypes are subtypes of number: "
            "convert with x.astype"
        )
    return reduced_aval(x, axes, "reduce_prod")


def _reduce_prod_jvp(primals: Any, tangents: Any, *, axes: tuple[int, ...]) -> Any:
    """The JVP of a tree of multiplications: x / x_i would fail where an element is zero."""
    (x,), axes = primals, tuple(int(axis) for axis in axes)
    kept = [axis for axis in range(len(shape_of(x))) if axis not in axes]
    kept_shape = tuple(shape_of(x)[axis] for axis in kept)
    flat_shape = (math.prod(shape_of(x)[axis] for axis in axes), *kept_shape)

    def flatten(v: Any) -> Any:
        """The reduced axes as one, in front."""
        return shapes.reshape(v, flat_shape, (*axes, *kept))

    def multiply_halves(v: Any) -> Any:
        while (size := shape_of(v)[0]) > 1:
            half = (size + 1) // 2
            low, high = slicing.slice_in_dim(v, 0, half), slicing.slice_in_dim(v, half, None)
            if size % 2:
                one_behind = [(0, 1, 0)] + [(0, 0, 0)] * len(kept)
                high = slicing.pad(high, np.ones((), v.dtype), one_behind)
            v = primitives.mul(low, high)
        return shapes.squeeze(v, (0,)) if size else full(kept_shape, np.ones((), v.dtype))

    return jvp(multiply_halves, (flatten(x),), (flatten(tangents[0]),))


impl_rules[reduce_prod_p] = lambda x, *, axes: np.prod(x, axis=axes, dtype=x.dtype)
abstract_eval_rules[reduce_prod_p] = _reduce_prod_aval
jvp_rules[reduce_prod_p] = _reduce_prod_jvp
defreducer(reduce_prod_p)


# ---- reduce_max and reduce_min ----

_EXTREME: dict[str, Any] = {
    "axes": "reduction",
    "makes_nan": True,
    "ignored_params": ("out_sharding",),
}
reduce_max_p = Primitive("reduce_max", **_EXTREME)
reduce_min_p = Primitive("reduce_min", **_EXTREME)


def _chosen_jvp(g: Any, out: Any, x: Any, *, axes: tuple[int, ...]) -> Any:
    """The mean of the tangents at the places that hold the extreme value."""
    shape = [1 if axis in axes else size for axis, size in enumerate(shape_of(x))]
    is_chosen = convert_element_type(eq(x, shapes.reshape(out, shape)), g.dtype)
    count = primitives.reduce_sum(is_chosen, axes)
    return div(primitives.reduce_sum(primitives.mul(g, is_chosen), axes), count)


def _def_extreme(primitive: Primitive, reduce: Callable, identity: Callable) -> None:
    name = primitive.name
    impl_rules[primitive] = lambda x, *, axes: reduce(x, axis=axes, initial=identity(x.dtype))

    @functools.lru_cache(4096)
    def extreme_aval(x: ShapedArray, *, axes: tuple[int, ...]) -> ShapedArray:
        if dtypes.kind(x.dtype) not in "biufc":
            raise TypeError(f"{name} does not accept {x.str_short()}: random keys have no order")
        return reduced_aval(x, axes, name)

    abstract_eval_rules[primitive] = extreme_aval
    defjvp2(primitive, _chosen_jvp)
    defreducer(primitive)


_def_extreme(reduce_max_p, np.maximum.reduce, max_identity)
_def_extreme(reduce_min_p, np.minimum.reduce, min_identity)


# ---- reduce_and, reduce_or and reduce_xor ----

reduce_and_p = Primitive("reduce_and", axes="reduction", makes_nan=False)
reduce_or_p = Primitive("reduce_or", axes="reduction", makes_nan=False)
reduce_xor_p = Primitive("reduce_xor", axes="reduction", makes_nan=False)


def _def_bitwise(primitive: Primitive, ufunc: np.ufunc) -> None:
    def aval(x: ShapedArray, *, axes: tuple[int, ...]) -> ShapedArray:
        if dtypes.kind(x.dtype) not in "biu":
            raise TypeError(
                f"logical reduction requires operand dtype bool or int, got {x.dtype.name}. Compare "
                "first, as in x != 0"
            )
        return reduced_aval(x, axes, primitive.name).strip_weak_type()

    def impl(x: np.ndarray, *, axes: tuple[int, ...]) -> np.ndarray:
        return ufunc.reduce(x, axis=axes, dtype=x.dtype)

    impl_rules[primitive] = impl
    abstract_eval_rules[primitive] = aval
    defzero(primitive)
    defreducer(primitive)


_def_bitwise(reduce_and_p, np.bitwise_and)
_def_bitwise(reduce_or_p, np.bitwise_or)
_def_bitwise(reduce_xor_p, np.bitwise_xor)


# ---- argmax and argmin ----


def _comparisons(eqn: Any) -> int:
    """All elements but the first of each row are compared."""
    return eqn.invars[0].aval.size - eqn.outvars[0].aval.size


argmax_p = Primitive("argmax", axes="reduction", cost=_comparisons, makes_nan=False)
argmin_p = Primitive("argmin", axes="reduction", cost=_comparisons, makes_nan=False)


def _def_arg_extreme(primitive: Primitive, find: Callable) -> None:
    def aval(x: ShapedArray, *, axes: tuple[int, ...], index_dtype: np.dtype) -> ShapedArray:
        (axis,) = axes
        if not 0 <= axis < x.ndim:
            raise ValueError(f"Invalid axis {axis} for operand shape {x.shape}")
        if x.shape[axis] < 1:
            raise ValueError(
                "argmin and argmax require non-empty reduced dimension. "
                f"operand.shape={x.shape} axis={axis}"
            )
        if dtypes.kind(x.dtype) not in "biuf":
            raise TypeError(
                f"{primitive.name} does not accept dtype {x.dtype.name}. Accepted dtypes are subtypes "
                "of integer, floating, bool."
            )
        if dtypes.kind(index_dtype) not in "iu":
            raise TypeError(f"index_dtype must be an integer type, but got {index_dtype.name}")
        return ShapedArray(shapes.without(x.shape, axes), index_dtype)

    def impl(x: np.ndarray, *, axes: tuple[int, ...], index_dtype: np.dtype) -> np.ndarray:
        """The first extreme element, or the first nan, as in NumPy."""
        if x.dtype.name in dtypes.EXTENSIONS:  # for which NumPy's argmax ignores nan
            x = x.astype(np.float32)
        return find(x, axis=axes[0]).astype(index_dtype)

    impl_rules[primitive] = impl
    abstract_eval_rules[primitive] = aval
    defzero(primitive)
    defreducer(primitive)


_def_arg_extreme(argmax_p, np.argmax)
_def_arg_extreme(argmin_p, np.argmin)


# ---- public functions ----


def reduce_sum(operand: Any, axes: Sequence[int], *, out_sharding: Any = None) -> Array:
    """The sum over `axes`, split over devices as `out_sharding` says. Raises ValueError for an axis out of
    range or named twice."""
    return primitives.reduce_sum(operand, axes, **place_params("reduce_sum", out_sharding))


def reduce_prod(operand: Any, axes: Sequence[int]) -> Array:
    """The product over `axes`. Raises ValueError for an axis out of range or named twice."""
    return reduce_prod_p.bind(operand, axes=tuple(axes))


def reduce_max(operand: Any, axes: Sequence[int], *, out_sharding: Any = None) -> Array:
    """The maximum over `axes`, split over devices as `out_sharding` says; nan if there is one, -inf (the
    least integer) if there are no elements."""
    reduce = with_place(reduce_max_p.bind, out_sharding, "reduce_max")
    return reduce(operand, axes=tuple(axes))


def reduce_min(operand: Any, axes: Sequence[int], *, out_sharding: Any = None) -> Array:
    """The minimum over `axes`, split over devices as `out_sharding` says; nan if there is one, inf (the
    greatest integer) if there are no elements."""
    reduce = with_place(reduce_min_p.bind, out_sharding, "reduce_min")
    return reduce(operand, axes=tuple(axes))


def reduce_and(operand: Any, axes: Sequence[int]) -> Array:
    """Bitwise and over `axes` of bools or integers. Raises TypeError for other dtypes."""
    return reduce_and_p.bind(operand, axes=tuple(axes))


def reduce_or(operand: Any, axes: Sequence[int]) -> Array:
    """Bitwise or over `axes` of bools or integers. Raises TypeError for other dtypes."""
    return reduce_or_p.bind(operand, axes=tuple(axes))


def reduce_xor(operand: Any, axes: Sequence[int]) -> Array:
    """Bitwise exclusive or over `axes` of bools or integers. Raises TypeError for other dtypes."""
    return reduce_xor_p.bind(operand, axes=tuple(axes))


def argmax(operand: Any, axis: int, index_dtype: Any) -> Array:
    """The index along `axis` of the first maximum, or of the first nan.

    Raises ValueError for an empty axis; as jax.lax.argmax."""
    return argmax_p.bind(operand, axes=(axis,), index_dtype=dtypes.canonicalize_dtype(index_dtype))


def argmin(operand: Any, axis: int, index_dtype: Any) -> Array:
    """The index along `axis` of the first minimum, or of the first nan.

    Raises ValueError for an empty axis; as jax.lax.argmin."""
    return argmin_p.bind(operand, axes=(axis,), index_dtype=dtypes.canonicalize_dtype(index_dtype))
