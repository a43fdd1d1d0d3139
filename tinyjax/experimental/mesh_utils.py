"""jax.experimental.mesh_utils: devices in the shape of a mesh.

On real networks of devices the order decides which are neighbours. Here all devices of a machine are as far
from each other, so they come in the order in which they are listed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinyjax.core.missing_names import getattr_of
from tinyjax.runtime.devices import devices as listed_devices


def create_device_mesh(
    mesh_shape: Sequence[int],
    devices: Sequence[Any] | None = None,
    *,
    contiguous_submeshes: bool = False,
    allow_split_physical_axes: bool = False,
) -> np.ndarray:
    """The devices as an array of this shape, for jax.sharding.Mesh. The two flags are for other networks.

    Raises ValueError if there are not as many devices."""
    present = list(listed_devices() if devices is None else devices)
    if math.prod(mesh_shape) != len(present):
        raise ValueError(
            f"Number of devices {len(present)} must equal the product of mesh_shape {tuple(mesh_shape)}: "
            "give as many, or take jax.make_mesh, which uses the first ones"
        )
    return np.array(present, object).reshape(mesh_shape)


def create_hybrid_device_mesh(
    mesh_shape: Sequence[int],
    dcn_mesh_shape: Sequence[int],
    devices: Sequence[Any] | None = None,
    *,
    process_is_granule: bool = False,
    should_sort_granules_by_key: bool = True,
    allow_split_physical_axes: bool = False,
) -> np.ndarray:
    """The devices as an array whose axes are split over machines (`dcn_mesh_shape`) first, and then over the
    devices of each (`mesh_shape`).

    Raises ValueError if there are not as many devices, or machines."""
    present = list(listed_devices() if devices is None else devices)
    machines = sorted({device.process_index for device in present})
    if len(machines) != math.prod(dcn_mesh_shape):
        raise ValueError(
            f"Number of slices {len(machines)} must equal the product of dcn_mesh_shape "
            f"{tuple(dcn_mesh_shape)}"
        )
    of_each = [[d for d in present if d.process_index == machine] for machine in machines]
    meshes = [create_device_mesh(mesh_shape, each) for each in of_each]
    stacked = np.stack(meshes).reshape(*dcn_mesh_shape, *mesh_shape)
    n = len(mesh_shape)
    pairs = [axis for pair in zip(range(n), range(n, 2 * n)) for axis in pair]
    return stacked.transpose(pairs).reshape(np.multiply(dcn_mesh_shape, mesh_shape))


__getattr__ = getattr_of(__name__)
