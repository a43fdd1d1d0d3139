"""dynamic_slice and dynamic_update_slice: one window, at a computed place.

Unlike a gather they have a single window, which is always moved inside. vmap turns them into a gather and
a scatter.

Source: https://www.openxla.org/stablehlo/spec#dynamic_slice
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinyjax.core import dtypes, primitives
from tinyjax.core.array import Array, ShapedArray
from tinyjax.core.bind import Primitive, abstract_eval_rules, impl_rules
from tinyjax.core.facts import MOVES
from tinyjax.core.primitives import shape_of
from tinyjax.lax.conversion import convert_element_type
from tinyjax.lax.creation import full, full_of_type
from tinyjax.lax.elementwise import canonicalize_shape, constant
from tinyjax.lax.gathering import batch_gather
from tinyjax.lax.joining import concatenate
from tinyjax.lax.scattering import batch_scatter, scatter_p
from tinyjax.lax.selection import select
from tinyjax.lax.shape import check_same_dtypes, expand_dims, squeeze
from tinyjax.lax.slicing import slice_in_dim
from tinyjax.lax.windows import GatherDimensionNumbers, GatherScatterMode, ScatterDimensionNumbers
from tinyjax.transform.batching import batch_rules, not_mapped
from tinyjax.transform.jit.api import jitted
from tinyjax.transform.jvp import Zero, instantiate_zeros, jvp_rules, zero_tangent
from tinyjax.transform.transposition import is_undefined_primal, require_known, transpose_rules

# ---- dynamic_slice ----

dynamic_slice_p = Primitive(
    "dynamic_slice", axes="first operand", **MOVES, linear=(0,), keys="part"
)


def _window(
    shape: Sequence[int], start_indices: Sequence[np.ndarray], sizes: Sequence[int]
) -> tuple[slice, ...]:
    """The window's place, moved so that all of it is inside."""
    starts = [min(max(int(i), 0), n - size) for i, n, size in zip(start_indices, shape, sizes)]
    return tuple(slice(start, start + size) for start, size in zip(starts, sizes))


def _dynamic_slice_impl(
    x: np.ndarray, *start_indices: np.ndarray, slice_sizes: tuple[int, ...]
) -> np.ndarray:
    return x[_window(x.shape, start_indices, slice_sizes)]


def _check_start_indices(name: str, ndim: int, start_indices: Sequence[ShapedArray]) -> None:
    if len(start_indices) != ndim:
        raise TypeError(
            f"{name} start_indices must have length equal to the rank of operand, got "
            f"{len(start_indices)} indices for rank {ndim}."
        )
    if any(index.ndim for index in start_indices):
        raise TypeError(f"start_indices arguments to {name} must be scalars, got {start_indices}")
    index_dtypes = {index.dtype for index in start_indices}
    if len(index_dtypes) > 1 or any(dtypes.kind(d) not in "iu" for d in index_dtypes):
        listed = ", ".join(index.dtype.name for index in start_indices)
        raise TypeError(
            f"index arguments to {name} must be integers of the same type, got: {listed}"
        )


def _dynamic_slice_aval(
    x: ShapedArray, *start_indices: ShapedArray, slice_sizes: tuple[int, ...]
) -> ShapedArray:
    fits = len(slice_sizes) == x.ndim and all(n >= size for n, size in zip(x.shape, slice_sizes))
    if not fits:
        raise TypeError(
            "slice slice_sizes must be less than or equal to operand shape, got slice_sizes "
            f"{slice_sizes} for operand shape {x.shape}."
        )
    if any(size < 0 for size in slice_sizes):
        raise TypeError(
            f"slice slice_sizes must be greater than or equal to zero, got {slice_sizes}."
        )
    _check_start_indices("dynamic_slice", x.ndim, start_indices)
    return x.update(shape=tuple(slice_sizes))


def _dynamic_slice_jvp(primals: Any, tangents: Any, *, slice_sizes: tuple[int, ...]) -> Any:
    x_dot = tangents[0]
    if type(x_dot) is Zero:
        out = dynamic_slice_p.bind(*primals, slice_sizes=slice_sizes)
        return out, zero_tangent(out)
    tangent_out = dynamic_slice_p.bind(x_dot, *primals[1:], slice_sizes=slice_sizes)
    return dynamic_slice_p.bind(*primals, slice_sizes=slice_sizes), tangent_out


def _dynamic_slice_transpose(
    ct: Any, x: Any, *start_indices: Any, slice_sizes: tuple[int, ...]
) -> list[Any]:
    require_known(dynamic_slice_p, *start_indices)
    zeros = full_of_type(x.aval, 0)
    return [dynamic_update_slice_p.bind(zeros, ct, *start_indices)] + [None] * len(start_indices)


def _dynamic_slice_batch(vals: Any, dims: Any, *, slice_sizes: tuple[int, ...]) -> Any:
    """Windows at different places are a gather of windows."""
    all_dims = tuple(range(len(slice_sizes)))
    numbers = GatherDimensionNumbers(all_dims, (), all_dims)
    indices, indices_dim = _joined_indices(vals[1:], dims[1:])
    params: Any = {"dimension_numbers": numbers, "slice_sizes": slice_sizes, "fill_value": None}
    return batch_gather((vals[0], indices), (dims[0], indices_dim), **params, **_ONE_WINDOW)


