"""A mesh: a grid of devices with named axes.

`jax.make_mesh((4, 2), ("x", "y"))` has eight devices, four along "x" and two along "y". The type of an axis
determines how arrays are split along it: by the compiler ("Auto", the default of Mesh(devices, names)), by
the types of arrays, which are checked while a function is traced ("Explicit", the default of make_mesh), or
by the program itself, which computes with parts ("Manual", within shard_map). An AbstractMesh is a mesh
without its devices, for types of arrays. Its axes are "Explicit" by default.
"""

from __future__ import annotations

import enum
import functools
import math
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tinyjax.core.config import Config, config
from tinyjax.core.missing_names import add_lazy_attributes
from tinyjax.many_devices.distributed.processes import process_index
from tinyjax.runtime.devices import Device
from tinyjax.runtime.devices import devices as listed_devices

# State of `with` blocks besides flags: the mesh of jax.set_mesh, and that of `with mesh:`.
Config.mesh = Config.block_mesh = None  # type: ignore[attr-defined]


class AxisType(enum.Enum):
    """How the split of arrays along a mesh axis is determined."""

    Auto = enum.auto()
    Explicit = enum.auto()
    Manual = enum.auto()

    def __repr__(self) -> str:
        return self.name


class AbstractDevice(NamedTuple):
    """The kind of devices of an AbstractMesh."""

    device_kind: str
    num_cores: int | None
    platform: str


class _Axes:
    """The base class of Mesh and AbstractMesh: axes with names, sizes and types."""

    axis_names: tuple
    axis_sizes: tuple[int, ...]
    axis_types: tuple[AxisType, ...]

    def _set_axes(self, sizes: Sequence[int], names: Any, types: Any, default: AxisType) -> None:
        self.axis_sizes = tuple(sizes)
        self.axis_names = (names,) if isinstance(names, str) else tuple(names)
        if None in self.axis_names:
            raise ValueError(f"Mesh axis names cannot be None. Got: {self.axis_names}")
        self.axis_types = _checked_types(default if types is None else types, self.axis_names)

    def update(self, **changes: Any) -> Any:
        """A copy with other fields."""
        raise NotImplementedError

    def update_axis_types(self, name_to_type: dict[Any, AxisType]) -> Any:
        """A copy in which these axes have other types."""
        pairs = zip(self.axis_names, self.axis_types)
        return self.update(axis_types=tuple(name_to_type.get(n, t) for n, t in pairs))

    @property
    def shape(self) -> OrderedDict[Any, int]:
        """The sizes by name."""
        return OrderedDict(self.shape_tuple)

    @property
    def shape_tuple(self) -> tuple[tuple[Any, int], ...]:
        return tuple(zip(self.axis_names, self.axis_sizes))

    @property
    def size(self) -> int:
        return math.prod(self.axis_sizes) if self.axis_names else 0

    @property
    def empty(self) -> bool:
        return self.size == 0

    def _of_type(self, kind: AxisType) -> tuple:
        return tuple(n for n, t in zip(self.axis_names, self.axis_types) if t is kind)

    @property
    def auto_axes(self) -> tuple:
        return self._of_type(AxisType.Auto)

    @property
    def explicit_axes(self) -> tuple:
        return self._of_type(AxisType.Explicit)

    @property
    def manual_axes(self) -> tuple:
        return self._of_type(AxisType.Manual)

    @property
    def are_all_axes_auto(self) -> bool:
        return all(t is AxisType.Auto for t in self.axis_types)

    @property
    def are_all_axes_explicit(self) -> bool:
        return bool(self.axis_types) and all(t is AxisType.Explicit for t in self.axis_types)

    @property
    def are_all_axes_manual(self) -> bool:
        return all(t is AxisType.Manual for t in self.axis_types)

    def __str__(self) -> str:
        axes = ", ".join(f"{name!r}: {size}" for name, size in self.shape_tuple)
        return f"{type(self).__name__}({axes or '()'}, axis_types={_types_text(self)})"


def _types_text(axes: _Axes) -> str:
    return repr(axes.axis_types)


def _checked_types(types: Any, names: tuple) -> tuple[AxisType, ...]:
    """A type for each axis."""
    types = (types,) * len(names) if isinstance(types, AxisType) else tuple(types)
    if not all(isinstance(t, AxisType) for t in types):
        raise TypeError(
            f"axis_types passed to Mesh must be of type `jax.sharding.AxisType`. Got {types} of type "
            f"{tuple(map(type, types))}"
        )
    if len(types) != len(names):
        raise ValueError(
            f"Number of axis names should match the number of axis_types. Got axis_names={names} and "
            f"axis_types={types}"
        )
    return types


class AbstractMesh(_Axes):
    """The sizes, names and types of a mesh's axes, without its devices: "Explicit" ones by default."""

    def __init__(
        self,
        axis_sizes: Sequence[int],
        axis_names: Any,
        axis_types: Any = None,
        *,
        abstract_device: AbstractDevice | None = None,
    ):
        self._set_axes(axis_sizes, axis_names, axis_types, AxisType.Explicit)
        if len(self.axis_sizes) != len(self.axis_names):
            raise ValueError(
                f"AbstractMesh needs a size for each name, got axis_sizes={self.axis_sizes} and "
                f"axis_names={self.axis_names}"
            )
        self.abstract_device = abstract_device

    @property
    def abstract_mesh(self) -> AbstractMesh:
        return self

    def update(self, **changes: Any) -> AbstractMesh:
        """A copy with other axis_sizes, axis_names, axis_types or abstract_device."""
        kept = ("axis_sizes", "axis_names", "axis_types", "abstract_device")
        return AbstractMesh(**{name: getattr(self, name) for name in kept} | changes)

    @property
    def devices(self) -> Any:
        raise ValueError("AbstractMesh does not implement devices: a Mesh has them")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbstractMesh) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple:
        return self.axis_sizes, self.axis_names, self.axis_types

    def __str__(self) -> str:
        text = super().__str__()
        if self.abstract_device is None:
            return text
        facts = ", ".join(f"{k}={v}" for k, v in self.abstract_device._asdict().items())
        return f"{text[:-1]}, {facts})"

    __repr__ = __str__


