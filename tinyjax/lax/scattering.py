"""scatter: writing windows of an array at places that are computed, and adding, multiplying... there.

After this file you can say why the gradient of `x[i]` is a scatter-add (each place that was read gets
the sum of its readers' cotangents), and how a scatter whose updates may overlap is differentiated.
Builds on gathering.

Source: https://www.openxla.org/stablehlo/spec#scatter
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tinyjax import core
from tinyjax.array import Array, ArrayImpl, ShapedArray
from tinyjax.core import Primitive, abstract_eval_rules, impl_rules, shape_of
from tinyjax.interpreters import batching
from tinyjax.interpreters.batching import batch_rules, bdim_at_front, not_mapped
from tinyjax.interpreters.jvp import Zero, defjvp, instantiate_zeros, jvp_rules, zero_tangent
from tinyjax.interpreters.tracing import trace_to_jaxpr
from tinyjax.interpreters.vjp import is_undefined_primal, transpose_rules
from tinyjax.jaxpr import ClosedJaxpr, Jaxpr, jaxpr_as_fun
from tinyjax.lax.arithmetic import div, sub
from tinyjax.lax.arithmetic import max as max_
from tinyjax.lax.arithmetic import min as min_
from tinyjax.lax.comparison import eq
from tinyjax.lax.conversion import full, iota, ones_like_array, zeros_like_array
from tinyjax.lax.elementwise import constant
from tinyjax.lax.gathering import (
    GatherDimensionNumbers,
    GatherScatterMode,
    Windows,
    batched_dims,
    check_indexing,
    gather,
)
from tinyjax.lax.selection import select
from tinyjax.lax.shape import check_same_dtypes, reshape

# ---- dimension numbers ----


class ScatterDimensionNumbers(NamedTuple):
    """Which axes of operand, indices and updates belong together in a scatter.

    The mirror image of GatherDimensionNumbers, with updates for the result: update_window_dims are
    its offset_dims, inserted_window_dims its collapsed_slice_dims, and so on."""

    update_window_dims: tuple[int, ...]
    inserted_window_dims: tuple[int, ...]
    scatter_dims_to_operand_dims: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    scatter_indices_batching_dims: tuple[int, ...] = ()


def _as_gather(numbers: ScatterDimensionNumbers) -> GatherDimensionNumbers:
    """The gather that reads what a scatter with these numbers writes."""
    return GatherDimensionNumbers(*numbers)


def _window_sizes(
    shape: Sequence[int], updates_shape: Sequence[int], numbers: ScatterDimensionNumbers
) -> tuple[int, ...]:
    """The size of a scatter's windows along each axis of the operand."""
    sizes = iter([updates_shape[d] for d in numbers.update_window_dims])
    single = (*numbers.inserted_window_dims, *numbers.operand_batching_dims)
    return tuple(1 if axis in single else next(sizes) for axis in range(len(shape)))


# ---- scatter: impl, abstract_eval and batch, which all kinds share ----

scatter_p = Primitive("scatter")
scatter_add_p = Primitive("scatter-add")
scatter_sub_p = Primitive("scatter-sub")
scatter_mul_p = Primitive("scatter-mul")
scatter_min_p = Primitive("scatter-min")
scatter_max_p = Primitive("scatter-max")


