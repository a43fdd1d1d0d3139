"""NamedSharding: a mesh, and for each axis of an array the mesh axes that it is split over.

An axis that is split over mesh axes of sizes 4 and 2 has eight parts. A device's coordinates along those mesh
axes, the first one most significant, are the number of its part. Devices that differ only along other axes
have the same part: they are replicas.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinyjax.core.array import ShapedArray
from tinyjax.core.avals import get_aval
from tinyjax.core.missing_names import add_lazy_attributes
from tinyjax.many_devices.sharding.mesh import AbstractMesh, Mesh
from tinyjax.many_devices.sharding.partition_spec import PartitionSpec, names_at, names_of
from tinyjax.many_devices.sharding.sharding import Index, IndivisibleError, Sharding
from tinyjax.runtime.devices import Device

MEMORY_KINDS = ("device", "pinned_host", "unpinned_host")


class DuplicateSpecError(Exception):
    """A mesh axis is named twice: two axes of an array can't both be split over it."""


class NamedSharding(Sharding):
    """An array's sharding over a mesh's axes, by a PartitionSpec.

    Raises ValueError for an axis that the mesh lacks, DuplicateSpecError for one named twice."""

    explicit_type: Any  # aval -> aval

    def __init__(self, mesh: Any, spec: PartitionSpec, *, memory_kind: str | None = None):
        if not isinstance(mesh, Mesh | AbstractMesh):
            raise TypeError(f"NamedSharding takes a Mesh, as jax.make_mesh gives, got {mesh!r}")
        if not isinstance(spec, PartitionSpec):
            raise TypeError(
                f"NamedSharding takes a PartitionSpec, such as jax.P('x', None), got {spec!r}"
            )
        self.mesh: Any = mesh
        self.spec = spec
        _check_spec(mesh, spec)
        if memory_kind not in (None, *MEMORY_KINDS):
            raise ValueError(
                "Could not find memory addressable by device cpu. Device cpu can address the following "
                f"memory kinds: {', '.join(MEMORY_KINDS)}. Got memory kind: {memory_kind}"
            )
        self.memory_kind = memory_kind or ("device" if isinstance(mesh, Mesh) else None)
        self._hash = hash((mesh, spec))

    def update(self, **changes: Any) -> NamedSharding:
        """A copy with another mesh, spec or memory_kind."""
        fields = {"mesh": self.mesh, "spec": self.spec, "memory_kind": self.memory_kind}
        return NamedSharding(**(fields | changes))

    def with_memory_kind(self, kind: str) -> NamedSharding:
        return self.update(memory_kind=kind)

    def without_axis(self, axis: int) -> NamedSharding:
        return self.update(spec=self.spec.without_axis(axis))

    def with_axis(self, axis: int, split: Any = None) -> NamedSharding:
        return self.update(spec=self.spec.with_axis(axis, split))

    def with_axes(self, axes: Sequence[int]) -> NamedSharding:
        return self.update(spec=self.spec.with_axes(axes))

    def batched(self, vals: Sequence[Any], dims: Sequence[Any], out_dim: int) -> NamedSharding:
        """The sharding of a batch of results that each have this sharding: the batch dim is split like the
        operands'."""
        shardings = [(get_aval(x)._sharding, d) for x, d in zip(vals, dims) if d is not None]
        split = [s.spec[d] for s, d in shardings if s is not None and s.spec[d] is not None]
        return self.with_axis(out_dim, split[0] if split else None)

    # ---- the mesh's devices ----

    @property
    def devices_in_order(self) -> tuple[Device, ...]:
        if not isinstance(self.mesh, Mesh):
            raise ValueError(
                f"{self} has no devices, as its mesh is a `jax.sharding.AbstractMesh`: take a Mesh, as "
                "jax.make_mesh gives"
            )
        return self.mesh.flat_devices

    @property
    def is_fully_addressable(self) -> bool:
        if not self.has_devices:
            raise ValueError(
                "is_fully_addressable is not implemented for `jax.sharding.AbstractMesh`."
            )
        return super().is_fully_addressable

    @property
    def has_devices(self) -> bool:
        return isinstance(self.mesh, Mesh)

    # ---- what becomes of it (more at the end of this file) ----

    def typed(self, aval: ShapedArray) -> ShapedArray:
        """The type with the splits over Explicit axes."""
        return self.explicit_type(aval) if self.mesh.explicit_axes else aval.update(sharding=None)

    @property
    def replicated(self) -> NamedSharding:
        return self.update(spec=PartitionSpec())

    # ---- what each device has ----

    def parts(self, ndim: int) -> tuple[int, ...]:
        """The number of parts of each axis of an array."""
        sizes = self.mesh.shape
        counts = [math.prod(sizes[name] for name in names_of(entry)) for entry in self.spec]
        return (*counts, *(1,) * (ndim - len(counts)))

    def check_compatible_aval(self, aval_shape: Sequence[int]) -> None:
        if len(aval_shape) < len(self.spec):
            extra = " For scalars the PartitionSpec should be P()" if not aval_shape else ""
            raise ValueError(
                f"Sharding {self} is only valid for values of rank at least {len(self.spec)}, but was "
                f"applied to a value of rank {len(aval_shape)}.{extra}"
            )

    def shard_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        self.check_compatible_aval(global_shape)
        counts = self.parts(len(global_shape))
        for axis, (size, count) in enumerate(zip(global_shape, counts)):
            if size % count:
                raise IndivisibleError(
                    f"{self} implies that array axis {axis} is partitioned {count} times, but the "
                    f"dimension size is {size} (full shape: {tuple(global_shape)}, per-dimension tiling "
                    f"factors: {counts} should evenly divide the shape)"
                )
        return tuple(size // count for size, count in zip(global_shape, counts))

    def devices_indices_map(self, global_shape: Sequence[int]) -> dict[Device, Index]:
        shape = self.shard_shape(global_shape)
        counts = self.parts(len(shape))

        def index(place: dict[Any, int]) -> Index:
            numbers = self._part_numbers(place, len(shape))
            return tuple(
                slice(n * size, (n + 1) * size) if count > 1 else slice(None)
                for n, size, count in zip(numbers, shape, counts)
            )

        names, sizes = self.mesh.axis_names, self.mesh.axis_sizes
        places = [dict(zip(names, coordinates)) for coordinates in np.ndindex(*sizes)]
        return {device: index(place) for device, place in zip(self.devices_in_order, places)}

    def _part_numbers(self, place: dict[Any, int], ndim: int) -> list[int]:
        """The part number on each axis for the device at `place` in the mesh."""
        sizes, numbers = self.mesh.shape, []
        for axis in range(ndim):
            number = 0
            for name in names_at(self.spec, axis):
                number = number * sizes[name] + place[name]
            numbers.append(number)
        return numbers

    @property
    def is_fully_replicated(self) -> bool:
        return all(count == 1 for count in self.parts(0))

    def parts_in_order(self, ndim: int) -> tuple[Index, ...] | None:
        if self.is_fully_replicated:
            return None
        return tuple(self.devices_indices_map(self.parts(ndim)).values())

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, NamedSharding)
            and self._hash == other._hash
            and (self.mesh, self.spec, self.memory_kind)
            == (other.mesh, other.spec, other.memory_kind)
        )

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        kind = "" if self.memory_kind is None else f", memory_kind={self.memory_kind}"
        return f"NamedSharding(mesh={self.mesh!s}, spec={self.spec}{kind})"


