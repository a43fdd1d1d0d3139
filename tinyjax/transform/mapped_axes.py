"""Checks of in_axes and out_axes: which axis of each argument is mapped, and the common size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from tinyjax.core.array import ShapedArray
from tinyjax.core.avals import get_aval
from tinyjax.core.bind import check_values
from tinyjax.core.debug_info import DebugInfo
from tinyjax.core.primitives import shape_of
from tinyjax.core.tree_util.prefixes import flatten_axes


def flat_out_axes(transformation: str, out_tree: Any, out_axes: Any) -> list[int | None]:
    """out_axes with an entry for each result. Raises TypeError for entries that are neither an int nor
    None."""
    dims = flatten_axes(f"{transformation} out_axes", out_tree, out_axes)
    if not all([dim is None or type(dim) is int for dim in dims]):
        raise TypeError(
            f"{transformation} out_axes must be an int, None, or (nested) container with those types as "
            f"leaves, but got {out_axes}."
        )
    return dims


def checked_dims(
    leaves: Sequence[Any], dims: Sequence[Any], info: DebugInfo, transformation: str
) -> list[int | None]:
    """The axis to map of each leaf, as a non-negative int, or None; `transformation` is vmap or pmap.

    Raises TypeError for an entry that is no axis, ValueError for an axis out of range."""
    checked = [
        checked_dim(i, x, d, info, transformation) for i, (x, d) in enumerate(zip(leaves, dims))
    ]
    for check in check_values:
        check(transformation, [x for x, dim in zip(leaves, checked) if dim is not None])
    return checked


def checked_dim(number: int, x: Any, dim: Any, info: DebugInfo, transformation: str) -> int | None:
    if dim is None:
        return None
    if not isinstance(dim, (int, np.integer)) or isinstance(dim, bool):
        raise TypeError(
            f"{transformation} in_axes must be ints or None, got {dim!r} for argument "
            f"{info.arg_names[number]}"
        )
    ndim = get_aval(x).ndim
    if not -ndim <= dim < ndim:
        needed = dim + 1 if dim >= 0 else -dim
        raise ValueError(
            f"{transformation} was requested to map its argument along axis {dim}, which implies that "
            f"its rank should be at least {needed}, but is only {ndim} (its shape is "
            f"{shape_of(x)}; the argument is {info.arg_names[number]})"
        )
    return int(dim) % ndim


def checked_out_dim(out_dim: int, ndim: int) -> int:
    """The batch axis of a result with `ndim` axes, as a non-negative int."""
    if not -ndim <= out_dim < ndim:
        raise ValueError(f"vmap out_axes {out_dim} is out of range for a result of rank {ndim}")
    return out_dim % ndim


def mapped_size(
    leaves: Sequence[Any],
    dims: Sequence[int | None],
    info: DebugInfo,
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
        for x, dim, name in zip(leaves, dims, info.arg_names):
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
    """The first few, and the number of the rest."""
    more = f", and {len(texts) - 3} more" if len(texts) > 3 else ""
    return ", ".join(texts[:3]) + more


# ---- features' additions to a mapped axis ----


class AxisExtra(Protocol):
    """A feature's addition to an axis that vmap maps over, besides its name and size."""

    def batch_aval(self, batch: ShapedArray, dim: int) -> ShapedArray:
        """The aval of a batch along the axis `dim`, with this addition."""

    def whole_size(self, size: int) -> int:
        """The size that functions see, if the axis has `size` examples here."""


def axis_extra(leaves: Sequence[Any], dims: Sequence[int | None], name: Any) -> AxisExtra | None:
    """The AxisExtra that the types of the mapped leaves imply; `name` is vmap's spmd_axis_name."""
    for x, dim in zip(leaves, dims):
        if dim is not None and (extra := get_aval(x).extra) is not None:
            return extra.of_mapped_axis(leaves, dims, name)
    return None


def batch_aval(
    aval: ShapedArray, size: int, extra: AxisExtra | None, dim: int | None
) -> ShapedArray:
    """The aval of a batch of such arrays along axis `dim`, under the named axes bound here."""
    if dim is not None:
        aval = aval.with_axis(dim, size)
        aval = aval if extra is None else extra.batch_aval(aval, dim)
    return aval if aval.extra is None else aval.update(extra=aval.extra.here())
