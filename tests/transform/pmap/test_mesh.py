"""Devices with named axes, as far as libraries speak of them."""

import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.runtime.devices import Device
from tinyjax.sharding import AbstractMesh, Mesh, NamedSharding, PartitionSpec

P = jax.P


def mesh_of(count):
    """CPU devices of the one driver, as JAX_NUM_CPU_DEVICES makes them."""
    first = jax.devices()[0]
    like_first = first.device_kind, first.cl_device, first.inline_device
    return Mesh([first, *(Device("cpu", i, *like_first) for i in range(1, count))], "x")


def test_all_print_as_in_jax():
    specs = [P(), P("x", None), P(("y", "z"))]
    assert list(map(repr, specs)) == ["P()", "P('x', None)", "P(('y', 'z'),)"]
    assert repr(NamedSharding(mesh_of(1), P("x"))) == (
        "NamedSharding(mesh=Mesh('x': 1, axis_types=(Auto,)), spec=P('x',), memory_kind=device)"
    )


def test_the_type_of_an_array_lies_along_no_axis():
    sharding = jax.typeof(jnp.ones((4, 2))).sharding
    assert repr(sharding) == (
        "NamedSharding(mesh=AbstractMesh((), axis_types=()), spec=P(None, None))"
    )
    assert not sharding.mesh.are_all_axes_explicit
    assert isinstance(sharding.mesh, AbstractMesh)


def test_a_sharding_is_updated_as_a_copy():
    sharding = jax.typeof(jnp.ones((4, 2))).sharding
    assert sharding.update(spec=P("x")).spec == P("x") and len(sharding.spec) == 2
    assert jax.core.ShapedArray((2,), jnp.float32, sharding=sharding).shape == (2,)


def test_a_spec_is_a_sequence_of_its_own():
    assert P is PartitionSpec
    assert tuple(P("x", None)) == ("x", None) and len(P("x")) == 1 and P("x")[0] == "x"
    assert P("x") == P("x") != P("x", None) and P("x") != ("x",) and len({P("x"), P("x")}) == 1


def test_an_array_put_on_a_mesh_of_one_device_is_there():
    x = jax.device_put(jnp.ones((4, 2)), NamedSharding(mesh_of(1), P("x")))
    assert x.devices() == {jax.devices()[0]} and x.committed


def test_slices_of_an_array_go_to_a_device_each():
    two = mesh_of(2)
    x = jax.device_put(jnp.arange(4.0).reshape(2, 2), NamedSharding(two, P("x")))
    assert [shard.device for shard in x.addressable_shards] == list(two.devices)
    assert x.tolist() == [[0, 1], [2, 3]]


@pytest.mark.parametrize("shape, spec", [((4,), P("x")), ((2, 2), P(None, "x")), ((2,), P())])
def test_no_other_array_is_on_several_devices(shape, spec):
    with pytest.raises(ValueError, match="only pmap does that"):
        jax.device_put(jnp.ones(shape), NamedSharding(mesh_of(2), spec))


def test_what_there_is_not_is_no_name_of_sharding():
    with pytest.raises(AttributeError, match="has no attribute 'Shardings'"):
        jax.sharding.Shardings  # noqa: B018
