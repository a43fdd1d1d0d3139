"""jax.experimental.multihost_utils: what processes tell each other outside of jitted programs.

All processes must call these together, with arrays of equal shapes. With one process, they are what that one
has.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax.core.array import ArrayImpl
from tinyjax.core.avals import get_aval, to_numpy
from tinyjax.core.missing_names import getattr_of
from tinyjax.core.tree_util.prefixes import flatten_axes
from tinyjax.core.tree_util.pytrees import tree_flatten, tree_leaves, tree_map, tree_unflatten
from tinyjax.lax.transfer import device_put
from tinyjax.many_devices.distributed.collectives import Gather, Sum
from tinyjax.many_devices.distributed.processes import (
    Meeting,
    everybody,
    process_count,
    process_index,
)
from tinyjax.many_devices.sharding.blocks import Block, from_block, own_block, spans_processes
from tinyjax.many_devices.sharding.mesh import Mesh
from tinyjax.many_devices.sharding.named_sharding import NamedSharding
from tinyjax.runtime.devices import devices
from tinyjax.runtime.placement import commit


def process_allgather(in_tree: Any, tiled: bool = False) -> Any:
    """The arrays of all processes, to all, as NumPy arrays: stacked, or with `tiled` one after the other. An
    array that is spread over devices of all is one already, and only taken with `tiled`."""
    return tree_map(lambda x: _gathered(x, tiled), in_tree)


def _gathered(x: Any, tiled: bool) -> np.ndarray:
    if isinstance(x, ArrayImpl) and not x.is_fully_addressable:
        if not tiled:
            raise ValueError(
                "Gathering global non-fully-addressable arrays only supports tiled=True"
            )
        return _whole(x)
    stacked = _stacked(_host_array(x))
    return np.concatenate(stacked) if tiled and stacked.ndim > 1 else stacked


def _stacked(array: np.ndarray) -> np.ndarray:
    """The processes' arrays along a new axis 0."""
    out = np.empty((process_count(), *array.shape), array.dtype)
    if process_count() == 1:
        out[0] = array
    else:
        devices()  # which the processes list together, before anything else
        Gather([(array.shape, array.dtype)], everybody(), "process_allgather")([array], [out])
    return out


def _whole(x: ArrayImpl) -> np.ndarray:
    """All elements of an array that is spread over the processes."""
    if not isinstance(x.buffer, Block):
        return np.asarray(x)
    parts = [(shard.index, np.asarray(shard.data)) for shard in x.addressable_shards]
    out = np.empty(x.shape, x.dtype)
    with Meeting(f"process_allgather of {x.aval.str_short()}", everybody()) as group:
        for of_process in group.comm.allgather(parts):
            for index, part in of_process:
                out[index] = part
    return out


def broadcast_one_to_all(in_tree: Any, is_source: bool | None = None) -> Any:
    """The arrays of one process, to all, as NumPy arrays: of process 0, or where `is_source` is True."""
    is_ours = process_index() == 0 if is_source is None else is_source
    return tree_map(lambda x: _sent(_host_array(x), is_ours), in_tree)


def _sent(array: np.ndarray, is_ours: bool) -> np.ndarray:
    """The one process's bytes: all others add zeros to them."""
    if process_count() == 1:
        return array
    devices()
    out = np.array(array, order="C")
    bytes_ = out.reshape(-1).view(np.uint8)
    at = f"broadcast_one_to_all of {get_aval(array).str_short()}, as"
    if not is_ours:
        bytes_[...] = 0
    Sum([(bytes_.shape, bytes_.dtype)], everybody(), at)([bytes_], [bytes_])
    return out


def sync_global_devices(name: str) -> None:
    """Waits until all processes are here. Raises JaxRuntimeError if one is elsewhere, or has another name."""
    if process_count() > 1:
        devices()
        with Meeting(f"sync_global_devices({name!r})", everybody()):
            pass


def assert_equal(in_tree: Any, fail_message: str = "") -> None:
    """Raises AssertionError, in all processes, if they have different arrays."""
    of_all = process_allgather(in_tree)
    leaves = [np.asarray(x) for x in tree_leaves(of_all)]
    if any(
        not np.array_equal(x, x[:1].repeat(len(x), 0), equal_nan=x.dtype.kind in "fc")
        for x in leaves
    ):
        raise AssertionError(f"{fail_message}. Expected: {of_all}; got: {in_tree}.")


def host_local_array_to_global_array(local_inputs: Any, global_mesh: Mesh, pspecs: Any) -> Any:
    """Arrays that are spread over a mesh, from the blocks that this process has of them."""

    def joined(x: Any, spec: Any) -> Any:
        sharding = NamedSharding(global_mesh, spec)
        if not spans_processes(global_mesh):
            return device_put(x, sharding)
        array = _host_array(x)
        return from_block(ArrayImpl(array, get_aval(array)), sharding)

    return _map_with_specs("host_local_array_to_global_array", joined, local_inputs, pspecs)


def global_array_to_host_local_array(global_inputs: Any, global_mesh: Mesh, pspecs: Any) -> Any:
    """The blocks that this process has of arrays that are spread over a mesh."""

    def own(x: Any, spec: Any) -> Any:
        if not spans_processes(global_mesh):
            return x
        block = own_block(x, NamedSharding(global_mesh, spec))
        place = NamedSharding(global_mesh.local_mesh, spec)
        return commit(ArrayImpl(block._host, place.typed(block.aval), block.buffer), place)

    return _map_with_specs("global_array_to_host_local_array", own, global_inputs, pspecs)


def _map_with_specs(name: str, fun: Any, tree: Any, pspecs: Any) -> Any:
    leaves, structure = tree_flatten(tree)
    specs = flatten_axes(f"{name} pspecs", structure, pspecs)
    return tree_unflatten(structure, [fun(x, spec) for x, spec in zip(leaves, specs)])


def _host_array(x: Any) -> np.ndarray:
    return np.asarray(to_numpy(x, get_aval(x)))


__getattr__ = getattr_of(__name__)