def _check_spec(mesh: Any, spec: PartitionSpec) -> None:
    for name in (*spec.names, *spec.unreduced, *spec.reduced):
        if name not in mesh.axis_names:
            raise ValueError(
                f"Resource axis: {name} of {spec} is not found in mesh: {mesh.axis_names}."
            )
        if spec.names.count(name) > 1:
            raise DuplicateSpecError(
                "A single NamedSharding spec specification can map every mesh axis to at most one positional "
                f"dimension, but {spec} has duplicate entries for `{name}`"
            )


def whole_spec(spec: PartitionSpec, ndim: int) -> PartitionSpec:
    """The spec with an entry for each of an array's axes, None for omitted ones."""
    return spec.update(partitions=(*spec.partitions, *(None,) * (ndim - len(spec))))


# Computes the shardings of results; imported on first use.
LAZY_METHODS = {
    "many_devices.sharding.auto": ("label_results", "of_results"),
    "many_devices.sharding.types": ("explicit_type", "result_types"),
}
add_lazy_attributes({NamedSharding: LAZY_METHODS})
_replicated = functools.cached_property(lambda mesh: NamedSharding(mesh, PartitionSpec()))
_replicated.__set_name__(Mesh, "replicated")
Mesh.replicated = _replicated  # type: ignore[attr-defined]
