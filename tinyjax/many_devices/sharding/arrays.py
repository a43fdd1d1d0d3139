"""Make arrays from the devices' parts.

An array on a mesh is made from a function that returns the elements at an index, from arrays on the devices,
or from this process's data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinyjax.core.array import ArrayImpl
from tinyjax.core.avals import get_aval, to_numpy
from tinyjax.core.tree_util.pytrees import tree_map
from tinyjax.many_devices.sharding.blocks import (
    block_index,
    from_block,
    local_parts,
    own_block,
    shape_of_blocks,
    spans_processes,
)
from tinyjax.many_devices.sharding.device_blocks import made_of, spans_devices, spread
from tinyjax.many_devices.sharding.sharding import Sharding, place_of
from tinyjax.runtime.placement import commit


def make_array_from_callback(
    shape: Sequence[int], sharding: Sharding, data_callback: Callable[[Any], Any], dtype: Any = None
) -> ArrayImpl:
    """An array of this shape, whose part at an index is `data_callback(index)`, called once for each index on
    this process's devices. `dtype` is the parts' dtype.

    Raises TypeError for an invalid sharding, ValueError if the shape can't be sharded so, or if a part has
    another shape or dtype."""
    if not isinstance(sharding, Sharding):
        raise TypeError(
            f"sharding should be an instance of `jax.sharding`. Got {sharding} of type {type(sharding)}"
        )
    shape = tuple(shape)
    parts: list[tuple[Any, Any]] = []
    for index in sharding.addressable_devices_indices_map(shape).values():
        if all(index != known for known, _ in parts):
            parts.append((index, data_callback(index)))
    wanted = sharding.shard_shape(shape)
    for _, part in parts:
        if np.shape(part) != wanted:
            raise ValueError(
                f"Expected shard shape {wanted} doesn't match the single device array shape "
                f"{np.shape(part)}. Shape of Array is {shape} with sharding {sharding}: `data_callback` is "
                "given an index, and has to give the part of the array that is there"
            )
        if dtype is not None and get_aval(part).dtype != np.dtype(dtype):
            raise ValueError(
                "If `dtype` is provided to `jax.make_array_from_callback`, the array returned by "
                f"`data_callback` must have it. Got dtype={np.dtype(dtype)} and an array of "
                f"{get_aval(part).dtype}: convert it there, as by part.astype({np.dtype(dtype)})"
            )
    return _joined(shape, sharding, parts)


def make_array_from_single_device_arrays(
    shape: Sequence[int], sharding: Sharding, arrays: Sequence[Any], *, dtype: Any = None
) -> ArrayImpl:
    """An array of this shape, whose parts are `arrays`: one on each of the sharding's devices in this
    process.

    Raises TypeError for what is no Array, ValueError if there are too few, or one has another shape or is on
      no device of the sharding."""
    for array in arrays:
        if not isinstance(array, ArrayImpl):
            raise TypeError(
                f"Unsupported type for elements in `arrays`: {type(array)}. Put each on its device first: "
                "jax.device_put(part, device)"
            )
    shape = tuple(shape)
    places = sharding.addressable_devices_indices_map(shape)
    if len(arrays) != len(places):
        raise ValueError(
            f"Expected {len(places)} per-device arrays (this is how many devices are addressable by the "
            f"sharding), but got {len(arrays)}"
        )
    wanted = sharding.shard_shape(shape)
    for array in arrays:
        if array.shape != wanted:
            raise ValueError(
                f"Expected shard shape {wanted} doesn't match the single device array shape {array.shape}. "
                f"Shape of Array is {get_aval(array).str_short()} with sharding {sharding}"
            )
    found = {device: array for array in arrays for device in array.devices()}
    for device in places:
        if device not in found:
            raise ValueError(
                f"No array of the list is on {device!r}, which has a part by {sharding}: put it there by "
                "jax.device_put(part, device)"
            )
    if (
        spans_devices(getattr(sharding, "mesh", None))
        and (made := made_of(found, sharding)) is not None
    ):
        return made
    return _joined(shape, sharding, [(index, found[device]) for device, index in places.items()])


def make_array_from_process_local_data(
    sharding: Sharding, local_data: Any, global_shape: Any = None
) -> Any:
    """An array from each process's data: along each axis its block, or the whole. `local_data` may be a tree.

    Raises ValueError if the shape doesn't match `global_shape`, or can't be sharded so."""

    def whole(data: Any) -> ArrayImpl:
        if spans_processes(getattr(sharding, "mesh", None)):
            return _of_own_data(data, sharding, global_shape)
        shape = np.shape(data)
        if global_shape is not None and tuple(global_shape) != shape:
            raise ValueError(
                "When calling `make_array_from_process_local_data` on a process that has all devices, the "
                f"shape of its data, {shape}, is that of the array, but got global_shape={global_shape}"
            )
        return make_array_from_callback(shape, sharding, lambda index: data[index])

    return tree_map(whole, local_data)


def _of_own_data(data: Any, sharding: Sharding, global_shape: Any) -> ArrayImpl:
    """The array from this process's `data`, which along each axis is its block or the whole."""
    mesh, spec = sharding.mesh, sharding.spec  # type: ignore[attr-defined]
    data = np.asarray(data)
    if global_shape is None:
        global_shape = shape_of_blocks(data.shape, spec, local_parts(mesh))
    if None in global_shape:
        raise ValueError(f"global_shape={global_shape} has Nones. This is not supported.")
    sharding.shard_shape(global_shape)  # raises if it can't be sharded so
    for axis, places in enumerate(block_index(global_shape, sharding)):
        if data.shape[axis] == global_shape[axis]:
            data = data.take(places.ravel(), axis)
        elif data.shape[axis] != places.size:
            raise ValueError(
                "Invalid host data, each dimension should match either global or process shape. In dimension "
                f"{axis}, the process data has {data.shape[axis]} elements. Process addresses {places.size} "
                f"elements and global_shape={tuple(global_shape)}."
            )
    aval = get_aval(data)
    return from_block(ArrayImpl(to_numpy(data, aval), aval), sharding)


def _joined(shape: tuple[int, ...], sharding: Sharding, parts: Sequence[Any]) -> ArrayImpl:
    """The parts as one array with the sharding."""
    aval = get_aval(parts[0][1])
    whole = np.empty(shape, aval.dtype)
    for index, part in parts:
        whole[index] = to_numpy(part, aval)
    result = ArrayImpl(whole, aval.update(shape=shape, weak_type=False))
    if spans_processes(getattr(sharding, "mesh", None)):  # other processes' parts are not filled in
        return from_block(own_block(result, sharding), sharding)
    if spans_devices(getattr(sharding, "mesh", None)):
        return spread(result, sharding)
    return commit(result, place_of(sharding))
