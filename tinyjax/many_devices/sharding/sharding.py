"""Shardings: the part of an array on each device.

For an array of a given shape, a sharding has each device's index (`devices_indices_map`), the shape of its
part (`shard_shape`), and a comparison with other shardings (`is_equivalent_to`). The simplest one is here:
the whole array is on one device. named_sharding.py has shardings over a mesh's axes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tinyjax.core.array import ShapedArray
from tinyjax.many_devices import avals as _avals  # noqa: F401  (gives avals `_sharding`)
from tinyjax.many_devices.distributed.processes import process_index
from tinyjax.many_devices.placing import OutSharding
from tinyjax.runtime.devices import Device

Index = tuple[slice, ...]

# primitive name -> the places requested by its parameters, one per result; None for a result placed with the
# operands. Filled by primitives that move values. Compiled programs ignore Devices: they run where their
# arguments are.
places_asked: dict[str, Callable[[Mapping[str, Any]], Sequence[Sharding | None]]] = {
    "device_put": lambda params: [
        place if isinstance(place, Sharding) else None for place in params["devices"]
    ]
}


class IndivisibleError(ValueError):
    """An axis of an array can't be split into equal parts."""


def check_fits(sharding: Any, shape: Sequence[int], what: str) -> None:
    """Raises an error that names the array ("One of {what} ...") if its shape can't be split so:
    IndivisibleError if an axis can't be split into equal parts, ValueError if it has too few axes."""
    try:
        sharding.check_compatible_aval(shape)
    except ValueError as error:
        raise ValueError(
            f"One of {what} is incompatible with its sharding annotation {sharding}: {error}"
        ) from None
    try:
        sharding.shard_shape(shape)
    except IndivisibleError as error:
        raise IndivisibleError(f"One of {what} was given the sharding {error}") from None


class Sharding(OutSharding):
    """The base class of an array's sharding over devices."""

    memory_kind: str | None = "device"

    @property
    def devices_in_order(self) -> tuple[Device, ...]:
        """Its devices, in the order of their parts."""
        raise NotImplementedError

    def devices_indices_map(self, global_shape: Sequence[int]) -> Mapping[Device, Index]:
        """The index of each device's part of an array of this shape."""
        raise NotImplementedError

    def shard_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of one device's part."""
        raise NotImplementedError

    @property
    def is_fully_replicated(self) -> bool:
        """Whether each of its devices has the whole array."""
        raise NotImplementedError

    @property
    def has_devices(self) -> bool:
        """Whether it has devices: a sharding on an AbstractMesh doesn't."""
        return True

    @property
    def home(self) -> Device:
        """If all devices share one memory, the device whose queue computes with the whole array: the first of
        this process."""
        own = (d for d in self.devices_in_order if d.process_index == process_index())
        return next(own, self.devices_in_order[0])

    @property
    def replicated(self) -> Sharding:
        """The sharding that replicates an array on its devices."""
        raise NotImplementedError

    def of_results(self, params: Mapping[str, Any], places: Sequence[Any]) -> list[Any]:
        """The shardings of the results of a jit equation, given those of its operands."""
        raise NotImplementedError

    def typed(self, aval: ShapedArray) -> ShapedArray:
        """The type of an array with this sharding: most shardings aren't part of types."""
        return aval.update(sharding=None)

    def label_results(
        self, name: str, params: Mapping[str, Any], operands: Sequence[Any], results: Sequence[Any]
    ) -> None:
        """Label the results of a primitive with operands of this sharding."""
        raise NotImplementedError

    @property
    def device_set(self) -> set[Device]:
        return set(self.devices_in_order)

    @property
    def addressable_devices(self) -> set[Device]:
        """The devices of this process."""
        return {d for d in self.devices_in_order if d.process_index == process_index()}

    @property
    def num_devices(self) -> int:
        return len(self.devices_in_order)

    @property
    def is_fully_addressable(self) -> bool:
        """Whether all devices belong to this process."""
        return len(self.addressable_devices) == len(self.device_set)

    def addressable_devices_indices_map(
        self, global_shape: Sequence[int]
    ) -> Mapping[Device, Index]:
        """devices_indices_map for the devices of this process."""
        own = self.addressable_devices
        return {d: i for d, i in self.devices_indices_map(global_shape).items() if d in own}

    def check_compatible_aval(self, aval_shape: Sequence[int]) -> None:
        """Raises ValueError if arrays of this shape can't have this sharding."""

    def is_equivalent_to(self, other: Sharding, ndim: int) -> bool:
        """Whether both shardings place an array with `ndim` axes equally."""
        return (
            self.devices_in_order == other.devices_in_order
            and self.parts_in_order(ndim) == other.parts_in_order(ndim)
            and self.memory_kind == other.memory_kind
        )

    def parts_in_order(self, ndim: int) -> tuple[Index, ...] | None:
        """The part numbers of its devices, in order, as indices of an array with one element per part; None
        if all have the whole array."""
        return None


class SingleDeviceSharding(Sharding):
    """The whole array is on one device.

    Raises TypeError unless `device` is a Device."""

    is_fully_replicated = True

    def __init__(self, device: Device, *, memory_kind: str | None = "device"):
        if not isinstance(device, Device):
            raise TypeError(
                f"SingleDeviceSharding takes a Device such as jax.devices()[0], got {device!r}"
            )
        self._device, self.memory_kind = device, memory_kind

    @property
    def devices_in_order(self) -> tuple[Device, ...]:
        return (self._device,)

    def shard_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        return tuple(global_shape)

    def devices_indices_map(self, global_shape: Sequence[int]) -> dict[Device, Index]:
        return {self._device: (slice(None),) * len(global_shape)}

    def with_memory_kind(self, kind: str) -> SingleDeviceSharding:
        return SingleDeviceSharding(self._device, memory_kind=kind)

    @property
    def replicated(self) -> SingleDeviceSharding:
        return self

    def of_results(self, params: Mapping[str, Any], places: Sequence[Any]) -> list[Any]:
        return [self for _ in params["jaxpr"].out_avals]

    def label_results(
        self, name: str, params: Mapping[str, Any], operands: Sequence[Any], results: Sequence[Any]
    ) -> None:
        for result in results:
            result._device, result.committed = place_of(self), True

    def __eq__(self, other: object) -> bool:
        return (
            type(other) is SingleDeviceSharding
            and self._device == other._device
            and self.memory_kind == other.memory_kind
        )

    def __hash__(self) -> int:
        return hash((SingleDeviceSharding, self._device))

    def __repr__(self) -> str:
        return f"SingleDeviceSharding(device={self._device!r}, memory_kind={self.memory_kind})"


def make_single_device_sharding(
    device: Device, *, memory_kind: str | None = "device"
) -> SingleDeviceSharding:
    """The sharding of an array on one device."""
    return SingleDeviceSharding(device, memory_kind=memory_kind)


def place_of(sharding: Sharding) -> Device | Sharding:
    """The place as stored in arrays: the Device itself, for a single device with the default memory kind."""
    if isinstance(sharding, SingleDeviceSharding) and sharding.memory_kind == "device":
        return sharding.home
    return sharding


def as_sharding(place: Any) -> Sharding:
    """A place as a sharding: a Device means the whole array is there."""
    return place if isinstance(place, Sharding) else SingleDeviceSharding(place)
