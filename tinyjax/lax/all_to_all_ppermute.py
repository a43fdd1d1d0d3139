"""Collectives that exchange data along a named axis: all_to_all, ppermute, pbroadcast.

When vmap removes the name, they become a transpose that swaps the mapped axis with one of the array, or a
reordering of the examples.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tinyjax.core import primitives
from tinyjax.core.array import ShapedArray
from tinyjax.core.bind import Primitive, as_array, in_order
from tinyjax.core.facts import MOVES
from tinyjax.core.primitives import shape_of
from tinyjax.core.tree_util import tree_map
from tinyjax.lax import shape as shapes
from tinyjax.lax.all_gather import all_gather
from tinyjax.lax.comparison import eq
from tinyjax.lax.creation import full_like
from tinyjax.lax.parallel import (
    Groups,
    axis_index,
    canonical_groups,
    check_bound,
    def_collective,
    fold_axes,
    group_size,
    names_of,
    psum,
)
from tinyjax.lax.selection import select
from tinyjax.transform.batching import AxisData, moveaxis, not_mapped

# ---- all_to_all ----

all_to_all_p = Primitive("all_to_all", axes="unclear", **MOVES)


def all_to_all(
    x: Any,
    axis_name: Any,
    split_axis: int,
    concat_axis: int,
    *,
    axis_index_groups: Groups = None,
    tiled: bool = False,
) -> Any:
    """Maps axis `split_axis` of `x`, and makes the mapped axis its axis `concat_axis`.

    The two have one size; tiled, split_axis is cut into as many parts as the named axis is long, and
    they are put together along concat_axis. `x` is a pytree. Raises ValueError for other sizes."""
    groups = canonical_groups(axis_index_groups)
    size = group_size(axis_name, groups)

    def of_leaf(leaf: Any) -> Any:
        split, concat = split_axis, concat_axis
        split_size = shape_of(leaf)[split]
        if tiled and split_size % size:
            raise ValueError(
                f"The size of all_to_all split_axis ({split_size}) has to be divisible by the size of "
                f"the named axis {axis_name} ({size})"
            )
        if not tiled and split_size != size:
            raise ValueError(
                f"all_to_all requires the size of the named axis {axis_name} to equal "
                f"x.shape[split_axis], but they are {size} and {split_size}: or is tiled=True meant?"
            )
        grows = not tiled and split != concat
        if grows:  # a new axis of size 1, to concatenate along
            concat += split < concat
            leaf = shapes.expand_dims(leaf, (concat,))
            split += concat <= split
        out = all_to_all_p.bind(
            leaf,
            split_axis=split,
            concat_axis=concat,
            axis_name=axis_name,
            axis_index_groups=groups,
            tiled=tiled,
        )
        return shapes.squeeze(out, (split,)) if grows else out

    return tree_map(of_leaf, x)


def pswapaxes(x: Any, axis_name: Any, axis: int, *, axis_index_groups: Groups = None) -> Any:
    """Swaps a named axis with axis `axis` of `x`, a pytree, which has its size."""
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)


def _all_to_all_aval(
    x: ShapedArray,
    *,
    axis_name: Any,
    split_axis: int,
    concat_axis: int,
    axis_index_groups: Any,
    **_: Any,
) -> ShapedArray:
    size = group_size(axis_name, axis_index_groups)
    shape = list(x.shape)
    shape[split_axis] //= size
    shape[concat_axis] *= size
    return ShapedArray(tuple(shape), x.dtype)


def _all_to_all_along(x: Any, dim: int | None, axis: AxisData, params: dict[str, Any]) -> Any:
    split, concat, size = params["split_axis"], params["concat_axis"], axis.size
    if dim is not_mapped:
        x, dim = shapes.broadcast(x, (size,)), 0
    if split != concat:
        joined = fold_axes(moveaxis(x, dim, concat), concat)
        return shapes.split_axis(joined, split, size), split
    place = split + (dim <= split)  # of the split axis, counted with the batch dim
    x = shapes.split_axis(x, place, size)
    mapped = dim + (place <= dim)
    permutation = list(range(len(shape_of(x))))
    permutation[mapped], permutation[place] = place, mapped
    return fold_axes(primitives.transpose(x, permutation), place), dim


def _all_to_all_among(x: Any, dim: int | None, axis: AxisData, params: dict[str, Any]) -> Any:
    """One exchange after the other, over the outer names, ours and the inner names. Their results are
    collected along three new leading axes, which at the end become one part of the concatenated axis."""
    names, split, concat = (
        names_of(params["axis_name"]),
        params["split_axis"],
        params["concat_axis"],
    )
    outer, inner = names[: names.index(axis.name)], names[names.index(axis.name) + 1 :]
    x = shapes.broadcast(x, (axis.size,)) if dim is not_mapped else moveaxis(x, dim, 0)
    x = shapes.expand_dims(x, (0, 2))  # outer, ours, inner, ...
    split, concat = split + 3, concat + 3
    if outer:
        changed = {"axis_name": outer, "split_axis": split, "concat_axis": 0}
        x = all_to_all_p.bind(x, **(params | changed))
    x, out_dim = shapes.split_axis(x, split, axis.size), split
    concat += split <= concat
    if inner:
        changed = {"axis_name": inner, "split_axis": split + 1, "concat_axis": 2}
        x = all_to_all_p.bind(x, **(params | changed))
    x = fold_axes(fold_axes(x, 0), 0)  # the three axes as one
    return fold_axes(moveaxis(x, 0, concat - 3), concat - 3), out_dim - 3


def _all_to_all_beside(dim: int, params: dict[str, Any]) -> Any:
    return {
        name: params[name] + (dim <= params[name]) for name in ("split_axis", "concat_axis")
    }, dim


def _all_to_all_transpose(
    ct: Any, *, axis_name: Any, split_axis: int, concat_axis: int, **params: Any
) -> Any:
    return all_to_all(ct, axis_name, concat_axis, split_axis, **params)


def_collective(
    all_to_all_p,
    _all_to_all_aval,
    _all_to_all_along,
    _all_to_all_beside,
    _all_to_all_transpose,
    among=_all_to_all_among,
)


# ---- ppermute and pbroadcast ----

ppermute_p = Primitive("ppermute", axes="each operand", **MOVES)
pbroadcast_p = Primitive("pbroadcast", axes="each operand", **MOVES)


def ppermute(x: Any, axis_name: Any, perm: Sequence[tuple[int, int]]) -> Any:
    """Sends `x`, a pytree, from example to example: `perm` has pairs (source, destination).

    Raises AssertionError unless there are as many pairs as examples."""
    names, pairs = names_of(axis_name), tuple(map(tuple, perm))
    return tree_map(lambda leaf: ppermute_p.bind(leaf, axis_name=names, perm=pairs), x)


def pshuffle(x: Any, axis_name: Any, perm: Sequence[int]) -> Any:
    """Like ppermute, but example i gets the value of example `perm[i]`.

    Raises ValueError if `perm` is no permutation."""
    if sorted(perm) != list(range(len(perm))):
        raise ValueError(f"`perm` does not represent a permutation: {perm}")
    return ppermute(x, axis_name, list(zip(perm, range(len(perm)))))


def pbroadcast(x: Any, axis_name: Any, source: int) -> Any:
    """The `x`, a pytree, of example `source`, for all examples."""
    return tree_map(lambda leaf: pbroadcast_p.bind(leaf, axis_name=axis_name, source=source), x)


def _same_aval(x: ShapedArray, *, axis_name: Any, **params: Any) -> ShapedArray:
    check_bound(names_of(axis_name))
    return x


def _ppermute_along(x: Any, dim: int | None, axis: AxisData, params: dict[str, Any]) -> Any:
    _check_perm(params["perm"], axis)
    if axis.of_devices:
        return _ppermute_devices(x, dim, axis.size, params["perm"])
    if len(params["perm"]) != axis.size:
        raise AssertionError(
            f"ppermute under vmap takes a pair for each index of the axis: got {len(params['perm'])} "
            f"pairs for size {axis.size}"
        )
    source_of = np.zeros(axis.size, int)
    for source, destination in params["perm"]:
        source_of[destination] = source
    return x if dim is not_mapped else x.take(source_of, dim), dim


def _check_perm(perm: Sequence[tuple[int, int]], axis: AxisData) -> None:
    """Raises IndexError for an index out of range, and ValueError for a device that sends or receives
    twice."""
    if not all(0 <= i < axis.size for pair in perm for i in pair):
        raise IndexError(
            f"ppermute's pairs (source, destination) must be indices of an axis of size {axis.size}, got "
            f"{tuple(perm)}"
        )
    if axis.of_devices and any(len(set(indices)) < len(perm) for indices in zip(*perm)):
        raise ValueError(f"ppermute sources and destinations must be unique, got {tuple(perm)}")


def _ppermute_devices(
    x: Any, dim: int | None, size: int, perm: Sequence[tuple[int, int]]
) -> tuple[Any, int]:
    """A device that receives nothing gets zeros."""
    if dim is not_mapped:
        x, dim = shapes.broadcast(x, (size,)), 0
    source_of = np.full(size, size)
    for source, destination in perm:
        source_of[destination] = source
    return x.take(source_of, dim, mode="fill", fill_value=0), dim


def _pbroadcast_along(x: Any, dim: int | None, axis: AxisData, params: dict[str, Any]) -> Any:
    if not 0 <= params["source"] < axis.size:
        raise AssertionError(
            f"pbroadcast's source {params['source']} is no index of an axis of size {axis.size}"
        )
    return x if dim is not_mapped else x.take(np.full(axis.size, params["source"]), dim), dim


def _ppermute_one_by_one(x: Any, params: dict[str, Any]) -> Any:
    """Each example takes one of all examples' values.

    Raises RuntimeError if the names aren't in the order of the axes around us: as in JAX."""
    names, perm = params["axis_name"], params["perm"]
    if tuple(names) != in_order(names):
        raise RuntimeError(
            "Make sure that the axis_name passed to jax.lax.ppermute is in the order of the axes around it: "
            f"{in_order(names)}, got {names}"
        )
    _check_perm(perm, AxisData(names, group_size(names, None), of_devices=True))
    source_of = np.full(group_size(names, None), -1)
    for source, destination in perm:
        source_of[destination] = source
    index = as_array(source_of)[axis_index(names)]
    taken = all_gather(x, names)[index]
    return select(index < 0, full_like(taken, 0), taken)


def _pbroadcast_transpose(ct: Any, *, axis_name: Any, source: int) -> Any:
    is_source = eq(axis_index(axis_name), source)
    return select(is_source, full_like(ct, psum(ct, axis_name)), full_like(ct, 0))


def _nothing_moves(dim: int, params: dict[str, Any]) -> Any:
    return {}, dim


def_collective(
    ppermute_p,
    _same_aval,
    _ppermute_along,
    _nothing_moves,
    lambda ct, *, axis_name, perm: ppermute(ct, axis_name, [(to, at) for at, to in perm]),
    _ppermute_one_by_one,
)
def_collective(
    pbroadcast_p,
    _same_aval,
    _pbroadcast_along,
    _nothing_moves,
    _pbroadcast_transpose,
    lambda x, params: all_gather(x, params["axis_name"])[params["source"]],
)
