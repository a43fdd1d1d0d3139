"""Meshes: devices as an array with named axes, and which axis of an array goes along which of these.

After this file you can read NamedSharding(Mesh(devices, ("i",)), PartitionSpec("i")): axis 0 of the array
lies along axis "i" of the mesh, so each device has one part of it. Programs say so of their arrays, and
libraries ask for it. tinyjax puts an array on one device, or a slice of it on each of several, as pmap
does; it has no arrays that are spread in any other way. Builds on sharding.

Source: https://docs.jax.dev/en/latest/jax.sharding.html
"""

from __future__ import annotations

import enum
import math
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tinyjax.array import ShapedArray
from tinyjax.devices import Device, devices
from tinyjax.sharding import Sharding


class AxisType(enum.Enum):
    """Who decides how arrays lie along an axis of a mesh: the compiler, their types, or the program."""

    Auto = enum.auto()
    Explicit = enum.auto()
    Manual = enum.auto()

    def __repr__(self) -> str:
        return self.name


class PartitionSpec:
    """For each axis of an array, the mesh axis that it lies along: a name, some names, or None.

    What is not said of later axes is None. Also `jax.P`.
    Source: https://docs.jax.dev/en/latest/jax.sharding.html#jax.sharding.PartitionSpec
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

    def __add__(self, other: PartitionSpec) -> PartitionSpec:
        return PartitionSpec(*self, *other)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PartitionSpec) and self.partitions == other.partitions

    def __hash__(self) -> int:
        return hash((PartitionSpec, self.partitions))

    def __repr__(self) -> str:
        return f"P{self.partitions!r}"

    def names(self) -> list[str]:
        """All mesh axes that it names."""
        several = [part if isinstance(part, tuple) else (part,) for part in self.partitions]
        return [name for part in several for name in part if name is not None]


P = PartitionSpec


class AbstractMesh:
    """The sizes and names of a mesh's axes, without its devices."""

    def __init__(
        self,
        axis_sizes: Sequence[int],
        axis_names: Sequence[str],
        axis_types: Sequence[AxisType] | None = None,
    ):
        self.axis_sizes = tuple(axis_sizes)
        self.axis_names = tuple(axis_names)
        self.axis_types = tuple(axis_types or (AxisType.Auto,) * len(self.axis_names))

    @property
    def shape(self) -> OrderedDict[str, int]:
        """{name: size}"""
        return OrderedDict(zip(self.axis_names, self.axis_sizes))

    @property
    def shape_tuple(self) -> tuple[tuple[str, int], ...]:
        return tuple(self.shape.items())

    @property
    def size(self) -> int:
        return math.prod(self.axis_sizes)

    @property
    def empty(self) -> bool:
        return not self.axis_names

    @property
    def are_all_axes_explicit(self) -> bool:
        return not self.empty and set(self.axis_types) == {AxisType.Explicit}

    def _key(self) -> tuple:
        return type(self), self.axis_sizes, self.axis_names, self.axis_types

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbstractMesh) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __str__(self) -> str:
        axes = ", ".join(f"{name!r}: {size}" for name, size in self.shape_tuple) or "()"
        return f"{type(self).__name__}({axes}, axis_types={self.axis_types})"

    __repr__ = __str__


class Mesh(AbstractMesh):
    """An array of devices, whose axes have names.

    Raises ValueError where there are not as many names as axes.
    Source: https://docs.jax.dev/en/latest/jax.sharding.html#jax.sharding.Mesh
    """

    def __init__(
        self,
        devices: Any,
        axis_names: str | Sequence[str],
        axis_types: Sequence[AxisType] | None = None,
    ):
        self.devices = np.array(devices, dtype=object)
        names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
        if self.devices.ndim != len(names):
            raise ValueError(
                f"Mesh takes a name for each axis of its array of devices: that has {self.devices.ndim} "
                f"axes, and axis_names={names} are {len(names)}"
            )
        super().__init__(self.devices.shape, names, axis_types)

    @property
    def abstract_mesh(self) -> AbstractMesh:
        return AbstractMesh(self.axis_sizes, self.axis_names, self.axis_types)

    def _key(self) -> tuple:
        return (*super()._key(), tuple(self.devices.flat))

    def __repr__(self) -> str:
        parts = ("axis_sizes", "axis_names", "axis_types")
        return f"Mesh({', '.join(f'{part}={getattr(self, part)}' for part in parts)})"