def _scatter_impl(
    combine: np.ufunc | None,
    x: np.ndarray,
    indices: np.ndarray,
    updates: np.ndarray,
    *,
    update_jaxpr: Jaxpr | None,
    update_consts: tuple,
    dimension_numbers: ScatterDimensionNumbers,
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: GatherScatterMode,
) -> np.ndarray:
    """Combines the elements at each window with its updates, one window after the other."""
    sizes = _window_sizes(x.shape, updates.shape, dimension_numbers)
    windows = Windows(x.shape, indices, _as_gather(dimension_numbers), sizes)
    out = x.copy()
    if 0 in updates.shape:
        return out
    # Single windows in a row, so that those outside can be left out.
    batch_shape = windows.inside.shape
    kept = np.nonzero(np.ravel(windows.inside | (mode is GatherScatterMode.CLIP)))
    index = tuple(
        np.broadcast_to(i, batch_shape + i.shape[len(batch_shape) :]).reshape(
            -1, *i.shape[len(batch_shape) :]
        )[kept]
        for i in windows.index
    )
    values = windows.updates_view(updates)
    values = values.reshape(-1, *values.shape[len(batch_shape) :])[kept]
    if not index:  # every window is the whole operand
        index = (np.zeros(values.shape[0], int),)
        target = out[None]
    else:
        target = windows.operand_view(out)
    if combine is not None:
        combine.at(target, index, values)
    elif update_jaxpr is None:
        target[index] = values
    else:
        _apply_at(target, index, jaxpr_as_fun(ClosedJaxpr(update_jaxpr, update_consts)))
    return out


def _apply_at(target: np.ndarray, index: tuple[np.ndarray, ...], fun: Callable) -> None:
    """Replaces the elements at `index` by `fun` of them; as often as a place occurs there."""

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
    check_indexing("scatter", x.shape, indices, names, _as_gather(numbers))
    check_same_dtypes("scatter", x, updates)
    rank = indices.ndim - 1 + len(numbers.update_window_dims)
    if updates.ndim != rank:
        raise TypeError(f"Updates tensor must be of rank {rank}; got {updates.ndim}.")
    sizes = _window_sizes(x.shape, updates.shape, numbers)
    if any(size > n for size, n in zip(sizes, x.shape) if 0 not in updates.shape):
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
    """As for gather; an operand without batch dim is repeated, so that each example has its own."""
    size = next(shape_of(v)[d] for v, d in zip(vals, dims) if d is not not_mapped)
    (x, indices, updates), (x_dim, indices_dim, updates_dim) = vals, dims
    x = bdim_at_front(x, x_dim, size)
    updates = bdim_at_front(updates, updates_dim, size)
    window, inserted, index_map, operand_batch, indices_batch = dimension_numbers
    if indices_dim is not_mapped:
        numbers = ScatterDimensionNumbers(
            (0, *batched_dims(window)),
            batched_dims(inserted),
            batched_dims(index_map),
            batched_dims(operand_batch),
            indices_batch,
        )
    else:
        indices = bdim_at_front(indices, indices_dim, size)
        numbers = ScatterDimensionNumbers(
            batched_dims(window),
            batched_dims(inserted),
            batched_dims(index_map),
            (0, *batched_dims(operand_batch)),
            (0, *batched_dims(indices_batch)),
        )
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


def _gather_updates(
    ct: Any, indices: Any, updates_shape: Any, numbers: ScatterDimensionNumbers, **params: Any
) -> Any:
    """What a scatter's updates see of an array like its result."""
    sizes = _window_sizes(shape_of(ct), updates_shape, numbers)
    return gather(ct, indices, _as_gather(numbers), sizes, **params)


# ---- scatter-add and scatter-sub: linear in operand and updates ----


def _scatter_linear_jvp(primitive: Primitive, primals: Any, tangents: Any, **params: Any) -> Any:
    x, indices, updates = primals
    out = primitive.bind(x, indices, updates, **params)
    x_dot, _, updates_dot = tangents
    if type(x_dot) is Zero and type(updates_dot) is Zero:
        return out, zero_tangent(out)
    x_dot, updates_dot = instantiate_zeros(x_dot), instantiate_zeros(updates_dot)
    return out, primitive.bind(x_dot, indices, updates_dot, **params)


def _scatter_linear_transpose(
    primitive: Primitive, ct: Any, x: Any, indices: Any, updates: Any, **params: Any
) -> list[Any]:
    updates_ct = None
    if is_undefined_primal(updates):
        updates_ct = _gather_updates(
            ct,
            indices,
            updates.aval.shape,
            params["dimension_numbers"],
            mode=params["mode"],
            fill_value=0,
        )
        if primitive is scatter_sub_p:
            updates_ct = core.neg(updates_ct)
    return [ct if is_undefined_primal(x) else None, None, updates_ct]


