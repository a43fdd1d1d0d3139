"""Where an array is, as an object."""

import pytest

import tinyjax as jax
from tinyjax.many_devices.sharding.sharding import SingleDeviceSharding


def test_a_sharding_prints_as_in_jax():
    sharding = SingleDeviceSharding(jax.devices("cpu")[0])
    assert repr(sharding) == "SingleDeviceSharding(device=CpuDevice(id=0), memory_kind=device)"


def test_shardings_of_one_device_are_equal():
    device = jax.devices()[0]
    assert SingleDeviceSharding(device) == SingleDeviceSharding(device)
    assert len({SingleDeviceSharding(device), SingleDeviceSharding(device)}) == 1


def test_a_sharding_takes_a_device():
    with pytest.raises(TypeError, match="takes a Device"):
        SingleDeviceSharding("cpu")
