"""Shardings: where the elements of an array are: on one device, or, of a result of pmap, on several.

After this file you can read `x.sharding`, and hand that of one device to device_put. mesh.py has those
that go by names of axes. Builds on devices, array, to whose values it gives `sharding`,
`addressable_shards` and the like, stages and the primitive.

Source: https://docs.jax.dev/en/latest/jax.sharding.html
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tinyjax.core.array import Array, ArrayImpl, ShapedArray
from tinyjax.core.tree_util.pytrees import tree_map
from tinyjax.runtime.devices import Device
from tinyjax.transform.jit.stages import Compiled
from tinyjax.transform.pmap.primitive import Shards


class Sharding:
    """The base class: how an array is spread over devices."""

    @property
    def device_set(self) -> set[Device]:
        raise NotImplementedError

    @property
    def addressable_devices(self) -> set[Device]:
        """The devices of this process: all."""
        return self.device_set

    @property
    def num_devices(self) -> int:
        return len(self.device_set)

    @property
    def is_fully_addressable(self) -> bool:
        """True: there are no other processes."""
        return True

    def devices_of_slices(self, shape: Sequence[int]) -> tuple[Device, ...] | None:
        """The devices that have one slice each of an array's axis 0; None if it is not spread so."""
        return None

    def is_equivalent_to(self, other: Sharding, ndim: int) -> bool:
        """Whether an array with `ndim` axes is at the same places by both."""
        return self == other


