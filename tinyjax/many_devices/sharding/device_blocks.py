"""Arrays on a mesh whose devices are several OpenCL devices of this process: each has a block in its memory.

The elements are in one buffer per OpenCL device of the mesh: each is a block, or a copy if the spec doesn't
split the array. Programs of shard_map read the blocks in place. Any other reader, NumPy or a plain jitted
function, joins them in the host's memory first. Logical devices of one OpenCL device share its block.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tinyjax.core.array import ArrayImpl
from tinyjax.many_devices.distributed.processes import process_count
from tinyjax.many_devices.sharding.blocks import (
    LocalPart,
    index_of,
    is_split_over,
    parts_of,
    shape_of_blocks,
)
from tinyjax.runtime.devices import Device
from tinyjax.runtime.placement import commit
from tinyjax.runtime.queues import queue_of

if TYPE_CHECKING:
    from tinyjax.many_devices.sharding.mesh import Mesh

# ---- a device's part of a mesh ----


@functools.lru_cache(256)
def _owners(mesh: Mesh) -> dict[Device, Device]:
    """For each device of the mesh, the first one on the same OpenCL device."""
    firsts: dict[Any, Device] = {}
    return {d: firsts.setdefault(d.cl_device, d) for d in mesh.flat_devices}


def spans_devices(mesh: Any) -> bool:
    """Whether the devices of a mesh are several OpenCL devices of this process, which must be the only
    one."""
    devices = getattr(mesh, "flat_devices", ())  # an AbstractMesh has no devices
    return len(devices) > 1 and process_count() == 1 and len(workers_of(mesh)) > 1


@functools.lru_cache(256)
def workers_of(mesh: Mesh) -> tuple[Device, ...]:
    """One device for each OpenCL device of the mesh, representing all that share it."""
    return tuple(dict.fromkeys(_owners(mesh).values()))


@functools.lru_cache(256)
def parts_of_worker(mesh: Mesh, worker: Device) -> tuple[LocalPart, ...]:
    """A worker's part of each axis of the mesh.

    Raises ValueError if the devices that it represents aren't adjacent."""
    owners = np.vectorize(_owners(mesh).__getitem__, otypes=[object])(mesh.devices)
    return parts_of(mesh, owners, worker)


def _index(shape: Sequence[int], sharding: Any, worker: Device) -> tuple[Any, ...]:
    """The index of a worker's elements of an array of this shape."""
    own = _devices_of(sharding.mesh, worker)
    if len(own) == 1:
        return sharding.devices_indices_map(tuple(shape))[worker]
    return index_of(own, shape, sharding)


def _devices_of(mesh: Mesh, worker: Device) -> list[Device]:
    """The devices that a worker represents."""
    return [device for device, first in _owners(mesh).items() if first is worker]


# ---- blocks of an array ----


class DeviceBlocks:
    """The memory of an array in `blocks`, one per worker of the sharding's mesh."""

    queue = None  # not of a single device
    has_one_owner = False

    def __init__(self, blocks: Sequence[ArrayImpl], shape: tuple[int, ...], sharding: Any):
        self.blocks, self.shape, self.sharding = tuple(blocks), shape, sharding
        self.workers = workers_of(sharding.mesh)

    def read(self) -> np.ndarray:
        """The joined blocks; the first one if each is the whole array."""
        first = self.blocks[0]
        if first.shape == self.shape:
            return first._value
        whole = np.empty(self.shape, first.aval.dtype)
        for worker, block in zip(self.workers, self.blocks):
            whole[_index(self.shape, self.sharding, worker)] = block._value
        return whole

    def wait(self) -> None:
        for block in self.blocks:
            block.block_until_ready()

    def is_ready(self) -> bool:
        return all(block.is_ready() for block in self.blocks)


def from_blocks(blocks: Sequence[ArrayImpl], sharding: Any) -> ArrayImpl:
    """The array of the workers' blocks, in order."""
    first, parts = blocks[0], parts_of_worker(sharding.mesh, workers_of(sharding.mesh)[0])
    shape = shape_of_blocks(first.shape, sharding.spec, parts)
    memory: Any = DeviceBlocks(blocks, shape, sharding)
    return commit(ArrayImpl(None, first.aval.update(shape=shape), memory), sharding)


def block_of(x: ArrayImpl, sharding: Any, worker: Device) -> ArrayImpl:
    """A worker's block of an array with this sharding: the existing one, or a new copy in its memory."""
    memory: Any = x.buffer
    if isinstance(memory, DeviceBlocks) and _is_spread_so(memory, sharding, x.ndim):
        return memory.blocks[memory.workers.index(worker)]
    if not is_split_over(sharding.spec, parts_of_worker(sharding.mesh, worker)):
        return _brought(x, worker)
    block = x._value[_index(x.shape, sharding, worker)]
    return _brought(ArrayImpl(block, x.aval.update(shape=block.shape)), worker)


def _brought(x: ArrayImpl, worker: Device) -> ArrayImpl:
    """An array in the memory of a worker: itself, if it is there already."""
    memory: Any = x.buffer
    if memory is None or memory.queue is not queue_of(worker):
        return ArrayImpl(None, x.aval, queue_of(worker).upload(x._value), worker)
    memory.has_one_owner = False  # no computation may overwrite memory that two arrays share
    return ArrayImpl(x._host, x.aval, memory, worker)


def _is_spread_so(memory: DeviceBlocks, sharding: Any, ndim: int) -> bool:
    return memory.sharding == sharding or memory.sharding.is_equivalent_to(sharding, ndim)


def made_of(arrays: dict[Device, ArrayImpl], sharding: Any) -> ArrayImpl | None:
    """The array with each part in its device's memory; None if devices share memory."""
    if set(workers_of(sharding.mesh)) != set(arrays):
        return None
    return from_blocks([_brought(arrays[d], d) for d in workers_of(sharding.mesh)], sharding)


def spread(x: ArrayImpl, sharding: Any) -> ArrayImpl:
    """The array in blocks, each in the memory of its device."""
    blocks = [block_of(x, sharding, worker) for worker in workers_of(sharding.mesh)]
    return from_blocks(blocks, sharding)


def block_at(x: ArrayImpl, device: Device, index: Any) -> ArrayImpl | None:
    """The elements at an index, if they are exactly one device's part of an array in blocks."""
    memory: Any = x.buffer
    if not isinstance(memory, DeviceBlocks):
        return None
    if _devices_of(memory.sharding.mesh, device) != [device]:
        return None
    if _index(x.shape, memory.sharding, device) != index:
        return None
    return _brought(memory.blocks[memory.workers.index(device)], device)
