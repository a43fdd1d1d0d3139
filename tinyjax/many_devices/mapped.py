"""vmap of arrays on a mesh: how the devices share a mapped axis.

The types of mapped arrays may split the axis over explicit mesh axes. If they don't, vmap's spmd_axis_name
names the axes over which with_sharding_constraint and shard_map split it within the function.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

from tinyjax.core.array import ShapedArray
from tinyjax.core.avals import get_aval
from tinyjax.transform.batching import AxisData


class MappedAxis(NamedTuple):
    """The `extra` of vmap's AxisData. `split`: the sharding of this axis in the types (None: not in the
    types). `varying`: the mesh axes over which a shard_map has split it, and over which it varies within. If
    several processes, or devices of one process, each have a part, `ranks` lists them in order, and `place`
    is ours."""

    split: Any = None
    varying: frozenset[Hashable] = frozenset()
    ranks: tuple[Any, ...] = ()
    place: int = 0

    def whole_size(self, size: int) -> int:
        return size * max(1, len(self.ranks))

    def batch_aval(self, batch: ShapedArray, dim: int) -> ShapedArray:
        batch = batch.update(vma=batch.vma | self.varying)
        if self.split is None:
            return batch
        if batch._sharding is None:
            sharding = self.split.replicated.with_axis(dim, self.split.spec[0])
        else:
            sharding = batch._sharding.without_axis(dim).with_axis(dim, self.split.spec[0])
        return sharding.typed(batch)


def axis_in_parts(name: Hashable, size: int, ranks: tuple[Any, ...], place: int) -> AxisData:
    """An axis of devices, of which each of `ranks` has a part of this size; without ranks, the whole is
    here."""
    return AxisData(name, size, True, extra=MappedAxis(ranks=ranks, place=place) if ranks else None)


def mapped_axis(
    leaves: Sequence[Any], dims: Sequence[int | None], spmd_axis_name: Any
) -> MappedAxis | None:
    """The MappedAxis that the leaves' types imply; `spmd_axis_name` is None, a name, or a tuple of names.

    Raises ValueError if the leaves are split differently, or if spmd_axis_name contradicts them."""
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
        return None
    names = axes_of(spmd_axis_name)
    if names and names != axes_of(splits[0]):
        raise ValueError(
            f"Only one of spmd_axis_name={spmd_axis_name!r} and arrays that are split over Explicit axes "
            f"of a mesh, here {splits[0]!r}, can say how the mapped axis is split: leave spmd_axis_name out"
        )
    sharding, dim = shardings[0]
    return MappedAxis(sharding.with_axes([dim]))


def axes_of(spmd_axis_name: Any) -> tuple[Hashable, ...]:
    """The mesh axes that vmap's spmd_axis_name names."""
    if isinstance(spmd_axis_name, tuple):
        return spmd_axis_name
    return () if spmd_axis_name is None else (spmd_axis_name,)
