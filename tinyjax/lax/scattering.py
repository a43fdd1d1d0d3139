"""scatter: writing windows of an array at computed places, or adding to them, multiplying, ...

Six primitives share all rules here; their derivatives, which differ, are in scatter_derivatives.

Source: https://www.openxla.org/stablehlo/spec#scatter
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinyjax.core import primitives
from tinyjax.core.array import Array, ArrayImpl, ShapedArray
from tinyjax.core.avals import get_aval
from tinyjax.core.bind import Primitive, abstract_eval_rules, impl_rules
from tinyjax.core.declared_functions import named
from tinyjax.core.inlining import eager_jaxpr_fun
from tinyjax.core.jaxpr import ClosedJaxpr, Jaxpr
from tinyjax.core.shortcuts import with_shortcut
from tinyjax.core.tracing import trace_to_jaxpr
from tinyjax.lax.arithmetic import max as max_
from tinyjax.lax.arithmetic import min as min_
from tinyjax.lax.arithmetic import sub
from tinyjax.lax.creation import full
from tinyjax.lax.shape import batch_size, check_same_dtypes
from tinyjax.lax.windows import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
    Windows,
    check_indexing,
    with_batching_axis,
    with_window_axis,
)
from tinyjax.transform import batching
from tinyjax.transform.batching import batch_rules, bdim_at_front, not_mapped

# ---- impl, abstract_eval and batch, which all kinds share ----

scatter_p = Primitive("scatter", axes="scatter", makes_nan=False)
scatter_add_p = Primitive("scatter-add", axes="scatter", makes_nan=True, linear=(0, 2))
scatter_sub_p = Primitive("scatter-sub", axes="scatter", makes_nan=True)
scatter_mul_p = Primitive("scatter-mul", axes="scatter", makes_nan=True)
scatter_min_p = Primitive("scatter-min", axes="scatter", makes_nan=False)
scatter_max_p = Primitive("scatter-max", axes="scatter", makes_nan=False)


def window_sizes(
    shape: Sequence[int], updates_shape: Sequence[int], numbers: ScatterDimensionNumbers
) -> tuple[int, ...]:
    """The size of a scatter's windows along each axis of the operand."""
    sizes = iter([updates_shape[d] for d in numbers.update_window_dims])
    single = (*numbers.inserted_window_dims, *numbers.operand_batching_dims)
    return tuple(1 if axis in single else next(sizes) for axis in range(len(shape)))


def _scatter_impl(
    combine: np.ufunc | None, x: np.ndarray, indices: np.ndarray, updates: np.ndarray, *,
    update_jaxpr: Jaxpr | None, update_consts: tuple, dimension_numbers: ScatterDimensionNumbers,
    indices_are_sorted: bool, unique_indices: bool, mode: GatherScatterMode,
) -> np.ndarray:  # fmt: skip
    """Combines the elements at each window with its updates, one window after the other."""
    sizes = window_sizes(x.shape, updates.shape, dimension_numbers)
    windows = Windows(x.shape, indices, GatherDimensionNumbers(*dimension_numbers), sizes)
    out = x.copy()
    if not (updates.size and out.size):
        return out
    is_kept = np.ravel(windows.inside | (mode is GatherScatterMode.CLIP))
    kept = slice(None) if is_kept.all() else is_kept
    batch_shape = windows.inside.shape

    def in_a_row(values: np.ndarray) -> np.ndarray:
        """The entries of all windows along one axis, without the windows outside."""
        window_shape = values.shape[len(batch_shape) :]
        return np.broadcast_to(values, batch_shape + window_shape).reshape(-1, *window_shape)[kept]

    index = tuple(in_a_row(places) for places in windows.index)
    values = in_a_row(windows.updates_view(updates))
    if not index:  # every window is the whole operand
        index = (np.zeros(values.shape[0], int),)
        target = out[None]
    else:
        target = windows.operand_view(out)
    if combine is not None:
        combine_at(combine, target, index, values)
    elif update_jaxpr is None:
        target[index] = values
    else:
        _apply_at(target, index, eager_jaxpr_fun(ClosedJaxpr(update_jaxpr, update_consts)))
    return out


