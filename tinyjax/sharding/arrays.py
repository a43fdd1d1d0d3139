"""Arrays made of what each device is to have.

After this file you can make an array of a mesh without having the whole of it at first: from a function that
gives the elements at an index, from arrays on the devices, or from what this process has. Builds on shards.

Source: https://docs.jax.dev/en/latest/_autosummary/jax.make_array_from_callback.html
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinyjax.core.array import ArrayImpl
from tinyjax.core.avals import get_aval, to_numpy
from tinyjax.core.tree_util.pytrees import tree_map
from tinyjax.runtime.placement import commit
from tinyjax.sharding.blocks import spans_processes
from tinyjax.sharding.device_blocks import made_of, spans_devices, spread
from tinyjax.sharding.sharding import Sharding, place_of


def make_array_from_callback(
    shape: Sequence[int],
    sharding: Sharding,
    data_callback: Callable[[Any], Any],
    dtype: Any = None,
) -> ArrayImpl:
    """An array of this shape, of which `data_callback(index)` gives the part at an index; it is called once
    for each index that some device has. `dtype` is the one that the parts have.

    Raises ValueError if the shape can't be spread so, or a part has another shape or dtype, and
    NotImplementedError if other processes have parts.
    Source: https://docs.jax.dev/en/latest/_autosummary/jax.make_array_from_callback.html
    """
    _check_is_of_one_process(sharding)
    shape = tuple(shape)
    parts: list[tuple[Any, Any]] = []
    for index in sharding.devices_indices_map(shape).values():
        if all(index != known for known, _ in parts):
            parts.append((index, data_callback(index)))
    for _, part in parts:
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
    """An array of this shape, whose parts are `arrays`: one on each device of the sharding.

    Raises ValueError if there are too few, or one has another shape or is on no device of the sharding, and
    NotImplementedError if other processes have parts.
    Source: https://docs.jax.dev/en/latest/_autosummary/jax.make_array_from_single_device_arrays.html
    """
    _check_is_of_one_process(sharding)
    shape = tuple(shape)
    places = sharding.devices_indices_map(shape)
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
    """An array of what the process has of it; `local_data` may be a tree. With one process, that is all.

    Raises ValueError if the shape is not `global_shape`, or can't be spread so, and NotImplementedError if
    other processes have parts.
    Source: https://docs.jax.dev/en/latest/_autosummary/jax.make_array_from_process_local_data.html
    """

    def whole(data: Any) -> ArrayImpl:
        shape = np.shape(data)
        if global_shape is not None and tuple(global_shape) != shape:
            raise ValueError(
                "When calling `make_array_from_process_local_data` on a process that has all devices, the "
                f"shape of its data, {shape}, is that of the array, but got global_shape={global_shape}"
            )
        return make_array_from_callback(shape, sharding, lambda index: data[index])

    return tree_map(whole, local_data)


def _check_is_of_one_process(sharding: Sharding) -> None:
    """Raises NotImplementedError where other processes have parts."""
    if spans_processes(getattr(sharding, "mesh", None)):
        raise NotImplementedError(
            f"{sharding} has devices of several processes: tinyjax makes arrays of parts within one only. "
            "Give each process the whole by jax.device_put(x, sharding), which keeps its part of it"
        )


def _joined(shape: tuple[int, ...], sharding: Sharding, parts: Sequence[Any]) -> ArrayImpl:
    """The parts as one array, which is where the sharding says."""
    aval = get_aval(parts[0][1])
    whole = np.empty(shape, aval.dtype)
    for index, part in parts:
        whole[index] = to_numpy(part, aval)
    result = ArrayImpl(whole, aval.update(shape=shape, weak_type=False))
    if spans_devices(getattr(sharding, "mesh", None)):
        return spread(result, sharding)
    return commit(result, place_of(sharding))
