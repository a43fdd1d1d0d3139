"""Arrays on a mesh whose devices belong to several processes: each process has a block of such an array.

Jitted programs can compute with an array that all processes share, and each process can read its own devices'
parts. A process's devices must be adjacent in the mesh: then its part of the mesh is a smaller mesh, and its
part of an array one block.

Source: https://docs.jax.dev/en/latest/multi_process.html
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from tinyjax.core.array import ArrayImpl
from tinyjax.many_devices.distributed import processes
from tinyjax.many_devices.sharding.partition_spec import PartitionSpec, names_at
from tinyjax.runtime.devices import Device
from tinyjax.runtime.placement import commit

if TYPE_CHECKING:
    from tinyjax.many_devices.sharding.mesh import Mesh

# ---- a process's part of a mesh ----


class LocalPart(NamedTuple):
    """A process's part of a mesh axis: `size` of its places. `ranks` are the processes with parts of it, in
    order, and `place` is this one's index among them; empty if this one has the whole axis."""

    name: Any
    size: int
    ranks: tuple[Any, ...]
    place: int


def spans_processes(mesh: Any) -> bool:
    """Whether the devices of a mesh belong to several processes."""
    devices = getattr(mesh, "flat_devices", ())  # an AbstractMesh has no devices
    return processes.process_count() > 1 and len({d.process_index for d in devices}) > 1


@functools.lru_cache(256)
def local_parts(mesh: Mesh) -> tuple[LocalPart, ...]:
    """This process's part of each axis of a mesh.

    Raises ValueError if it has no device there, or its devices aren't adjacent."""
    owners = np.vectorize(lambda device: device.process_index, otypes=[object])(mesh.devices)
    return parts_of(mesh, owners, processes.process_index())


def parts_of(mesh: Mesh, owners: np.ndarray, owner: Any) -> tuple[LocalPart, ...]:
    """One owner's part of each axis of a mesh; `owners` are the devices' owners.

    Raises ValueError if it has no device there, or an owner's devices aren't adjacent."""
    places = np.argwhere(owners == owner)
    if not len(places):
        raise ValueError(f"process {owner} has no device of the mesh {mesh}")
    first, sizes = places.min(0), np.ptp(places, 0) + 1
    parts = []
    for axis, name in enumerate(mesh.axis_names):
        line: list[Any] = list(first)
        line[axis] = slice(first[axis] % sizes[axis], None, sizes[axis])
        ranks = tuple(owners[tuple(line)])
        if len(places) != sizes.prod() or len(set(ranks)) < len(ranks):
            raise ValueError(
                f"the devices of a process must lie next to each other in a mesh, and those of all alike: "
                f"{mesh} has devices of the processes {owners.tolist()}. jax.make_mesh lays them out so"
            )
        several, place = (ranks, ranks.index(owner)) if len(ranks) > 1 else ((), 0)
        parts.append(LocalPart(name, int(sizes[axis]), several, place))
    return tuple(parts)


def is_split(spec: PartitionSpec, mesh: Mesh) -> bool:
    """Whether an array with this sharding is in blocks, one per process; otherwise each process has the whole
    array."""
    return is_split_over(spec, local_parts(mesh))


def is_split_over(spec: PartitionSpec, parts: Sequence[LocalPart]) -> bool:
    """Whether it names an axis that is spread over several owners."""
    return any(part.ranks and part.name in spec.names for part in parts)


# ---- a process's block of an array ----


class Block:
    """The memory of an array whose block in this process is `own`."""

    queue = None  # not of a single device
    has_one_owner = False

    def __init__(self, own: ArrayImpl):
        self.own = own

    def read(self) -> NoReturn:
        raise RuntimeError(
            "Fetching value for `jax.Array` that spans non-addressable (non process local) devices is not "
            "possible. You can use `jax.experimental.multihost_utils.process_allgather` to print the global "
            "array or use `.addressable_shards` method of jax.Array to inspect the addressable (process "
            "local) shards. Compute with it in a jitted function"
        )

    def wait(self) -> None:
        self.own.block_until_ready()

    def is_ready(self) -> bool:
        return self.own.is_ready()


def from_block(own: ArrayImpl, sharding: Any) -> ArrayImpl:
    """The array of all processes from this one's block, by a NamedSharding. The block is the whole array if
    that doesn't split it over processes."""
    if not is_split(sharding.spec, sharding.mesh):
        return commit(ArrayImpl(own._host, own.aval, own.buffer), sharding)
    shape = shape_of_blocks(own.shape, sharding.spec, local_parts(sharding.mesh))
    return commit(ArrayImpl(None, own.aval.update(shape=shape), Block(own)), sharding)


def shape_of_blocks(
    shape: Sequence[int], spec: PartitionSpec, parts: Sequence[LocalPart]
) -> tuple[int, ...]:
    """The shape of the array whose blocks have this shape."""
    for part in parts:
        if part.ranks:
            shape = tuple(
                size * len(part.ranks) if part.name in names_at(spec, axis) else size
                for axis, size in enumerate(shape)
            )
    return tuple(shape)


def block_index(shape: Sequence[int], sharding: Any) -> tuple[np.ndarray, ...]:
    """The NumPy index of this process's block of an array of this shape."""
    own = {d for d in sharding.mesh.flat_devices if d.process_index == processes.process_index()}
    return index_of(own, shape, sharding)


def index_of(own: Collection[Device], shape: Sequence[int], sharding: Any) -> tuple[Any, ...]:
    """The NumPy index of some devices' elements of an array of this shape."""
    index = [np.zeros(size, bool) for size in shape]
    for device, slices in sharding.devices_indices_map(tuple(shape)).items():
        for mask, piece in zip(index, slices if device in own else ()):
            mask[piece] = True
    return np.ix_(*index)


def part_of(x: ArrayImpl, index: tuple[slice, ...]) -> np.ndarray:
    """The elements at an index, which for an array in blocks must be within this process's block."""
    if not isinstance(x.buffer, Block):
        return np.asarray(x._value[index])
    places = block_index(x.shape, x.sharding)
    within = [
        np.searchsorted(at.ravel(), np.arange(n)[i]) for at, n, i in zip(places, x.shape, index)
    ]
    return x.buffer.own._value[np.ix_(*within)]


def own_block(x: Any, sharding: Any) -> ArrayImpl:
    """This process's block of an array that it has as a whole, or that has this sharding already.

    Raises ValueError for an array with another sharding over the processes."""
    if isinstance(x, ArrayImpl) and isinstance(x.buffer, Block):
        if x.sharding == sharding or x.sharding.is_equivalent_to(sharding, x.ndim):
            return x.buffer.own
        raise ValueError(f"an array that is spread as {x.sharding} is used as {sharding}")
    if not is_split(sharding.spec, sharding.mesh):
        return ArrayImpl(x._host, x.aval, x.buffer)
    block = x._value[block_index(x.shape, sharding)]
    return ArrayImpl(block, x.aval.update(shape=block.shape))
