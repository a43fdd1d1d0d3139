"""Arrays made from nothing: iota, full, empty.

`lax.full` is a broadcast scalar, an equation without memory of its own; iota is numpy.arange as an
equation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tinyjax.core import dtypes
from tinyjax.core.array import ArrayImpl, ShapedArray
from tinyjax.core.bind import Primitive, Tracer, abstract_eval_rules, impl_rules, no_rule_reasons
from tinyjax.core.facts import MOVES
from tinyjax.core.primitives import add, broadcast_in_dim, shape_of
from tinyjax.lax.comparison import eq
from tinyjax.lax.conversion import convert_type
from tinyjax.lax.elementwise import NUMBER, canonicalize_shape, canonicalize_user_dtype
from tinyjax.lax.placing import place_params, placed
from tinyjax.runtime.placement import commit

# ---- iota ----

iota_p = Primitive("iota", axes="none", **MOVES, ignored_params=("sharding",))


def _iota_impl(
    *, dtype: np.dtype, shape: tuple[int, ...], dimension: int, sharding: Any = None
) -> np.ndarray:
    along = [1] * len(shape)
    along[dimension] = shape[dimension]
    return np.broadcast_to(np.arange(shape[dimension]).astype(dtype).reshape(along), shape)


def _iota_aval(
    *, dtype: np.dtype, shape: tuple[int, ...], dimension: int, sharding: Any = None
) -> ShapedArray:
    if dtypes.kind(dtype) not in NUMBER:
        raise TypeError(f"iota does not accept dtype {dtype.name}: it counts in integers or floats")
    if not 0 <= dimension < len(shape):
        raise ValueError(
            f"iota dimension must be between 0 and len(shape), got {dimension=} for {shape=}"
        )
    return placed(ShapedArray(shape, dtype), sharding)


for _table in ("jvp", "transpose", "batch"):
    no_rule_reasons[iota_p, _table] = "it has no operands"
impl_rules[iota_p] = _iota_impl
abstract_eval_rules[iota_p] = _iota_aval


def iota(dtype: Any, size: int) -> Any:
    """The array [0, 1, ..., size - 1] in `dtype`."""
    return broadcasted_iota(dtype, (size,), 0)


def broadcasted_iota(
    dtype: Any, shape: Sequence[int], dimension: int, *, out_sharding: Any = None
) -> Any:
    """An array of `shape` in which each element is its own index along `dimension`; split over devices as
    `out_sharding` says.

    Raises TypeError for a dtype or shape that can't be, ValueError if there is no such dimension."""
    dtype = canonicalize_user_dtype(dtype, "broadcasted_iota")
    shape = canonicalize_shape(shape, "iota")
    place = place_params("iota", out_sharding)
    return iota_p.bind(dtype=dtype, shape=shape, dimension=int(dimension), **place)


# ---- empty ----

empty2_p = Primitive("empty2", axes="none", **MOVES)  # JAX's name


for _table in ("jvp", "transpose", "batch"):
    no_rule_reasons[empty2_p, _table] = "it has no operands"
impl_rules[empty2_p] = lambda *, dtype, memory_space: np.zeros((), dtype)
abstract_eval_rules[empty2_p] = lambda *, dtype, memory_space: ShapedArray((), dtype)


def empty_like_aval(aval: ShapedArray) -> Any:
    """An array whose elements are never read: a cond's branch returns it instead of a residual that only
    another branch has."""
    out = empty2_p.bind(dtype=aval.dtype, memory_space="MemorySpace.Device")
    if aval.shape:
        place = {} if aval.extra is None else aval.extra.params_for("broadcast_in_dim")
        out = broadcast_in_dim(out, aval.shape, (), **place)
    return out if aval.extra is None else aval.extra.cast(out)


# ---- full ----


def full(shape: Sequence[int], fill_value: Any, dtype: Any = None, *, sharding: Any = None) -> Any:
    """An array of `shape` filled with the scalar `fill_value`, in `dtype` or the scalar's own; split over
    devices as `sharding` says.

    Without dtype a Python scalar makes a weakly typed array. Raises TypeError if fill_value is no
    scalar, or shape no sequence of integers."""
    sizes = canonicalize_shape(shape, "full")
    if dtype is None:
        return _filled(sizes, fill_value, None, dtypes.is_weakly_typed(fill_value), sharding)
    return _filled(sizes, fill_value, canonicalize_user_dtype(dtype, "full"), False, sharding)


def empty(shape: Sequence[int], dtype: Any, *, out_sharding: Any = None) -> Any:
    """An array whose elements may be anything: here they are zeros, as no memory stays uninitialised."""
    return full(shape, 0, dtype, sharding=out_sharding)


def _filled(
    shape: tuple[int, ...],
    fill_value: Any,
    dtype: np.dtype | None,
    weak_type: bool,
    sharding: Any = None,
    extra: Any = None,
) -> Any:
    if shape_of(fill_value):
        raise TypeError(
            f"full must be called with scalar fill_value, got fill_value.shape {shape_of(fill_value)}: "
            "use jnp.broadcast_to for an array"
        )
    scalar = convert_type(fill_value, dtype, weak_type)
    if not shape:
        return scalar
    name = "broadcast_in_dim"
    place = place_params(name, sharding) if extra is None else extra.params_for(name)
    return broadcast_in_dim(scalar, shape, (), **place)


def full_of_type(aval: ShapedArray, fill_value: Any, dtype: Any = None) -> Any:
    """An array of one value, of this type, or of another dtype."""
    return _filled(aval.shape, fill_value, dtype or aval.dtype, False, extra=aval.extra)


def full_like(
    x: Any,
    fill_value: Any,
    dtype: Any = None,
    shape: Sequence[int] | None = None,
    sharding: Any = None,
) -> Any:
    """An array like `x`, in its dtype, weak type, shape and sharding unless given, of `fill_value`."""
    weak_type = dtype is None and dtypes.is_weakly_typed(x)
    new_dtype = dtypes.dtype(x) if dtype is None else canonicalize_user_dtype(dtype, "full_like")
    sizes = shape_of(x) if shape is None else canonicalize_shape(shape, "full_like")
    if sharding is not None:
        return _filled(sizes, fill_value, new_dtype, weak_type, sharding)
    extra = x.aval.extra if isinstance(x, Tracer) and shape is None else None
    return like(_filled(sizes, fill_value, new_dtype, weak_type, extra=extra), x)


def like(out: Any, x: Any) -> Any:
    """`out`, on the device of `x` and with the extra of x's type."""
    if isinstance(x, Tracer) and x.aval.extra is not None:
        return x.aval.extra.cast(out)
    if isinstance(x, ArrayImpl) and isinstance(out, ArrayImpl) and x.committed:
        place = x.device
        if out.aval.shape != x.aval.shape:  # the sharding of x does not apply to another shape
            place = getattr(place, "replicated", place)
        return commit(ArrayImpl(out._host, out.aval, out.buffer), place)
    return out


def unit_matrix(size: int, dtype: np.dtype) -> Any:
    """A matrix with ones on the diagonal, where two iotas are equal."""
    rows = add(broadcasted_iota(np.int32, (size, size), 0), np.int32(0))
    return convert_type(eq(rows, broadcasted_iota(np.int32, (size, size), 1)), dtype)


def zeros_like_array(x: Any) -> Any:
    """Zeros of the shape, dtype and weak type of `x`."""
    return full_like(x, 0)


def ones_like_array(x: Any) -> Any:
    """Ones of the shape, dtype and weak type of `x`."""
    return full_like(x, 1)