_ONE_WINDOW: dict[str, Any] = {
    "unique_indices": True, "indices_are_sorted": True, "mode": GatherScatterMode.CLIP
}  # fmt: skip


def _joined_indices(indices: Sequence[Any], dims: Sequence[int | None]) -> tuple[Any, int | None]:
    """Scalar indices, some of them batched, as one array with an index vector for each example."""
    if not indices:
        return np.zeros(0, np.int32), None
    if all(d is not_mapped for d in dims):
        return concatenate([primitives.broadcast_in_dim(i, (1,), ()) for i in indices], 0), None
    size = next(shape_of(i)[0] for i, d in zip(indices, dims) if d is not not_mapped)
    columns = [
        primitives.broadcast_in_dim(i, (size, 1), () if d is not_mapped else (0,))
        for i, d in zip(indices, dims)
    ]
    return concatenate(columns, 1), 0


impl_rules[dynamic_slice_p] = _dynamic_slice_impl
abstract_eval_rules[dynamic_slice_p] = _dynamic_slice_aval
jvp_rules[dynamic_slice_p] = _dynamic_slice_jvp
transpose_rules[dynamic_slice_p] = _dynamic_slice_transpose
batch_rules[dynamic_slice_p] = _dynamic_slice_batch


# ---- dynamic_update_slice ----

dynamic_update_slice_p = Primitive("dynamic_update_slice", **MOVES, linear=(0, 1))


def _dynamic_update_slice_impl(
    x: np.ndarray, update: np.ndarray, *start_indices: np.ndarray
) -> np.ndarray:
    out = x.copy()
    out[_window(x.shape, start_indices, update.shape)] = update
    return out


def _dynamic_update_slice_aval(
    x: ShapedArray, update: ShapedArray, *start_indices: ShapedArray
) -> ShapedArray:
    if x.ndim != update.ndim:
        raise TypeError(
            "dynamic_update_slice update must have the same rank as operand, got update shape "
            f"{update.shape} for operand shape {x.shape}."
        )
    if any(size > n for n, size in zip(x.shape, update.shape)):
        raise TypeError(
            "dynamic_update_slice update shape must be smaller than operand shape, got update shape "
            f"{update.shape} for operand shape {x.shape}."
        )
    check_same_dtypes("dynamic_update_slice", x, update)
    _check_start_indices("dynamic_update_slice", x.ndim, start_indices)
    return x.update(weak_type=all(aval.weak_type for aval in (x, update, *start_indices)))


def _dynamic_update_slice_jvp(primals: Any, tangents: Any) -> Any:
    out = dynamic_update_slice_p.bind(*primals)
    x_dot, update_dot = tangents[:2]
    if type(x_dot) is Zero and type(update_dot) is Zero:
        return out, zero_tangent(out)
    x_dot, update_dot = instantiate_zeros(x_dot), instantiate_zeros(update_dot)
    return out, dynamic_update_slice_p.bind(x_dot, update_dot, *primals[2:])


def _dynamic_update_slice_transpose(ct: Any, x: Any, update: Any, *start_indices: Any) -> list[Any]:
    require_known(dynamic_update_slice_p, *start_indices)
    shape = update.aval.shape if is_undefined_primal(update) else shape_of(update)
    zeros = full(shape, 0, ct.dtype)
    x_ct = update_ct = None
    if is_undefined_primal(x):
        x_ct = dynamic_update_slice_p.bind(ct, zeros, *start_indices)
    if is_undefined_primal(update):
        update_ct = dynamic_slice_p.bind(ct, *start_indices, slice_sizes=shape)
    return [x_ct, update_ct] + [None] * len(start_indices)


def _dynamic_update_slice_batch(vals: Any, dims: Any) -> Any:
    """Windows written to different places are a scatter of windows."""
    update_ndim = len(shape_of(vals[1])) - (dims[1] is not not_mapped)
    all_dims = tuple(range(update_ndim))
    indices, indices_dim = _joined_indices(vals[2:], dims[2:])
    vals, dims = (vals[0], indices, vals[1]), (dims[0], indices_dim, dims[1])
    params = {"update_jaxpr": None, "update_consts": (), **_ONE_WINDOW}
    numbers = ScatterDimensionNumbers(all_dims, (), all_dims)
    return batch_scatter(scatter_p, vals, dims, dimension_numbers=numbers, **params)


impl_rules[dynamic_update_slice_p] = _dynamic_update_slice_impl
abstract_eval_rules[dynamic_update_slice_p] = _dynamic_update_slice_aval
jvp_rules[dynamic_update_slice_p] = _dynamic_update_slice_jvp
transpose_rules[dynamic_update_slice_p] = _dynamic_update_slice_transpose
batch_rules[dynamic_update_slice_p] = _dynamic_update_slice_batch


# ---- public functions ----