@with_shortcut
def combine_at(
    combine: np.ufunc, target: np.ndarray, index: tuple[np.ndarray, ...], values: np.ndarray
) -> None:
    """Combines the elements at `index` with values, one after the other: a place may occur several times."""
    combine.at(target, index, values)


def _apply_at(target: np.ndarray, index: tuple[np.ndarray, ...], fun: Callable) -> None:
    """Replaces the elements at `index` by `fun` of them, repeatedly if a place occurs several times."""

    def each(values: np.ndarray) -> np.ndarray:
        arrays = ArrayImpl(values, ShapedArray(values.shape, values.dtype))
        unused = np.zeros((), values.dtype)
        return np.asarray(batching.vmap(lambda v: fun(v, unused)[0])(arrays))

    places = np.ravel_multi_index(np.broadcast_arrays(*index), target.shape[: len(index)]).ravel()
    rows = target.reshape(-1, *target.shape[len(index) :])  # a copy where target is transposed
    while places.size:
        unique, first = np.unique(places, return_index=True)
        found = rows[unique]
        rows[unique] = each(found.ravel()).reshape(found.shape)
        places = np.delete(places, first)
    target[...] = rows.reshape(target.shape)


def _scatter_aval(
    x: ShapedArray,
    indices: ShapedArray,
    updates: ShapedArray,
    *,
    dimension_numbers: ScatterDimensionNumbers,
    **params: Any,
) -> ShapedArray:
    numbers = dimension_numbers
    names = ScatterDimensionNumbers._fields
    check_indexing("scatter", x.shape, indices, names, GatherDimensionNumbers(*numbers))
    check_same_dtypes("scatter", x, updates)
    rank = indices.ndim - 1 + len(numbers.update_window_dims)
    if updates.ndim != rank:
        raise TypeError(f"Updates tensor must be of rank {rank}; got {updates.ndim}.")
    sizes = window_sizes(x.shape, updates.shape, numbers)
    # Where an axis has no elements, all windows are outside.
    if any(size > max(n, 1) for size, n in zip(sizes, x.shape) if 0 not in updates.shape):
        raise TypeError(
            "Bounds of the window dimensions of updates must not exceed the bounds of the "
            f"corresponding dimensions of operand: got windows of {sizes} for operand shape {x.shape}."
        )
    scattered = tuple(
        n for axis, n in enumerate(updates.shape) if axis not in numbers.update_window_dims
    )
    if scattered != indices.shape[:-1]:
        raise TypeError(
            "Bounds of the scatter dimensions of updates must be the same as the bounds of the "
            f"corresponding dimensions of scatter indices: got {scattered} in updates of shape "
            f"{updates.shape} for indices of shape {indices.shape}."
        )
    return x


def batch_scatter(
    primitive: Primitive,
    vals: Any,
    dims: Any,
    *,
    dimension_numbers: ScatterDimensionNumbers,
    **params: Any,
) -> Any:
    """Like batch_gather, but an operand without batch dim is repeated, so that each example has its own."""
    size = batch_size(vals, dims)
    (x, indices, updates), (x_dim, indices_dim, updates_dim) = vals, dims
    x = bdim_at_front(x, x_dim, size)
    updates = bdim_at_front(updates, updates_dim, size)
    if indices_dim is not_mapped:
        numbers = ScatterDimensionNumbers(*with_window_axis(dimension_numbers))
    else:
        indices = bdim_at_front(indices, indices_dim, size)
        numbers = ScatterDimensionNumbers(*with_batching_axis(dimension_numbers))
    return primitive.bind(x, indices, updates, dimension_numbers=numbers, **params), 0


for _primitive, _combine in (
    (scatter_p, None),
    (scatter_add_p, np.add),
    (scatter_sub_p, np.subtract),
    (scatter_mul_p, np.multiply),
    (scatter_min_p, np.minimum),
    (scatter_max_p, np.maximum),
):
    impl_rules[_primitive] = functools.partial(_scatter_impl, _combine)
    abstract_eval_rules[_primitive] = _scatter_aval
    batch_rules[_primitive] = functools.partial(batch_scatter, _primitive)


