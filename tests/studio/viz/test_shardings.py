"""The picture of which device has which part."""

import numpy as np
import pytest
from cpu_devices import cpu_devices

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import viz
from tinyjax.sharding import Mesh
from tinyjax.sharding import PartitionSpec as P


@pytest.fixture(scope="module")
def mesh():
    return Mesh(np.array(cpu_devices(4), object).reshape(2, 2), ("x", "y"))


def put(mesh, shape, *spec):
    return jax.device_put(jnp.zeros(shape), jax.NamedSharding(mesh, P(*spec)))


def test_a_box_a_part_with_the_devices_that_have_it(mesh):
    source = viz.sharding(put(mesh, (4, 6), "x")).source
    assert source.count("<td width") == 2 and "CPU 0,1<" in source and "CPU 2,3<" in source
    assert "float32[4,6]" in source


def test_arrays_of_a_pytree_are_side_by_side_below_their_names(mesh):
    source = viz.sharding({"w": put(mesh, (4, 6), "x", "y"), "b": put(mesh, (6,))}).source
    assert "b float32[6]" in source and "w float32[4,6]" in source
    assert source.count("<td width") == 4 + 1


def test_what_all_devices_have_is_grey(mesh):
    assert 'bgcolor="#e4e4e4">CPU 0,1,2,3<' in viz.sharding(put(mesh, (6,))).source


def test_arrays_of_three_axes_are_not_drawn(mesh):
    with pytest.raises(ValueError, match="1 and 2 dimensions"):
        viz.sharding(put(mesh, (2, 2, 2)))


# ---- splits and collectives in pictures of programs ----


def test_a_picture_says_how_values_are_split_and_what_devices_send(mesh):
    def f(x):
        return jnp.sum(x * 2, 0)

    x = put(mesh, (4, 6), "x")
    source = viz.dot(jax.make_jaxpr(f)(x), in_shardings=x.sharding).source
    assert "a:f32[4@x,6]" in source and "8@x: split over the mesh axis x" in source
    assert "psum over x: each sends 24 bytes, all 96" in source
    assert source == viz.dot(jax.make_jaxpr(f)(x), in_shardings=[x.sharding]).source


def test_collectives_of_a_shard_map_are_lit(mesh):
    f = jax.shard_map(lambda x: jax.lax.psum(x, "x"), mesh=mesh, in_specs=P("x"), out_specs=P())
    source = viz.dot(jax.make_jaxpr(f)(jnp.zeros((4, 6)))).source
    assert "shard_map x: 2, y: 2" in source and ":f32[4@x,6]" in source
    assert "over x: each sends 48 bytes, all 192" in source and "all devices wait for all" in source


def test_explain_says_the_same(mesh):
    page = viz.explain(lambda x: jnp.sum(x * 2, 0), put(mesh, (4, 6), "x"))
    text = page._repr_html_()
    assert "f32[4@x,6]" in text and "psum over x: each sends 24 bytes, all 96" in text