def _wrapped_indices(
    shape: Sequence[int], start_indices: Any, allow_negative: bool | Sequence[bool]
) -> list[Any]:
    """A list of scalar indices, negative ones counted from the end where that is allowed."""
    if not isinstance(start_indices, (tuple, list)):
        if len(shape_of(start_indices)) != 1:
            raise ValueError(f"Slice indices must be a 1D sequence, got {shape_of(start_indices)}")
        size = shape_of(start_indices)[0]
        start_indices = [squeeze(slice_in_dim(start_indices, i, i + 1), (0,)) for i in range(size)]
    if len(start_indices) != len(shape):
        raise ValueError(
            "Length of slice indices must match number of operand dimensions "
            f"({len(start_indices)} vs {tuple(shape)})"
        )
    if isinstance(allow_negative, bool):
        allow_negative = [allow_negative] * len(shape)
    return [_wrapped(i, n, allow) for i, n, allow in zip(start_indices, shape, allow_negative)]


def _wrapped(index: Any, size: int, allow_negative: bool) -> Any:
    dtype = dtypes.dtype(index)
    if dtypes.kind(dtype) == "u":
        return index
    if isinstance(index, (int, np.integer)):
        if index < 0 and not allow_negative:
            raise ValueError(
                f"Index {index} is out of bounds for dimension {size} if allow_negative_indices=False"
            )
        return convert_element_type(index + size if index < 0 else index, dtype)
    if not allow_negative or dtypes.kind(dtype) != "i":
        return index
    is_negative = index < 0
    strong = convert_element_type(index, dtype) if dtypes.is_weakly_typed(index) else index
    size_as_index = np.array(size).astype(dtype)  # wraps around if it does not fit, as in JAX
    return select(is_negative, primitives.add(strong, size_as_index), index)


def dynamic_slice(
    operand: Any,
    start_indices: Any,
    slice_sizes: Sequence[int],
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Array:
    """The window of `slice_sizes` at `start_indices`, which may be traced: a scalar for each axis.

    A window that is not all inside is moved inside. Negative indices count from the end.
    Raises TypeError for sizes larger than the operand or indices that are no integers."""
    indices = _wrapped_indices(shape_of(operand), start_indices, allow_negative_indices)
    sizes = canonicalize_shape(slice_sizes, "dynamic_slice")
    return dynamic_slice_p.bind(operand, *indices, slice_sizes=sizes)


def dynamic_update_slice(
    operand: Any,
    update: Any,
    start_indices: Any,
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Array:
    """`operand` with the window at `start_indices` replaced by `update`, of equal rank and dtype.

    A window that is not all inside is moved inside. Negative indices count from the end.
    Raises TypeError where shapes or dtypes do not fit."""
    indices = _wrapped_indices(shape_of(operand), start_indices, allow_negative_indices)
    return dynamic_update_slice_p.bind(operand, update, *indices)


def _along(x: Any, axis: int, start: Any, allow_negative: bool) -> tuple[list[Any], list[bool]]:
    """Start indices of `x` that are 0 but for one axis, and whether each may be negative."""
    ndim = len(shape_of(x))
    starts, allowed = [constant(start, 0)] * ndim, [False] * ndim
    starts[axis], allowed[axis] = start, allow_negative
    return starts, allowed


def dynamic_slice_in_dim(
    operand: Any,
    start_index: Any,
    slice_size: int,
    axis: int = 0,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """operand[start_index : start_index + slice_size] along one axis, moved inside if it is not."""
    sizes = list(shape_of(operand))
    sizes[axis] = operator.index(slice_size)
    starts, allowed = _along(operand, axis, start_index, allow_negative_indices)
    return dynamic_slice(operand, starts, sizes, allow_negative_indices=allowed)


@jitted(static_argnames=("axis", "keepdims", "allow_negative_indices"))
def dynamic_index_in_dim(
    operand: Any,
    index: Any,
    axis: int = 0,
    keepdims: bool = True,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """operand[index] along one axis, which stays with size 1 if keepdims; outside, the nearest one."""
    out = dynamic_slice_in_dim(
        operand, index, 1, axis, allow_negative_indices=allow_negative_indices
    )
    return out if keepdims else squeeze(out, (axis,))


def dynamic_update_slice_in_dim(
    operand: Any, update: Any, start_index: Any, axis: int, *, allow_negative_indices: bool = True
) -> Array:
    """`operand` with `update` written over it from `start_index` on along one axis."""
    starts, allowed = _along(operand, axis, start_index, allow_negative_indices)
    return dynamic_update_slice(operand, update, starts, allow_negative_indices=allowed)


@jitted(static_argnames=("axis", "allow_negative_indices"))
def dynamic_update_index_in_dim(
    operand: Any, update: Any, index: Any, axis: int, *, allow_negative_indices: bool = True
) -> Array:
    """`operand` with operand[index] along one axis replaced by `update`, which may lack that axis."""
    if len(shape_of(update)) != len(shape_of(operand)):
        update = expand_dims(update, (axis,))
    return dynamic_update_slice_in_dim(
        operand, update, index, axis, allow_negative_indices=allow_negative_indices
    )
