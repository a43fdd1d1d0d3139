"""Devices laid out as arrays for meshes."""

from types import SimpleNamespace

import pytest

from tinyjax.experimental.mesh_utils import create_device_mesh, create_hybrid_device_mesh

EIGHT = [SimpleNamespace(id=i, process_index=i // 4) for i in range(8)]  # on two machines


def ids(devices):
    return [[device.id for device in row] for row in devices]


def test_devices_fill_the_mesh_row_by_row():
    assert ids(create_device_mesh((2, 4), EIGHT)) == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_a_hybrid_mesh_splits_an_axis_over_machines_first():
    rows = create_hybrid_device_mesh((2, 2), (2, 1), EIGHT)
    assert ids(rows) == [[0, 1], [2, 3], [4, 5], [6, 7]]
    columns = create_hybrid_device_mesh((2, 2), (1, 2), EIGHT)
    assert ids(columns) == [[0, 1, 4, 5], [2, 3, 6, 7]]


def test_a_hybrid_mesh_of_another_number_of_machines_is_an_error():
    with pytest.raises(ValueError, match="Number of slices 2 must equal"):
        create_hybrid_device_mesh((2, 2), (4, 1), EIGHT)
