"""in_axes and out_axes, checked: which axis of each argument is mapped, and how large all of them are.

After this file you can read what vmap and pmap say of axes that do not fit. Builds on trees.

Source: https://docs.jax.dev/en/latest/_autosummary/jax.vmap.html
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tinyjax.core.array import ShapedArray
from tinyjax.core.avals import get_aval
from tinyjax.core.bind import check_operands
from tinyjax.core.primitives import shape_of
from tinyjax.core.tree_util.prefixes import flatten_axes


def flat_out_axes(transformation: str, out_tree: Any, out_axes: Any) -> list[int | None]:
    """out_axes with an entry a result. Raises TypeError for what is neither an int nor None."""
    dims = flatten_axes(f"{transformation} out_axes", out_tree, out_axes)
    if not all([dim is None or type(dim) is int for dim in dims]):
        raise TypeError(
            f"{transformation} out_axes must be an int, None, or (nested) container with those types as "
            f"leaves, but got {out_axes}."
        )
    return dims


Names = Callable[[], list[str]]  # the arguments' names, a leaf each: errors alone look them up


def checked_dims(
    leaves: Sequence[Any], dims: Sequence[Any], names: Names, transformation: str
) -> list[int | None]:
    """The axis to map of each leaf, as a non-negative int, or None; `transformation` is vmap or pmap.

    Raises TypeError for what is no axis, ValueError for one that is out of range."""
    checked = [
        checked_dim(i, x, d, names, transformation) for i, (x, d) in enumerate(zip(leaves, dims))
    ]
    for check in check_operands:
        check(transformation, [x for x, dim in zip(leaves, checked) if dim is not None])
    return checked


def checked_dim(number: int, x: Any, dim: Any, names: Names, transformation: str) -> int | None:
    if dim is None:
        return None
    if not isinstance(dim, (int, np.integer)) or isinstance(dim, bool):
        raise TypeError(
            f"{transformation} in_axes must be ints or None, got {dim!r} for argument "
            f"{names()[number]}"
        )
    ndim = get_aval(x).ndim
    if not -ndim <= dim < ndim:
        needed = dim + 1 if dim >= 0 else -dim
        raise ValueError(
            f"{transformation} was requested to map its argument along axis {dim}, which implies that "
            f"its rank should be at least {needed}, but is only {ndim} (its shape is "
            f"{shape_of(x)}; the argument is {names()[number]})"
        )
    return int(dim) % ndim


def checked_out_dim(out_dim: int, ndim: int) -> int:
    """The axis of a result, of `ndim` axes, that is the batch's, as a non-negative int."""
    if not -ndim <= out_dim < ndim:
        raise ValueError(f"vmap out_axes {out_dim} is out of range for a result of rank {ndim}")
    return out_dim % ndim


def mapped_size(
    leaves: Sequence[Any],
    dims: Sequence[int | None],
    names: Names,
    axis_size: int | None,
    transformation: str,
) -> int:
    """The size that all mapped axes have. Raises ValueError if there is none, or more than one."""
    sizes = [shape_of(x)[d] for x, d in zip(leaves, dims) if d is not None]
    if axis_size is not None:
        sizes.append(axis_size)
    if not sizes:
        raise ValueError(
            f"{transformation} must have at least one non-None value in in_axes, or axis_size: it maps "
            "no argument"
        )
    if len(set(sizes)) > 1:
        by_size: dict[int, list[str]] = {} if axis_size is None else {axis_size: ["axis_size"]}
        for x, dim, name in zip(leaves, dims, names()):
            if dim is not None:
                text = f"axis {dim} of argument {name} of type {get_aval(x).str_short()}"
                by_size.setdefault(shape_of(x)[dim], []).append(text)
        listed = "\n".join(f"  * size {n}: {_some(texts)}" for n, texts in by_size.items())
        raise ValueError(
            f"{transformation} got inconsistent sizes for array axes to be mapped:\n{listed}\nAll mapped "
            "axes need one size: use in_axes=None for an argument that all examples share"
        )
    return sizes[0]


def _some(texts: Sequence[str]) -> str:
    """The first of them, and how many more there are."""
    more = f", and {len(texts) - 3} more" if len(texts) > 3 else ""
    return ", ".join(texts[:3]) + more


# ---- a mapped axis that a mesh has split ----


class OnMesh(NamedTuple):
    """How the devices of a mesh share a mapped axis. `split`: a sharding of this one axis, as types say it
    (None: they say nothing). `names`: the mesh axes of spmd_axis_name. `varying`: those of them that a
    shard_map has split it over, and that it varies over within."""

    split: Any = None
    names: tuple[Hashable, ...] = ()
    varying: frozenset[Hashable] = frozenset()


def on_mesh(leaves: Sequence[Any], dims: Sequence[int | None], spmd_axis_name: Any) -> OnMesh:
    """What the types of the mapped leaves and vmap's spmd_axis_name (None, a name, or a tuple of names) say.

    Raises ValueError if the leaves are not split alike, or spmd_axis_name says something else."""
    names = _names(spmd_axis_name)
    shardings = [(get_aval(x)._sharding, d) for x, d in zip(leaves, dims) if d is not None]
    splits = [None if sharding is None else sharding.spec[d] for sharding, d in shardings]
    for split in splits:
        if split != splits[0]:
            raise ValueError(
                "Mapped away dimension of inputs passed to vmap should be sharded the same: one is split "
                f"over {splits[0]}, another over {split}. Reshard one of them, as in "
                "jax.sharding.reshard(x, P(...))"
            )
    if not splits or splits[0] is None:
        return OnMesh(names=names)
    if names and names != _names(splits[0]):
        raise ValueError(
            f"Only one of spmd_axis_name={spmd_axis_name!r} and arrays that are split over Explicit axes "
            f"of a mesh, here {splits[0]!r}, can say how the mapped axis is split: leave spmd_axis_name out"
        )
    sharding, dim = shardings[0]
    return OnMesh(sharding.with_axes([dim]), names)


def _names(axes: Any) -> tuple[Hashable, ...]:
    if isinstance(axes, tuple):
        return axes
    return () if axes is None else (axes,)


def batch_aval(aval: ShapedArray, size: int, mesh: OnMesh, dim: int | None) -> ShapedArray:
    """The aval of a batch of such arrays, along its axis `dim`, which a mesh may have split."""
    if dim is None:
        return aval
    batch = aval.with_axis(dim, size).update(vma=aval.vma | mesh.varying)
    if mesh.split is None:
        return batch
    sharding = aval._sharding or mesh.split.whole_everywhere
    return sharding.with_axis(dim, mesh.split.spec[0]).typed(batch)