class SingleDeviceSharding(Sharding):
    """The whole array is on one device.

    Raises TypeError if `device` is none.
    Source: https://docs.jax.dev/en/latest/jax.sharding.html#jax.sharding.SingleDeviceSharding
    """

    memory_kind = "device"
    is_fully_replicated = True  # each of its devices has the whole array

    def __init__(self, device: Device):
        if not isinstance(device, Device):
            raise TypeError(
                f"SingleDeviceSharding takes a Device such as jax.devices()[0], got {device!r}"
            )
        self._device = device

    @property
    def device_set(self) -> set[Device]:
        return {self._device}

    def shard_shape(self, global_shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of one device's part: the whole."""
        return global_shape

    def devices_indices_map(self, global_shape: tuple[int, ...]) -> dict[Device, tuple[slice, ...]]:
        """The part that each device has, as an index."""
        return {self._device: (slice(None),) * len(global_shape)}

    def __eq__(self, other: object) -> bool:
        return type(other) is SingleDeviceSharding and self._device == other._device

    def __hash__(self) -> int:
        return hash((SingleDeviceSharding, self._device))

    def __repr__(self) -> str:
        return f"SingleDeviceSharding(device={self._device!r}, memory_kind={self.memory_kind})"


class PmapSharding(Sharding):
    """Slice by slice along axis 0, on a device each: where pmap leaves its results.

    JAX 0.10 says the same by a NamedSharding over a mesh of one axis."""

    memory_kind = "device"
    is_fully_replicated = False

    def __init__(self, devices: tuple[Device, ...]):
        self.devices = devices

    @property
    def device_set(self) -> set[Device]:
        return set(self.devices)

    def shard_shape(self, global_shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of one device's part, which keeps the axis."""
        return (1, *global_shape[1:])

    def devices_indices_map(self, global_shape: tuple[int, ...]) -> dict[Device, tuple[slice, ...]]:
        """The part that each device has, as an index."""
        rest = (slice(None),) * (len(global_shape) - 1)
        return {device: (slice(i, i + 1), *rest) for i, device in enumerate(self.devices)}

    def __eq__(self, other: object) -> bool:
        return type(other) is PmapSharding and self.devices == other.devices

    def __hash__(self) -> int:
        return hash((PmapSharding, self.devices))

    def __repr__(self) -> str:
        return f"PmapSharding(devices={list(self.devices)})"


def device_of(place: Device | Sharding | None) -> Device | None:
    """The device that a Device or a SingleDeviceSharding stands for.

    Raises ValueError for several devices."""
    if not isinstance(place, Sharding):
        return place
    if place.num_devices > 1:
        raise ValueError(
            f"{place} spreads an array over several devices: only pmap does that. Give one device, or for "
            "an array with as many slices along axis 0 as there are devices, a NamedSharding along it"
        )
    (device,) = place.device_set
    return device


# ---- what arrays know of it ----


@dataclass(frozen=True)
class Shard:
    """One device's part of an array: its place in the whole, and an array of its elements."""

    device: Device
    index: tuple[slice, ...]
    replica_id: int
    data: Array


def _sharding(array: ArrayImpl) -> SingleDeviceSharding | PmapSharding:
    """Where the array is."""
    if isinstance(array.buffer, Shards):
        return PmapSharding(array.buffer.devices)
    return SingleDeviceSharding(array.device)


def _shards(array: ArrayImpl) -> list[Shard]:
    """Its parts, one a device."""
    if isinstance(array.buffer, Shards):
        places = array.sharding.devices_indices_map(array.shape)
        return [Shard(device, at, 0, array[at]) for device, at in places.items()]
    return [Shard(array.device, (slice(None),) * array.ndim, 0, array)]


def _addressable_data(array: ArrayImpl, index: int) -> Array:
    """The part number `index` of the array."""
    return array.addressable_shards[index].data


def _is_ready(array: ArrayImpl) -> bool:
    """Whether the elements are there: reading them would not wait."""
    memory: Any = array.buffer
    return array._host is not None or memory is None or memory.is_ready()


def _copy_to_host_async(array: ArrayImpl) -> None:
    """Nothing to do: results that are computed in the host's memory are there."""


ArrayImpl.sharding = property(_sharding)  # type: ignore[attr-defined]
ArrayImpl.devices = lambda array: array.sharding.device_set  # type: ignore[attr-defined]
ArrayImpl.addressable_shards = property(_shards)  # type: ignore[attr-defined]
ArrayImpl.global_shards = property(_shards)  # type: ignore[attr-defined]
ArrayImpl.addressable_data = _addressable_data  # type: ignore[attr-defined]
ArrayImpl.is_ready = _is_ready  # type: ignore[attr-defined]
ArrayImpl.copy_to_host_async = _copy_to_host_async  # type: ignore[attr-defined]
ArrayImpl.on_device_size_in_bytes = lambda array: array.nbytes  # type: ignore[attr-defined]
ArrayImpl.platform = lambda array: array.device.platform  # type: ignore[attr-defined]
ArrayImpl.is_fully_addressable = True  # type: ignore[attr-defined]
ArrayImpl.is_fully_replicated = property(  # type: ignore[attr-defined]
    lambda array: array.sharding.is_fully_replicated
)


def _sharding_of_type(aval: ShapedArray) -> Sharding:
    """What the type of an array says of its place: that its axes lie along none of a mesh's."""
    from tinyjax.transform.pmap.mesh import AbstractMesh, NamedSharding, PartitionSpec

    return NamedSharding(AbstractMesh((), ()), PartitionSpec(*(None,) * aval.ndim))


ShapedArray.sharding = property(_sharding_of_type)  # type: ignore[attr-defined]


# ---- what compiled programs know of it ----


def _input_shardings(compiled: Compiled) -> Any:
    """Where the arguments are read: a tree of shardings for the pair (args, kwargs)."""
    sharding = SingleDeviceSharding(compiled.executable.lowered.device)
    return tree_map(lambda _: sharding, compiled.args_info)


def _output_shardings(compiled: Compiled) -> Any:
    """Where the results are: the result's tree of shardings."""
    sharding = SingleDeviceSharding(compiled.executable.lowered.device)
    return tree_map(lambda _: sharding, compiled.out_info)


Compiled.input_shardings = property(_input_shardings)  # type: ignore[attr-defined]
Compiled.output_shardings = property(_output_shardings)  # type: ignore[attr-defined]