def make_mesh(
    axis_shapes: Sequence[int],
    axis_names: Sequence[str],
    axis_types: Sequence[AxisType] | None = None,
    *,
    devices: Sequence[Device] | None = None,
) -> Mesh:
    """A mesh of this shape, of the first of `devices` (by default, of all).

    Raises ValueError if there are too few.
    Source: https://docs.jax.dev/en/latest/_autosummary/jax.make_mesh.html
    """
    there, needed = list(devices or _all_devices()), math.prod(axis_shapes)
    if len(there) < needed:
        raise ValueError(
            f"Number of devices {len(there)} must be >= the product of mesh_shape {tuple(axis_shapes)}: "
            f"set JAX_NUM_CPU_DEVICES={needed} for as many CPU devices"
        )
    grid = np.array(there[:needed], dtype=object).reshape(tuple(axis_shapes))
    return Mesh(grid, axis_names, axis_types or (AxisType.Explicit,) * len(axis_shapes))


_all_devices = devices


class NamedSharding(Sharding):
    """How an array lies on a mesh: along which axes, by a PartitionSpec.

    Raises ValueError for a name that the mesh has not, or that stands twice.
    Source: https://docs.jax.dev/en/latest/jax.sharding.html#jax.sharding.NamedSharding
    """

    def __init__(self, mesh: AbstractMesh, spec: PartitionSpec, *, memory_kind: str | None = None):
        self.mesh, self.spec = mesh, spec
        self.memory_kind = memory_kind or ("device" if isinstance(mesh, Mesh) else None)
        named = spec.names()
        for name in named:
            if name not in mesh.axis_names:
                raise ValueError(
                    f"Resource axis: {name} of {spec} is not found in mesh: {mesh.axis_names}."
                )
            if named.count(name) > 1:
                raise ValueError(
                    f"{spec} names the mesh axis {name!r} twice: one array axis can have it"
                )

    @property
    def device_set(self) -> set[Device]:
        return set(self.mesh.devices.flat)  # type: ignore[attr-defined]

    @property
    def is_fully_replicated(self) -> bool:
        return all(self.mesh.shape[name] == 1 for name in self.spec.names())

    def shard_shape(self, global_shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of one device's part. Raises ValueError where an axis cannot be shared equally."""
        parts = [*self.spec, *[None] * (len(global_shape) - len(self.spec))]
        shares = [math.prod(self.mesh.shape[n] for n in PartitionSpec(p).names()) for p in parts]
        for size, share in zip(global_shape, shares, strict=True):
            if size % share:
                raise ValueError(f"{self}: an axis of size {size} has no {share} equal parts")
        return tuple(size // share for size, share in zip(global_shape, shares))

    def slice_devices(self, shape: tuple[int, ...]) -> tuple[Device, ...] | None:
        """The devices that have a slice of axis 0 each, as pmap's results; None if it is not so."""
        along_first = self.spec.names() == list(self.mesh.axis_names) and self.spec[0] is not None
        if along_first and shape[:1] == (self.mesh.size,):
            return tuple(self.mesh.devices.flat)  # type: ignore[attr-defined]
        return None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamedSharding) and (self.mesh, self.spec, self.memory_kind) == (
            other.mesh,
            other.spec,
            other.memory_kind,
        )

    def __hash__(self) -> int:
        return hash((NamedSharding, self.mesh, self.spec))

    def __repr__(self) -> str:
        kind = f", memory_kind={self.memory_kind}" if self.memory_kind else ""
        return f"NamedSharding(mesh={self.mesh!s}, spec={self.spec}{kind})"


def _sharding_of_type(aval: ShapedArray) -> NamedSharding:
    """What the type of an array says of its place: nothing, along no axis."""
    return NamedSharding(AbstractMesh((), ()), PartitionSpec(*(None,) * aval.ndim))


ShapedArray.sharding = property(_sharding_of_type)  # type: ignore[attr-defined]
