"""Collectives of a group: of several processes, or of several OpenCL devices of one.

MPI computes them between processes, and NumPy between devices, whose memory it can access. The cost is the
number of bytes that each member must send, by the best algorithms. A group is a tuple of process numbers or
of Devices.

Source: Chan, Heimlich, Purkayastha, van de Geijn, "Collective communication: theory, practice, and
experience", 2007; Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms", 2009.
"""

from __future__ import annotations

import math
from typing import Any

from tinyjax.many_devices.device_collectives import DeviceGather, DeviceSum
from tinyjax.many_devices.distributed.collectives import Gather, Kinds, Sum
from tinyjax.runtime.devices import Device

COLLECTIVES: dict[str, tuple[Any, Any]] = {  # primitive -> the collective of processes, of devices
    "group_psum": (Sum, DeviceSum),
    "group_all_gather": (Gather, DeviceGather),
}


def collective(primitive: str, kinds: Kinds, group: tuple[Any, ...], at: str) -> Any:
    """The function `it(arrays, outs)` that writes the results of a collective of arrays of these kinds. `at`
    is the position that errors report."""
    of_processes, of_devices = COLLECTIVES[primitive]
    return (of_devices if isinstance(group[0], Device) else of_processes)(kinds, group, at)


# primitive -> (bytes of the operand, n) -> the bytes that one of n devices sends
SENT = {
    "all_gather": lambda size, n: size * (n - 1),
    "all_gather_invariant": lambda size, n: size * (n - 1),
    "all_to_all": lambda size, n: size * (n - 1) / n,
    "pbroadcast": lambda size, n: size * (n - 1) / n,
    "pmax": lambda size, n: 2 * size * (n - 1) / n,
    "pmin": lambda size, n: 2 * size * (n - 1) / n,
    "ppermute": lambda size, n: size,
    "psum": lambda size, n: 2 * size * (n - 1) / n,
    "psum_invariant": lambda size, n: 2 * size * (n - 1) / n,
    "reduce_scatter": lambda size, n: size * (n - 1) / n,
}


def bytes_sent(kind: str, operand: int, size: int) -> int:
    """The bytes that each of `size` devices sends for a collective of an operand of `operand` bytes."""
    return math.ceil(SENT[kind](operand, size))