for _primitive in (scatter_add_p, scatter_sub_p):
    jvp_rules[_primitive] = functools.partial(_scatter_linear_jvp, _primitive)
    transpose_rules[_primitive] = functools.partial(_scatter_linear_transpose, _primitive)


# ---- scatter-mul ----


def _require_unique(unique_indices: bool) -> None:
    if not unique_indices:
        raise NotImplementedError(
            "scatter_mul gradients are only implemented if `unique_indices=True`: pass it if no place "
            "is written twice"
        )


def _scatter_mul_updates_jvp(
    g: Any,
    x: Any,
    indices: Any,
    updates: Any,
    *,
    update_jaxpr: Any,
    update_consts: Any,
    **params: Any,
) -> Any:
    _require_unique(params["unique_indices"])
    return core.mul(x, scatter_add(zeros_like_array(x), indices, g, **params))


def _scatter_mul_transpose(
    ct: Any,
    x: Any,
    indices: Any,
    updates: Any,
    *,
    update_jaxpr: Any,
    update_consts: Any,
    **params: Any,
) -> list[Any]:
    x_ct = updates_ct = None
    if is_undefined_primal(x):
        x_ct = scatter_mul(ct, indices, updates, **params)
    if is_undefined_primal(updates):
        _require_unique(params["unique_indices"])
        updates_ct = _gather_updates(
            core.mul(ct, x),
            indices,
            updates.aval.shape,
            params["dimension_numbers"],
            mode=params["mode"],
            fill_value=0,
        )
    return [x_ct, None, updates_ct]


defjvp(
    scatter_mul_p,
    lambda g, x, indices, updates, **params: scatter_mul_p.bind(g, indices, updates, **params),
    None,
    _scatter_mul_updates_jvp,
)
transpose_rules[scatter_mul_p] = _scatter_mul_transpose


# ---- scatter-min and scatter-max ----


def _scatter_extreme_jvp(primitive: Primitive, primals: Any, tangents: Any, **params: Any) -> Any:
    """A place takes the mean of the tangents of all that hold its extreme value: operand, updates."""
    x, indices, updates = primals
    out = primitive.bind(x, indices, updates, **params)
    x_dot, _, updates_dot = tangents
    if type(x_dot) is Zero and type(updates_dot) is Zero:
        return out, zero_tangent(out)
    x_dot, updates_dot = instantiate_zeros(x_dot), instantiate_zeros(updates_dot)
    numbers = params["dimension_numbers"]

    def seen(v: Any) -> Any:
        return _gather_updates(v, indices, shape_of(updates), numbers)

    before, after = seen(x), seen(out)
    wins, stays = eq(updates, after), eq(before, after)
    ones, zeros = lambda: ones_like_array(updates), lambda: zeros_like_array(updates)  # noqa: E731
    counted = scatter_add(zeros_like_array(x), indices, select(wins, ones(), zeros()), numbers)
    num_winners = seen(counted)
    num_updates = seen(scatter_add(zeros_like_array(x), indices, ones(), numbers))
    one = constant(updates, 1)

    shared = lambda: div(one, core.add(num_winners, one))  # noqa: E731  (with the operand)
    updates_part = select(wins, select(stays, shared(), div(one, num_winners)), zeros())
    operand_part = select(stays, shared(), zeros_like_array(num_winners))
    # The operand's tangent is there already: each update takes its part of what is too much.
    correction = div(core.add(constant(updates, -1), operand_part), num_updates)
    change = core.add(core.mul(seen(x_dot), correction), core.mul(updates_dot, updates_part))
    shared_params = {k: params[k] for k in ("indices_are_sorted", "unique_indices", "mode")}
    return out, scatter_add(x_dot, indices, change, numbers, **shared_params)


for _primitive in (scatter_min_p, scatter_max_p):
    jvp_rules[_primitive] = functools.partial(_scatter_extreme_jvp, _primitive)


# ---- scatter ----


