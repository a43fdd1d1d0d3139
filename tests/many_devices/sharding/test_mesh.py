"""Devices with named axes."""

import pytest
from cpu_devices import cpu_devices

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.sharding import AbstractMesh, Mesh, NamedSharding, PartitionSpec

P = jax.P


def mesh_of(count):
    return Mesh(cpu_devices(count), "x")


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
    assert sharding.update(spec=P(None)).spec == P(None) and len(sharding.spec) == 2
    assert jax.core.ShapedArray((2,), jnp.float32, sharding=sharding).shape == (2,)


def test_a_spec_is_a_sequence_of_its_own():
    assert P is PartitionSpec
    assert tuple(P("x", None)) == ("x", None) and len(P("x")) == 1 and P("x")[0] == "x"
    assert P("x") == P("x") != P("x", None) and P("x") != ("x",) and len({P("x"), P("x")}) == 1


def test_an_array_put_on_a_mesh_of_one_device_is_there():
    x = jax.device_put(jnp.ones((4, 2)), NamedSharding(mesh_of(1), P("x")))
    assert x.devices() == {jax.devices()[0]} and x.committed


def test_what_there_is_not_is_no_name_of_sharding():
    with pytest.raises(AttributeError, match="has no attribute 'Shardings'"):
        jax.sharding.Shardings  # noqa: B018
