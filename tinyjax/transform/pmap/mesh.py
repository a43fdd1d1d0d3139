"""Names of places that libraries speak of: which axis of an array lies along which axis of a mesh.

After this file you can read NamedSharding(Mesh(devices, ("i",)), PartitionSpec("i")): axis 0 of the array
lies along axis "i" of the mesh, so each device has one part of it. tinyjax puts an array on one device, or
a slice of it on each of several, as pmap does; arrays are spread in no other way. Builds on sharding.

Source: https://docs.jax.dev/en/latest/jax.sharding.html
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tinyjax.runtime.devices import Device
from tinyjax.transform.pmap.sharding import Sharding


class PartitionSpec:
    """For each axis of an array, the mesh axis that it lies along: a name, some names, or None.

    Also `jax.P`. Source: https://docs.jax.dev/en/latest/jax.sharding.html#jax.sharding.PartitionSpec
    """

    __slots__ = ("partitions",)

    def __init__(self, *partitions: Any):
        self.partitions = partitions

    def __iter__(self) -> Iterator[Any]:
        return iter(self.partitions)

    def __len__(self) -> int:
        return len(self.partitions)

    def __getitem__(self, index: Any) -> Any:
        return self.partitions[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PartitionSpec) and self.partitions == other.partitions

    def __hash__(self) -> int:
        return hash((PartitionSpec, self.partitions))

    def __repr__(self) -> str:
        return f"P{self.partitions!r}"


P = PartitionSpec


class AbstractMesh:
    """The sizes and names of a mesh's axes, without its devices."""

    are_all_axes_explicit = False  # types of arrays say nothing of their places

    def __init__(self, axis_sizes: Sequence[int], axis_names: Sequence[str]):
        self.axis_sizes, self.axis_names = tuple(axis_sizes), tuple(axis_names)

    def __repr__(self) -> str:
        axes = ", ".join(f"{n!r}: {size}" for n, size in zip(self.axis_names, self.axis_sizes))
        types = f"({'Auto,' * len(self.axis_names)})"
        return f"{type(self).__name__}({axes or '()'}, axis_types={types})"


class Mesh(AbstractMesh):
    """An array of devices, whose axes have names.

    Source: https://docs.jax.dev/en/latest/jax.sharding.html#jax.sharding.Mesh
    """

    def __init__(self, devices: Any, axis_names: str | Sequence[str]):
        self.devices = np.array(devices, dtype=object)
        names = (axis_names,) if isinstance(axis_names, str) else axis_names
        super().__init__(self.devices.shape, names)


class NamedSharding(Sharding):
    """How an array lies on a mesh: along which axes, by a PartitionSpec.

    Source: https://docs.jax.dev/en/latest/jax.sharding.html#jax.sharding.NamedSharding
    """

    def __init__(self, mesh: AbstractMesh, spec: PartitionSpec):
        self.mesh, self.spec = mesh, spec

    def update(
        self, mesh: AbstractMesh | None = None, spec: PartitionSpec | None = None
    ) -> NamedSharding:
        """A copy with another mesh, spec, or both."""
        return NamedSharding(mesh or self.mesh, self.spec if spec is None else spec)

    @property
    def device_set(self) -> set[Device]:
        return set(self.mesh.devices.flat) if isinstance(self.mesh, Mesh) else set()

    def devices_of_slices(self, shape: Sequence[int]) -> tuple[Device, ...] | None:
        if self.spec.partitions[:1] == self.mesh.axis_names and shape[:1] == self.mesh.axis_sizes:
            return tuple(self.mesh.devices.flat)  # type: ignore[attr-defined]
        return None

    def __repr__(self) -> str:
        kind = ", memory_kind=device" if isinstance(self.mesh, Mesh) else ""
        return f"NamedSharding(mesh={self.mesh}, spec={self.spec}{kind})"
