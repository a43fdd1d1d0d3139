"""Collectives of a group: of several processes, or of several OpenCL devices of one.

After this file you can say who computes a collective: MPI between processes, and NumPy between devices, which
the same machine's memory is within reach of. A group is a tuple, of the numbers of processes or of Devices.
Builds on distributed/collectives.py and device_collectives.
"""

from __future__ import annotations

from typing import Any

from tinyjax.runtime.device_collectives import DeviceGather, DeviceSum
from tinyjax.runtime.devices import Device
from tinyjax.runtime.distributed.collectives import Gather, Kinds, Sum

COLLECTIVES: dict[str, tuple[Any, Any]] = {  # by the primitive: of processes, of devices
    "process_psum": (Sum, DeviceSum),
    "process_all_gather": (Gather, DeviceGather),
}


def collective(primitive: str, kinds: Kinds, group: tuple[Any, ...], at: str) -> Any:
    """What writes the results of a collective of arrays of these kinds: `it(arrays, outs)`. `at` is what
    others are told who are elsewhere."""
    of_processes, of_devices = COLLECTIVES[primitive]
    return (of_devices if isinstance(group[0], Device) else of_processes)(kinds, group, at)