def _scatter_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    """Where updates may overlap, the one that wins is found by scattering their numbers.

    Then a scatter-add of all winners gives both the result and its tangent, and needs no transpose
    rule of its own."""
    if params["update_jaxpr"] is not None:
        raise NotImplementedError(
            "scatter_apply JVP not implemented: x.at[i].apply can't be differentiated, x.at[i].set(f(x[i])) "
            "can"
        )
    x, indices, updates = primals
    x_dot, _, updates_dot = tangents
    if type(x_dot) is Zero and type(updates_dot) is Zero:
        out = scatter_p.bind(x, indices, updates, **params)
        return out, zero_tangent(out)
    x_dot, updates_dot = instantiate_zeros(x_dot), instantiate_zeros(updates_dot)
    if params["unique_indices"]:
        out = scatter_p.bind(x, indices, updates, **params)
        return out, scatter_p.bind(x_dot, indices, updates_dot, **params)

    numbers = params["dimension_numbers"]
    shared_params = {k: params[k] for k in ("indices_are_sorted", "unique_indices", "mode")}
    ids_shape = [
        1 if axis in numbers.update_window_dims else n for axis, n in enumerate(shape_of(updates))
    ]
    ids = reshape(iota(np.uint32, math.prod(ids_shape)), ids_shape)
    ids = core.add(ids, full(shape_of(updates), 1, np.uint32))
    no_ids = full(shape_of(x), 0, np.uint32)
    scattered_ids = scatter(no_ids, indices, ids, numbers, **shared_params)
    winner_ids = _gather_updates(scattered_ids, indices, shape_of(updates), numbers)

    def kept(v: Any) -> Any:
        return select(eq(scattered_ids, zeros_like_array(scattered_ids)), v, zeros_like_array(v))

    def winners(v: Any) -> Any:
        return select(eq(ids, winner_ids), v, zeros_like_array(v))

    x, updates, x_dot, updates_dot = kept(x), winners(updates), kept(x_dot), winners(updates_dot)
    out = scatter_add(x, indices, updates, numbers, **shared_params)
    return out, scatter_add(x_dot, indices, updates_dot, numbers, **shared_params)


def _scatter_transpose(
    ct: Any,
    x: Any,
    indices: Any,
    updates: Any,
    *,
    update_jaxpr: Any,
    update_consts: Any,
    **params: Any,
) -> list[Any]:
    if not params["unique_indices"]:
        raise NotImplementedError("scatter transpose is only implemented where unique_indices=True")
    shape = updates.aval.shape if is_undefined_primal(updates) else shape_of(updates)
    x_ct = updates_ct = None
    if is_undefined_primal(x):  # what was overwritten has no part in the result
        x_ct = scatter(ct, indices, full(shape, 0, ct.dtype), **params)
    if is_undefined_primal(updates):
        updates_ct = _gather_updates(
            ct, indices, shape, params["dimension_numbers"], mode=params["mode"], fill_value=0
        )
    return [x_ct, None, updates_ct]


jvp_rules[scatter_p] = _scatter_jvp
transpose_rules[scatter_p] = _scatter_transpose


# ---- public functions ----


def _scalar_jaxpr(computation: Callable, dtype: np.dtype) -> ClosedJaxpr:
    """The jaxpr of a function of two scalars: an element and its update."""
    scalar = ShapedArray((), dtype)
    return trace_to_jaxpr(lambda x, y: [computation(x, y)], [scalar, scalar])


# Scatters of one kind share one jaxpr object, which is then printed once.
_combining_jaxpr = functools.lru_cache(64)(_scalar_jaxpr)


def _bind_scatter(
    primitive: Primitive,
    update_jaxpr: ClosedJaxpr | None,
    operand: Any,
    indices: Any,
    updates: Any,
    dimension_numbers: ScatterDimensionNumbers,
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: str | GatherScatterMode | None,
) -> Any:
    return primitive.bind(
        operand,
        indices,
        updates,
        update_jaxpr=update_jaxpr and update_jaxpr.jaxpr,
        update_consts=tuple(update_jaxpr.consts) if update_jaxpr else (),
        dimension_numbers=dimension_numbers,
        indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices,
        mode=GatherScatterMode.from_any(mode),
    )


