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
