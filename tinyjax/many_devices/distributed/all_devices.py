"""`jax.devices()` with several processes: the devices of all processes.

A process can only use its own devices; the others' are names for building meshes.
"""

from __future__ import annotations

import os

from tinyjax.many_devices.distributed import processes
from tinyjax.many_devices.distributed.processes import Meeting, when_several
from tinyjax.runtime.devices import Device, Found, add_devices
from tinyjax.runtime.pocl.cache import pocl_folder

CPU_IDS = 2048  # most CPU devices of a process


def with_others(found: Found) -> Found:
    """The devices of all processes by platform, in process order; `found` are this process's. All processes
    must call it together.

    CPU device 1 of process 2 is number 2 * CPU_IDS + 1, as in JAX; GPUs are numbered throughout."""
    here = {name: [device.device_kind for device in listed] for name, listed in found.items()}
    with Meeting("jax.devices()", processes.everybody()) as group:
        of_all = group.comm.allgather(here)
    merged: Found = {name: [] for name in found}
    for process, of_one in enumerate(of_all):
        for name, kinds in of_one.items():
            listed = merged.setdefault(name, [])
            first = process * CPU_IDS if name == "cpu" else len(listed)
            for number, kind in enumerate(kinds):
                is_own = process == processes.process_index()
                device = found[name][number] if is_own else Device(name, number, kind)
                device.id, device.process_index = first + number, process
                device.local_hardware_id = number if is_own else None
                listed.append(device)
    return merged


def _prepare() -> None:
    """Give each process a separate cache: PoCL may fail if two build the same kernel at once."""
    own = f"process{processes.process_index()}"
    os.environ["POCL_CACHE_DIR"] = str(pocl_folder() / own)
    add_devices.append(with_others)


when_several.append(_prepare)
