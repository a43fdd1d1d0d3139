"""Collectives along a named axis that are each other's transposes: all_gather and psum_scatter.

When vmap removes the name, all_gather becomes a transpose or a broadcast, and psum_scatter a sum.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tinyjax.core import primitives
from tinyjax.core.array import ShapedArray
from tinyjax.core.bind import Primitive
from tinyjax.core.facts import MOVES
from tinyjax.core.primitives import shape_of
from tinyjax.core.tree_util import tree_map
from tinyjax.lax import shape as shapes
from tinyjax.lax.parallel import (
    Groups,
    canonical_groups,
    check_bound,
    def_collective,
    fold_axes,
    group_size,
    names_of,
)
from tinyjax.transform.batching import AxisData, moveaxis, not_mapped

# ---- all_gather ----

all_gather_p = Primitive("all_gather", axes="unclear", **MOVES)
# A value of all_gather's `to` -> (x, **params) -> the gathered array. Features add theirs.
gather_to: dict[str, Callable[..., Any]] = {}


def all_gather(
    x: Any,
    axis_name: Any,
    *,
    axis_index_groups: Groups = None,
    axis: int = 0,
    tiled: bool = False,
    to: str = "varying",
) -> Any:
    """All examples' `x`, a pytree, stacked along a new axis `axis`; tiled: put together along that axis.

    `to` is the type of the result, where types tell which devices have equal values ("invarying": all)."""
    names, groups = names_of(axis_name), canonical_groups(axis_index_groups)
    params = {"axis_name": names, "axis_size": group_size(names, groups), "tiled": tiled}
    gather = gather_to.get(to, all_gather_p.bind)

    def of_leaf(leaf: Any) -> Any:
        ndim = len(shape_of(leaf)) + (not tiled)
        place = {"all_gather_dimension": shapes.canonicalize_axis(axis, ndim)}
        return gather(leaf, **place, axis_index_groups=groups, **params)

    return tree_map(of_leaf, x) if names else x


def _all_gather_aval(
    x: ShapedArray,
    *,
    all_gather_dimension: int,
    axis_name: Any,
    axis_size: int,
    tiled: bool,
    **_: Any,
) -> ShapedArray:
    check_bound(axis_name)
    shape = list(x.shape)
    if tiled:
        shape[all_gather_dimension] *= axis_size
    else:
        shape.insert(all_gather_dimension, axis_size)
    return x.update(shape=tuple(shape))


def _all_gather_along(x: Any, dim: int | None, axis: AxisData, params: dict[str, Any]) -> Any:
    """Gathers over the vmap axis `axis`: (result, not_mapped), as all examples get the same result. The
    batch dim of `x` goes to all_gather_dimension. An `x` that is not mapped is repeated there, as often
    as there are examples. Tiled, it is one axis with the one behind it."""
    place = params["all_gather_dimension"]
    if dim is not_mapped:
        shape = shapes.insert(shape_of(x), place, axis.size)
        kept = [i for i in range(len(shape)) if i != place]
        gathered = primitives.broadcast_in_dim(x, shape, kept)
    else:
        gathered = moveaxis(x, dim, place)
    return fold_axes(gathered, place) if params["tiled"] else gathered, not_mapped


def _all_gather_one_by_one(x: Any, params: dict[str, Any]) -> Any:
    """Gathers over the inner names first: each name adds its axis in front of the inner names' axes."""
    names, place = params["axis_name"], params["all_gather_dimension"]
    for name in reversed(names):
        x = all_gather(x, name, axis=place)
    for _ in range(len(names) - (not params["tiled"])):
        x = fold_axes(x, place)
    return x


def _all_gather_beside(dim: int, params: dict[str, Any]) -> Any:
    """Gathers over another name, with examples along `dim`: (the changed parameters, the result's batch
    dim). all_gather_dimension is an axis of one example's result. The new axis (there is none if tiled)
    may move the batch dim."""
    place = params["all_gather_dimension"]
    if dim <= place:
        return {"all_gather_dimension": place + 1}, dim
    return {}, dim if params["tiled"] else dim + 1


