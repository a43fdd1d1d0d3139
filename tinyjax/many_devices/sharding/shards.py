"""The shards of an array: its sharding, and the devices' parts.

Devices that share one memory, such as a mesh of one machine's processors, need no copies. The array is one
buffer, and its sharding is a label; a part is sliced on first use. (Several OpenCL devices have separate
blocks: device_blocks.py.) Adds `sharding`, `addressable_shards` and more to arrays.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tinyjax.core.array import Array, ArrayImpl, ShapedArray
from tinyjax.many_devices.distributed.processes import process_index
from tinyjax.many_devices.sharding.blocks import part_of
from tinyjax.many_devices.sharding.device_blocks import block_at
from tinyjax.many_devices.sharding.sharding import Index, Sharding, as_sharding
from tinyjax.runtime.devices import Device
from tinyjax.runtime.placement import commit


@dataclass(frozen=True)
class Shard:
    """One device's part of an array: its index in the whole, and an array of its elements.

    `replica_id` counts the devices before it that have the same part; `data` is None for another process's
    device."""

    device: Device
    index: Index
    replica_id: int
    whole: ArrayImpl

    @property
    def data(self) -> Array | None:
        if self.device.process_index != process_index():
            return None
        if self.index == (slice(None),) * self.whole.ndim and self.whole.device is self.device:
            return self.whole
        if (own := block_at(self.whole, self.device, self.index)) is not None:
            return commit(own, self.device)
        elements = part_of(self.whole, self.index)
        return commit(
            ArrayImpl(elements, self.whole.aval.update(shape=elements.shape)), self.device
        )

    def __repr__(self) -> str:
        return (
            f"Shard(device={self.device!r}, index={self.index}, replica_id={self.replica_id}, "
            f"data={self.data})"
        )


def _sharding(array: ArrayImpl) -> Sharding:
    return as_sharding(array.device)


def _global_shards(array: ArrayImpl) -> list[Shard]:
    """Its parts, one per device."""
    seen: list[Index] = []
    shards = []
    for device, index in array.sharding.devices_indices_map(array.shape).items():
        shards.append(Shard(device, index, seen.count(index), array))
        seen.append(index)
    return shards


def _shards(array: ArrayImpl) -> list[Shard]:
    """The parts on this process's devices."""
    return [s for s in _global_shards(array) if s.device.process_index == process_index()]


def _addressable_data(array: ArrayImpl, index: int) -> Array:
    """Part number `index` of the array; the whole array if it is replicated."""
    return _shards(array)[index].data  # type: ignore[return-value]


def _on_device_size_in_bytes(array: ArrayImpl) -> int:
    """The bytes of all devices' parts."""
    sharding = array.sharding
    return math.prod(sharding.shard_shape(array.shape)) * sharding.num_devices * array.itemsize


def sharding_of_type(aval: ShapedArray) -> Sharding:
    """The sharding in an array's type: in most cases, one that splits no axis."""
    if aval._sharding is not None:
        return aval._sharding
    from tinyjax.many_devices.sharding.mesh import EMPTY_ABSTRACT_MESH
    from tinyjax.many_devices.sharding.named_sharding import NamedSharding, PartitionSpec

    return NamedSharding(EMPTY_ABSTRACT_MESH, PartitionSpec(*(None,) * aval.ndim))


ShapedArray.sharding = property(sharding_of_type)  # type: ignore[attr-defined]
ArrayImpl.sharding = property(_sharding)  # type: ignore[attr-defined]
ArrayImpl.devices = lambda array: array.sharding.device_set  # type: ignore[attr-defined]
ArrayImpl.addressable_shards = property(_shards)  # type: ignore[attr-defined]
ArrayImpl.global_shards = property(_global_shards)  # type: ignore[attr-defined]
ArrayImpl.addressable_data = _addressable_data  # type: ignore[attr-defined]
ArrayImpl.on_device_size_in_bytes = _on_device_size_in_bytes  # type: ignore[attr-defined]
ArrayImpl.platform = lambda array: array.sharding.home.platform  # type: ignore[attr-defined]
ArrayImpl.is_fully_addressable = property(  # type: ignore[attr-defined]
    lambda array: array.sharding.is_fully_addressable
)
ArrayImpl.is_fully_replicated = property(  # type: ignore[attr-defined]
    lambda array: array.sharding.is_fully_replicated
)
