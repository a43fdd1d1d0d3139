"""Shardings: which part of an array each device has.

For an array of a given shape: which index each device has (`devices_indices_map`), how large its part is
(`shard_shape`), and whether two shardings put all elements at the same places (`is_equivalent_to`). The
simplest one is here: all of the array is on one device. named_sharding.py has those that go by names of a
mesh's axes.
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

# primitive name -> the places that its parameters ask for, one a result; None for a result that goes with the
# operands. By who puts values elsewhere.
# Of a Device a compiled program knows nothing: it runs where its arguments are.
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
    """The base class: how an array is spread over devices."""

    memory_kind: str | None = "device"

    @property
    def devices_in_order(self) -> tuple[Device, ...]:
        """Its devices, in the order in which they have the parts."""
        raise NotImplementedError

    def devices_indices_map(self, global_shape: Sequence[int]) -> Mapping[Device, Index]:
        """The part that each device has of an array of this shape, as an index."""
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
        """Whether it has devices: that of an AbstractMesh does not."""
        return True

    @property
    def home(self) -> Device:
        """The device whose queue computes with the whole array, where all share one memory: the first of this
        process."""
        own = (d for d in self.devices_in_order if d.process_index == process_index())
        return next(own, self.devices_in_order[0])

    @property
    def replicated(self) -> Sharding:
        """The sharding by which each of its devices has all of an array."""
        raise NotImplementedError

    def of_results(self, params: Mapping[str, Any], places: Sequence[Any]) -> list[Any]:
        """The shardings of the results of a jit equation, given those of its operands."""
        raise NotImplementedError

    def typed(self, aval: ShapedArray) -> ShapedArray:
        """The type of an array that is spread so: types say nothing of most shardings."""
        return aval.update(sharding=None)

    def label_results(
        self, name: str, params: Mapping[str, Any], operands: Sequence[Any], results: Sequence[Any]
    ) -> None:
        """Says where the results of a primitive are of which some operands are spread so."""
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
        """Whether no device is another process's."""
        return len(self.addressable_devices) == len(self.device_set)

    def addressable_devices_indices_map(
        self, global_shape: Sequence[int]
    ) -> Mapping[Device, Index]:
        """As devices_indices_map, of the devices of this process."""
        own = self.addressable_devices
        return {d: i for d, i in self.devices_indices_map(global_shape).items() if d in own}

    def check_compatible_aval(self, aval_shape: Sequence[int]) -> None:
        """Raises ValueError if arrays of this shape can't be spread so."""

    def is_equivalent_to(self, other: Sharding, ndim: int) -> bool:
        """Whether an array with `ndim` axes is at the same places by both."""
        return (
            self.devices_in_order == other.devices_in_order
            and self.parts_in_order(ndim) == other.parts_in_order(ndim)
            and self.memory_kind == other.memory_kind
        )

    def parts_in_order(self, ndim: int) -> tuple[Index, ...] | None:
        """The parts that its devices have, in their order, of an array that has one element for each part;
        None if each has all."""
        return None


class SingleDeviceSharding(Sharding):
    """The whole array is on one device.

    Raises TypeError if `device` is none."""

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
    """The sharding of an array that is on one device."""
    return SingleDeviceSharding(device, memory_kind=memory_kind)


def place_of(sharding: Sharding) -> Device | Sharding:
    """The place that arrays keep: the Device, if that is one with the default memory kind."""
    if isinstance(sharding, SingleDeviceSharding) and sharding.memory_kind == "device":
        return sharding.home
    return sharding


def as_sharding(place: Any) -> Sharding:
    """A place as a sharding: a Device stands for all of the array there."""
    return place if isinstance(place, Sharding) else SingleDeviceSharding(place)