def _all_gather_transpose(ct: Any, *, all_gather_dimension: int, **params: Any) -> Any:
    return reduce_scatter_p.bind(ct, scatter_dimension=all_gather_dimension, **params)


def def_all_gather(primitive: Primitive, transpose: Callable) -> None:
    """Registers the rules of a primitive that gathers; `transpose` is (ct, **params) -> ct of the operand."""
    def_collective(
        primitive,
        _all_gather_aval,
        _all_gather_along,
        _all_gather_beside,
        transpose,
        _all_gather_one_by_one,
    )


def_all_gather(all_gather_p, _all_gather_transpose)


# ---- psum_scatter ----

reduce_scatter_p = Primitive("reduce_scatter", axes="unclear", makes_nan=True)


def psum_scatter(
    x: Any,
    axis_name: Any,
    *,
    scatter_dimension: int = 0,
    axis_index_groups: Groups = None,
    tiled: bool = False,
) -> Any:
    """The part of psum(x, axis_name) that is this example's: psum(x, name)[axis_index(name)].

    Its axis `scatter_dimension` is gone, and must have the size of the named axis; tiled, it stays,
    with each example's share. `x` is a pytree. Raises ValueError where the size does not fit."""
    names, groups = names_of(axis_name), canonical_groups(axis_index_groups)
    params = {
        "axis_name": names,
        "scatter_dimension": scatter_dimension,
        "axis_index_groups": groups,
        "axis_size": group_size(names, groups),
        "tiled": tiled,
    }
    return tree_map(lambda leaf: reduce_scatter_p.bind(leaf, **params), x) if names else x


def _reduce_scatter_aval(
    x: ShapedArray, *, axis_name: Any, scatter_dimension: int, axis_size: int, tiled: bool, **_: Any
) -> ShapedArray:
    check_bound(axis_name)
    shape = list(x.shape)
    size = shape[scatter_dimension]
    _check_scattered(size, axis_size, tiled)
    shape[scatter_dimension : scatter_dimension + 1] = [size // axis_size] if tiled else []
    return x.update(shape=tuple(shape))


def _check_scattered(size: int, axis_size: int, tiled: bool) -> None:
    if tiled and size % axis_size:
        raise ValueError(
            f"tiled reduce_scatter operand scatter dimension size {size} must be divisible by the size "
            f"of the named axis, {axis_size}"
        )
    if not tiled and size != axis_size:
        raise ValueError(
            f"reduce_scatter operand scatter dimension size {size} must match the size of the named "
            f"axis, {axis_size}: or is tiled=True meant?"
        )


def _reduce_scatter_along(x: Any, dim: int | None, axis: AxisData, params: dict[str, Any]) -> Any:
    place, tiled = params["scatter_dimension"], params["tiled"]
    total = x * axis.size if dim is not_mapped else primitives.reduce_sum(x, (dim,))
    _check_scattered(shape_of(total)[place], axis.size, tiled)
    return shapes.split_axis(total, place, axis.size) if tiled else total, place


def _reduce_scatter_one_by_one(x: Any, params: dict[str, Any]) -> Any:
    """The axis is cut for the outer names first, and each cut in turn for the inner ones."""
    names, place = params["axis_name"], params["scatter_dimension"]
    for i, name in enumerate(names):
        if i < len(names) - 1 or params["tiled"]:
            x = shapes.split_axis(x, place, group_size(name, None))
        x = psum_scatter(x, name, scatter_dimension=place)
    return x


def _reduce_scatter_beside(dim: int, params: dict[str, Any]) -> Any:
    place = params["scatter_dimension"]
    if dim <= place:
        return {"scatter_dimension": place + 1}, dim
    return {}, dim if params["tiled"] else dim - 1


def _reduce_scatter_transpose(ct: Any, *, scatter_dimension: int, **params: Any) -> Any:
    return all_gather_p.bind(ct, all_gather_dimension=scatter_dimension, **params)


def_collective(
    reduce_scatter_p,
    _reduce_scatter_aval,
    _reduce_scatter_along,
    _reduce_scatter_beside,
    _reduce_scatter_transpose,
    _reduce_scatter_one_by_one,
)
