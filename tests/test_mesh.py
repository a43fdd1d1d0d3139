"""Devices with named axes, and arrays that lie along them."""

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.devices import Device
from tinyjax.sharding import AbstractMesh, Mesh, NamedSharding, PartitionSpec

P = jax.P


@pytest.fixture
def one():
    return Mesh(jax.devices()[:1], ("x",))


@pytest.fixture
def two():
    """Two CPU devices of the one driver, as JAX_NUM_CPU_DEVICES=2 makes them."""
    first = jax.devices()[0]
    like_first = first.device_kind, first.cl_device, first.inline_device
    return Mesh([first, Device("cpu", 1, *like_first)], "x")


def test_all_print_as_in_jax(one):
    assert P is PartitionSpec
    assert [repr(P()), repr(P("x", None)), repr(P(("y", "z")))] == [
        "P()",
        "P('x', None)",
        "P(('y', 'z'),)",
    ]
    assert repr(one) == "Mesh(axis_sizes=(1,), axis_names=('x',), axis_types=(Auto,))"
    assert repr(NamedSharding(one, P("x"))) == (
        "NamedSharding(mesh=Mesh('x': 1, axis_types=(Auto,)), spec=P('x',), memory_kind=device)"
    )


def test_the_type_of_an_array_lies_along_no_axis():
    sharding = jax.typeof(jnp.ones((4, 2))).sharding
    assert repr(sharding) == (
        "NamedSharding(mesh=AbstractMesh((), axis_types=()), spec=P(None, None))"
    )
    assert not sharding.mesh.are_all_axes_explicit


def test_a_spec_is_a_sequence_of_its_own():
    assert tuple(P("x", None)) == ("x", None) and len(P("x")) == 1 and P("x")[0] == "x"
    assert P("x") + P("y") == P("x", "y")
    assert P("x") != P("x", None) and P("x") != ("x",)


def test_a_mesh_knows_its_axes(one):
    assert dict(one.shape) == {"x": 1} and one.size == 1 and not one.empty
    assert one.abstract_mesh == AbstractMesh((1,), ("x",)) and one == Mesh(one.devices, ("x",))


def test_an_array_put_on_a_mesh_of_one_device_is_there(one):
    x = jax.device_put(jnp.ones((4, 2)), NamedSharding(one, P("x")))
    assert x.devices() == set(one.devices.flat) and x.committed


def test_slices_of_an_array_go_to_a_device_each(two):
    x = jax.device_put(jnp.arange(4.0).reshape(2, 2), NamedSharding(two, P("x")))
    assert [shard.device for shard in x.addressable_shards] == list(two.devices)
    assert x.tolist() == [[0, 1], [2, 3]]


def test_no_other_array_is_on_several_devices(two):
    with pytest.raises(ValueError, match="only pmap does that"):
        jax.device_put(jnp.ones(4), NamedSharding(two, P("x")))


def test_a_shard_has_its_share_of_each_axis(two):
    sharding = NamedSharding(two, P(None, "x"))
    assert sharding.shard_shape((3, 4)) == (3, 2) and not sharding.is_fully_replicated
    with pytest.raises(ValueError, match="no 2 equal parts"):
        sharding.shard_shape((3, 3))


@pytest.mark.parametrize("spec, says", [(P("q"), "not found in mesh"), (P("x", "x"), "twice")])
def test_a_sharding_names_axes_that_there_are_once(one, spec, says):
    with pytest.raises(ValueError, match=says):
        NamedSharding(one, spec)


def test_a_mesh_has_a_name_for_each_axis(one):
    with pytest.raises(ValueError, match="has 1 axes"):
        Mesh(one.devices, ("x", "y"))


def test_make_mesh_takes_the_first_devices():
    assert jax.make_mesh((1,), ("x",)).devices[0] == jax.devices()[0]
    with pytest.raises(ValueError, match=r"JAX_NUM_CPU_DEVICES=1000000"):
        jax.make_mesh((1000, 1000), ("x", "y"))


def test_a_mesh_of_named_sizes_needs_no_devices():
    assert AbstractMesh((2, 3), ("x", "y")).size == 6
    assert np.prod(AbstractMesh((2, 3), ("x", "y")).axis_sizes) == 6
