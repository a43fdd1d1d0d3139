"""Arrays on a mesh whose devices belong to several processes: each process has a block of such an array.

With an array that all processes share, one can compute with its block in jitted programs, and look at its own
devices' parts. A process's devices must lie next to each other in the mesh: then its part of the mesh is a
smaller mesh, and its part of an array one block.

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
    """What a process has of an axis of a mesh: `size` places of it. `ranks` are the processes that have parts
    of it, in their order, and `place` is this one's among them; none if this one has all."""

    name: Any
    size: int
    ranks: tuple[Any, ...]
    place: int


def spans_processes(mesh: Any) -> bool:
    """Whether the devices of a mesh belong to several processes."""
    devices = getattr(mesh, "flat_devices", ())  # those of an AbstractMesh are not known
    return processes.process_count() > 1 and len({d.process_index for d in devices}) > 1


@functools.lru_cache(256)
def local_parts(mesh: Mesh) -> tuple[LocalPart, ...]:
    """This process's part of each axis of a mesh.

    Raises ValueError if it has no device there, or its devices don't lie next to each other."""
    owners = np.vectorize(lambda device: device.process_index, otypes=[object])(mesh.devices)
    return parts_of(mesh, owners, processes.process_index())


def parts_of(mesh: Mesh, owners: np.ndarray, owner: Any) -> tuple[LocalPart, ...]:
    """The part that one owner has of each axis of a mesh; `owners` says whose each device is.

    Raises ValueError if it has no device there, or an owner's devices don't lie next to each other."""
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
    """Whether an array that is spread so is in blocks, one a process; else each process has all of it."""
    return is_split_over(spec, local_parts(mesh))


def is_split_over(spec: PartitionSpec, parts: Sequence[LocalPart]) -> bool:
    """Whether it names an axis that several have parts of."""
    return any(part.ranks and part.name in spec.names for part in parts)


# ---- a process's block of an array ----


class Block:
    """The memory of an array of which this process has one block, `own`."""

    queue = None  # of no one device
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
    """The array of all processes, from this one's block of it, by a NamedSharding: all of the array, if that
    splits it over no other processes."""
    if not is_split(sharding.spec, sharding.mesh):
        return commit(ArrayImpl(own._host, own.aval, own.buffer), sharding)
    shape = shape_of_blocks(own.shape, sharding.spec, local_parts(sharding.mesh))
    return commit(ArrayImpl(None, own.aval.update(shape=shape), Block(own)), sharding)


def shape_of_blocks(
    shape: Sequence[int], spec: PartitionSpec, parts: Sequence[LocalPart]
) -> tuple[int, ...]:
    """The shape of the array whose blocks have this one."""
    for part in parts:
        if part.ranks:
            shape = tuple(
                size * len(part.ranks) if part.name in names_at(spec, axis) else size
                for axis, size in enumerate(shape)
            )
    return tuple(shape)


def block_index(shape: Sequence[int], sharding: Any) -> tuple[np.ndarray, ...]:
    """Which elements of an array of this shape are in this process's block, as an index for NumPy."""
    own = {d for d in sharding.mesh.flat_devices if d.process_index == processes.process_index()}
    return index_of(own, shape, sharding)


def index_of(own: Collection[Device], shape: Sequence[int], sharding: Any) -> tuple[Any, ...]:
    """Which elements of an array of this shape some devices have, as an index for NumPy."""
    index = [np.zeros(size, bool) for size in shape]
    for device, slices in sharding.devices_indices_map(tuple(shape)).items():
        for mask, piece in zip(index, slices if device in own else ()):
            mask[piece] = True
    return np.ix_(*index)


def part_of(x: ArrayImpl, index: tuple[slice, ...]) -> np.ndarray:
    """The elements at an index: of an array in blocks, one that is in this process's."""
    if not isinstance(x.buffer, Block):
        return np.asarray(x._value[index])
    places = block_index(x.shape, x.sharding)
    within = [
        np.searchsorted(at.ravel(), np.arange(n)[i]) for at, n, i in zip(places, x.shape, index)
    ]
    return x.buffer.own._value[np.ix_(*within)]


def own_block(x: Any, sharding: Any) -> ArrayImpl:
    """This process's block of an array, of which it has all, or that is spread so already.

    Raises ValueError for an array that is spread in another way over the processes."""
    if isinstance(x, ArrayImpl) and isinstance(x.buffer, Block):
        if x.sharding == sharding or x.sharding.is_equivalent_to(sharding, x.ndim):
            return x.buffer.own
        raise ValueError(f"an array that is spread as {x.sharding} is used as {sharding}")
    if not is_split(sharding.spec, sharding.mesh):
        return ArrayImpl(x._host, x.aval, x.buffer)
    block = x._value[block_index(x.shape, sharding)]
    return ArrayImpl(block, x.aval.update(shape=block.shape))