def scatter(
    operand: Any,
    scatter_indices: Any,
    updates: Any,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | GatherScatterMode | None = None,
) -> Array:
    """`operand` with windows of it replaced by `updates`, at the index vectors of the indices.

    Updates not all inside are left out (`mode` 'clip' moves them inside). Most programs use
    x.at[...].set, which becomes a scatter. Raises TypeError where dimension_numbers, shapes or dtypes
    do not fit. Source: https://docs.jax.dev/en/latest/_autosummary/jax.lax.scatter.html
    """
    return _bind_scatter(
        scatter_p,
        None,
        operand,
        scatter_indices,
        updates,
        dimension_numbers,
        indices_are_sorted,
        unique_indices,
        mode,
    )


def scatter_add(
    operand: Any,
    scatter_indices: Any,
    updates: Any,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | GatherScatterMode | None = None,
) -> Array:
    """As scatter, with the updates added to what is there; as jax.lax.scatter_add."""
    return _bind_scatter(
        scatter_add_p,
        _combining_jaxpr(core.add, core.get_aval(operand).dtype),
        operand,
        scatter_indices,
        updates,
        dimension_numbers,
        indices_are_sorted,
        unique_indices,
        mode,
    )


def scatter_sub(
    operand: Any,
    scatter_indices: Any,
    updates: Any,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | GatherScatterMode | None = None,
) -> Array:
    """As scatter, with the updates subtracted from what is there; as jax.lax.scatter_sub."""
    return _bind_scatter(
        scatter_sub_p,
        _combining_jaxpr(sub, core.get_aval(operand).dtype),
        operand,
        scatter_indices,
        updates,
        dimension_numbers,
        indices_are_sorted,
        unique_indices,
        mode,
    )


def scatter_mul(
    operand: Any,
    scatter_indices: Any,
    updates: Any,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | GatherScatterMode | None = None,
) -> Array:
    """As scatter, with the updates multiplied into what is there; as jax.lax.scatter_mul."""
    return _bind_scatter(
        scatter_mul_p,
        _combining_jaxpr(core.mul, core.get_aval(operand).dtype),
        operand,
        scatter_indices,
        updates,
        dimension_numbers,
        indices_are_sorted,
        unique_indices,
        mode,
    )


def scatter_min(
    operand: Any,
    scatter_indices: Any,
    updates: Any,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | GatherScatterMode | None = None,
) -> Array:
    """As scatter, with the updates taken, where less, into what is there; as jax.lax.scatter_min."""
    return _bind_scatter(
        scatter_min_p,
        _combining_jaxpr(min_, core.get_aval(operand).dtype),
        operand,
        scatter_indices,
        updates,
        dimension_numbers,
        indices_are_sorted,
        unique_indices,
        mode,
    )


def scatter_max(
    operand: Any,
    scatter_indices: Any,
    updates: Any,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | GatherScatterMode | None = None,
) -> Array:
    """As scatter, with the updates taken, where greater, into what is there; as jax.lax.scatter_max."""
    return _bind_scatter(
        scatter_max_p,
        _combining_jaxpr(max_, core.get_aval(operand).dtype),
        operand,
        scatter_indices,
        updates,
        dimension_numbers,
        indices_are_sorted,
        unique_indices,
        mode,
    )


def scatter_apply(
    operand: Any,
    scatter_indices: Any,
    func: Callable,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    update_shape: Sequence[int] = (),
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | GatherScatterMode | None = None,
) -> Array:
    """As scatter, with each element replaced by `func` of it, as often as it is indexed.

    `update_shape` is the shape that updates would have. It can't be differentiated, as in JAX."""
    dtype = core.get_aval(operand).dtype
    return _bind_scatter(
        scatter_p,
        _scalar_jaxpr(lambda x, _: func(x), dtype),
        operand,
        scatter_indices,
        full(update_shape, 0, dtype),
        dimension_numbers,
        indices_are_sorted,
        unique_indices,
        mode,
    )
