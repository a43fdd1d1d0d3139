"""Which part of an array a device has."""

import numpy as np
import pytest
from cpu_devices import cpu_devices

from tinyjax.many_devices.sharding.mesh import Mesh
from tinyjax.many_devices.sharding.named_sharding import DuplicateSpecError, NamedSharding
from tinyjax.many_devices.sharding.partition_spec import P


@pytest.fixture
def mesh():
    return Mesh(np.array(cpu_devices(4)).reshape(2, 2), ("x", "y"))


def parts(mesh, *spec, shape):
    """The index of each device's part, as ranges of its axes."""
    indices = NamedSharding(mesh, P(*spec)).devices_indices_map(shape).values()
    return [tuple((part.start, part.stop) for part in index) for index in indices]


def test_devices_along_an_axis_have_one_part_after_the_other(mesh):
    assert parts(mesh, None, "y", shape=(3, 8)) == [
        ((None, None), (0, 4)),
        ((None, None), (4, 8)),
        ((None, None), (0, 4)),
        ((None, None), (4, 8)),
    ]


def test_the_first_of_two_axes_counts_most(mesh):
    assert parts(mesh, ("x", "y"), shape=(8,)) == [((0, 2),), ((2, 4),), ((4, 6),), ((6, 8),)]
    assert parts(mesh, ("y", "x"), shape=(8,)) == [((0, 2),), ((4, 6),), ((2, 4),), ((6, 8),)]


def test_what_is_split_over_an_axis_of_one_device_is_whole():
    one = Mesh(cpu_devices(1), "x")
    assert parts(one, "x", shape=(3,)) == [((None, None),)]
    assert NamedSharding(one, P("x")).is_fully_replicated


def test_shardings_are_equivalent_if_all_parts_are_at_the_same_devices(mesh):
    flat = NamedSharding(Mesh(mesh.devices.ravel(), "z"), P("z"))
    assert flat.is_equivalent_to(NamedSharding(mesh, P(("x", "y"))), 1)
    assert not flat.is_equivalent_to(NamedSharding(mesh, P(("y", "x"))), 1)


def test_a_mesh_axis_splits_one_axis_of_an_array(mesh):
    with pytest.raises(DuplicateSpecError, match="P\\('x', 'x'\\) has duplicate entries for `x`"):
        NamedSharding(mesh, P("x", "x"))
