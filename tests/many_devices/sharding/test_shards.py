"""The parts of an array that devices have."""

import numpy as np
import pytest
from cpu_devices import cpu_devices

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.many_devices.sharding.mesh import Mesh
from tinyjax.many_devices.sharding.named_sharding import NamedSharding
from tinyjax.many_devices.sharding.partition_spec import P


@pytest.fixture
def mesh():
    return Mesh(np.array(cpu_devices(4)).reshape(2, 2), ("x", "y"))


def test_an_array_has_one_shard_which_is_the_whole():
    x = jax.device_put(np.ones((2, 3), np.float32))
    (shard,) = x.addressable_shards
    assert shard.device == x.device and shard.data is x
    assert x.sharding.devices_indices_map(x.shape) == {x.device: shard.index}


def test_a_result_is_ready_when_it_was_waited_for():
    x = jax.jit(lambda x: x + 1)(np.ones(3, np.float32)).block_until_ready()
    assert x.is_ready() and x.on_device_size_in_bytes() == 12


def test_an_array_on_a_mesh_is_one_buffer_and_a_label(mesh):
    x = jnp.arange(8.0).reshape(4, 2)
    y = jax.device_put(x, NamedSharding(mesh, P("x")))
    assert y._value is x._value and y.committed
    assert y.sharding.spec == P("x") and y.devices() == {*mesh.devices.flat}


def test_shards_are_slices_of_it_and_replicas_are_counted(mesh):
    x = jax.device_put(jnp.arange(8.0).reshape(4, 2), NamedSharding(mesh, P("x")))
    shards = x.addressable_shards
    assert [shard.device.id for shard in shards] == [0, 1, 2, 3]
    assert [shard.replica_id for shard in shards] == [0, 1, 0, 1]
    assert shards[2].data.tolist() == [[4, 5], [6, 7]]
    assert shards[2].data.devices() == {mesh.devices[1, 0]}


def test_arrays_of_several_meshes_of_the_same_devices_meet(mesh):
    x = jax.device_put(jnp.ones(4), NamedSharding(mesh, P("x")))
    y = jax.device_put(jnp.ones(4), NamedSharding(Mesh(mesh.devices.ravel(), "z"), P("z")))
    assert (x + y).tolist() == jax.jit(jnp.add)(x, y).tolist() == [2, 2, 2, 2]
    assert (x + y).devices() == {*mesh.devices.flat}


def test_arrays_on_other_devices_do_not(mesh):
    x = jax.device_put(jnp.ones(4), NamedSharding(mesh, P("x")))
    with pytest.raises(ValueError, match=r"device ids \[0, 1, 2, 3\] .* device ids \[1\]"):
        x + jax.device_put(jnp.ones(4), mesh.devices[0, 1])


def test_an_axis_that_is_not_split_into_equal_parts_is_refused(mesh):
    with pytest.raises(
        ValueError, match="array axis 0 is partitioned 2 times, but the dimension size is 3"
    ):
        jax.device_put(jnp.ones(3), NamedSharding(mesh, P("x")))