# ---- public functions ----


def _scalar_jaxpr(computation: Callable, dtype: np.dtype) -> ClosedJaxpr:
    """The jaxpr of a function of two scalars: an element and its update."""
    scalar = ShapedArray((), dtype)
    return trace_to_jaxpr(lambda x, y: [computation(x, y)], [scalar, scalar])


# Scatters of one kind share one jaxpr object, which is then printed once.
_combining_jaxpr = functools.lru_cache(64)(_scalar_jaxpr)


def _bind_scatter(
    primitive: Primitive,
    combine: ClosedJaxpr | None,
    operands: Sequence[Any],
    mode: Any,
    **params: Any,
) -> Any:
    params |= {"update_jaxpr": combine and combine.jaxpr, "mode": GatherScatterMode.from_any(mode)}
    return primitive.bind(
        *operands, update_consts=tuple(combine.consts) if combine else (), **params
    )


def _scatter_function(
    primitive: Primitive, combine: Callable | None, doc: str
) -> Callable[..., Array]:
    """The public function of a kind of scatter; `combine` combines an element and its update."""

    @named(primitive.name.replace("-", "_"), doc)
    def scatter_function(
        operand: Any, scatter_indices: Any, updates: Any,
        dimension_numbers: ScatterDimensionNumbers, *, indices_are_sorted: bool = False,
        unique_indices: bool = False, mode: str | GatherScatterMode | None = None,
    ) -> Array:  # fmt: skip
        jaxpr = combine and _combining_jaxpr(combine, get_aval(operand).dtype)
        how: dict[str, Any] = {"dimension_numbers": dimension_numbers}
        how |= {"indices_are_sorted": indices_are_sorted, "unique_indices": unique_indices}
        return _bind_scatter(primitive, jaxpr, (operand, scatter_indices, updates), mode, **how)

    return scatter_function


def _combining_scatter(primitive: Primitive, combine: Callable, done: str) -> Callable[..., Array]:
    doc = f"As scatter, with the updates {done} what is there."
    return _scatter_function(primitive, combine, doc)


scatter = _scatter_function(
    scatter_p,
    None,
    """`operand` with windows of it replaced by `updates`, at the index vectors of the indices.

    Updates not all inside are left out (`mode` 'clip' moves them inside). Most programs use
    x.at[...].set, which becomes a scatter. Raises TypeError where dimension_numbers, shapes or dtypes
    do not fit.""",
)
scatter_add = _combining_scatter(scatter_add_p, primitives.add, "added to")
scatter_sub = _combining_scatter(scatter_sub_p, sub, "subtracted from")
scatter_mul = _combining_scatter(scatter_mul_p, primitives.mul, "multiplied into")
scatter_min = _combining_scatter(scatter_min_p, min_, "taken, where less, into")
scatter_max = _combining_scatter(scatter_max_p, max_, "taken, where greater, into")


def scatter_apply(
    operand: Any, scatter_indices: Any, func: Callable, dimension_numbers: ScatterDimensionNumbers,
    *, update_shape: Sequence[int] = (), indices_are_sorted: bool = False,
    unique_indices: bool = False, mode: str | GatherScatterMode | None = None,
) -> Array:  # fmt: skip
    """Like scatter, but replaces each element by `func` of it, once for each time it is indexed.

    `update_shape` is the shape that updates would have. It can't be differentiated, as in JAX."""
    dtype = get_aval(operand).dtype
    jaxpr = _scalar_jaxpr(lambda x, _: func(x), dtype)
    how: dict[str, Any] = {"dimension_numbers": dimension_numbers}
    how |= {"indices_are_sorted": indices_are_sorted, "unique_indices": unique_indices}
    operands = (operand, scatter_indices, full(update_shape, 0, dtype))
    return _bind_scatter(scatter_p, jaxpr, operands, mode, **how)
