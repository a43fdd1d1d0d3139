"""Where an array is, as an object."""

import numpy as np
import pytest

import tinyjax as jax
from tinyjax.transform.pmap.sharding import SingleDeviceSharding


def test_a_sharding_prints_as_in_jax():
    sharding = SingleDeviceSharding(jax.devices("cpu")[0])
    assert repr(sharding) == "SingleDeviceSharding(device=CpuDevice(id=0), memory_kind=device)"


def test_shardings_of_one_device_are_equal():
    device = jax.devices()[0]
    assert SingleDeviceSharding(device) == SingleDeviceSharding(device)
    assert len({SingleDeviceSharding(device), SingleDeviceSharding(device)}) == 1


def test_an_array_has_one_shard_which_is_the_whole():
    x = jax.device_put(np.ones((2, 3), np.float32))
    (shard,) = x.addressable_shards
    assert shard.device == x.device and shard.data is x
    assert x.sharding.devices_indices_map(x.shape) == {x.device: shard.index}


def test_a_result_is_ready_when_it_was_waited_for():
    x = jax.jit(lambda x: x + 1)(np.ones(3, np.float32)).block_until_ready()
    assert x.is_ready() and x.on_device_size_in_bytes() == 12


def test_a_sharding_takes_a_device():
    with pytest.raises(TypeError, match="takes a Device"):
        SingleDeviceSharding("cpu")