class Mesh(_Axes):
    """An array of devices with named axes, "Auto" by default.

    Raises ValueError if the number of names differs from that of axes, or a device occurs twice."""

    def __init__(self, devices: Any, axis_names: Any, axis_types: Any = None):
        self.devices = np.array(devices, dtype=object)
        self.devices.flags.writeable = False
        self._before: list[Any] = []
        self._set_axes(self.devices.shape, axis_names, axis_types, AxisType.Auto)
        if self.devices.ndim != len(self.axis_names):
            raise ValueError(
                "Mesh requires the ndim of its first argument (`devices`) to equal the length of its second "
                f"argument (`axis_names`), but got devices.ndim == {self.devices.ndim} and "
                f"len(axis_names) == {len(self.axis_names)}. Reshape the devices, as "
                "np.array(jax.devices()).reshape(4, 2)"
            )

    @functools.cached_property
    def flat_devices(self) -> tuple[Device, ...]:
        """The devices row by row."""
        return tuple(self.devices.flat)

    @property
    def device_ids(self) -> np.ndarray:
        return np.vectorize(lambda device: device.id, otypes=[int])(self.devices)

    @property
    def local_devices(self) -> list[Device]:
        """The devices of this process."""
        return [d for d in self.flat_devices if d.process_index == process_index()]

    @property
    def local_mesh(self) -> Mesh:
        """This process's part of the mesh; its devices must be adjacent."""
        own = [d.process_index == process_index() for d in self.flat_devices]
        places = np.argwhere(np.reshape(own, self.devices.shape))
        block = tuple([slice(first, last + 1) for first, last in zip(places.min(0), places.max(0))])
        return Mesh(self.devices[block], self.axis_names, self.axis_types)

    @property
    def is_multi_process(self) -> bool:
        return len({device.process_index for device in self.flat_devices}) > 1

    @property
    def abstract_mesh(self) -> AbstractMesh:
        """The mesh without its devices."""
        if self.empty:
            return AbstractMesh((), ())
        first = self.flat_devices[0]
        kind = first.platform if first.platform == "cpu" else first.device_kind
        known = AbstractDevice(kind, None, first.platform)
        return AbstractMesh(
            self.axis_sizes, self.axis_names, self.axis_types, abstract_device=known
        )

    def update(self, **changes: Any) -> Mesh:
        """A copy with other devices, axis_names or axis_types."""
        kept = ("devices", "axis_names", "axis_types")
        return Mesh(**{name: getattr(self, name) for name in kept} | changes)

    def __enter__(self) -> Mesh:
        """`with mesh:` is an older spelling, read only by with_sharding_constraint. Use jax.set_mesh."""
        self._before.append(config.block_mesh)
        vars(config)["block_mesh"] = self
        return self

    def __exit__(self, *exc: object) -> None:
        vars(config)["block_mesh"] = self._before.pop()
        if config.block_mesh is None:
            del vars(config)["block_mesh"]  # the value before the first block

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mesh) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @functools.cached_property
    def _key(self) -> tuple:
        return self.flat_devices, self.axis_sizes, self.axis_names, self.axis_types

    def __repr__(self) -> str:
        if self.empty:
            return "Mesh(axis_sizes=(), axis_names=())"
        return (
            f"Mesh(axis_sizes={self.axis_sizes}, axis_names={self.axis_names!r}, "
            f"axis_types={self.axis_types})"
        )


EMPTY_ABSTRACT_MESH = AbstractMesh((), ())


def make_mesh(
    axis_shapes: Sequence[int],
    axis_names: Any,
    axis_types: Any = None,
    *,
    devices: Sequence[Device] | None = None,
) -> Mesh:
    """A mesh of the first devices, with axes of these sizes, "Explicit" by default.

    Raises ValueError if there are too few devices, if the numbers of names and sizes differ, or if a size is
    0 or less."""
    present = list(listed_devices() if devices is None else devices)
    needed = math.prod(axis_shapes)
    if any(size < 1 for size in axis_shapes):
        raise ValueError(
            f"each axis of a mesh must have a device at least, got {tuple(axis_shapes)}"
        )
    if len(present) < needed:
        raise ValueError(
            f"Number of devices {len(present)} must be >= the product of mesh_shape {tuple(axis_shapes)}. To "
            f"have {needed} CPU devices, set JAX_NUM_CPU_DEVICES={needed} before the program starts, or "
            f'jax.config.update("jax_num_cpu_devices", {needed}) before devices are used'
        )
    if axis_types is None:
        names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
        axis_types = (AxisType.Explicit,) * len(names)
    return Mesh(np.array(present[:needed], object).reshape(axis_shapes), axis_names, axis_types)


# The sharding that replicates an array on all of the mesh's devices.
add_lazy_attributes({Mesh: {"many_devices.sharding.named_sharding": ("replicated",)}})
