"""`jax.distributed.initialize`: from one process to many.

A process gets its number from MPI under `mpiexec -n 4 python program.py`, or from the call's arguments if the
processes are started one by one.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Sequence

import numpy as np

from tinyjax.many_devices import across_processes as _across_processes  # noqa: F401
from tinyjax.many_devices.distributed import all_devices as _all_devices  # noqa: F401
from tinyjax.many_devices.distributed import processes
from tinyjax.many_devices.distributed.rendezvous import host_and_port, join
from tinyjax.many_devices.distributed.waiting import share_cores
from tinyjax.many_devices.distributed.whereabouts import Directory
from tinyjax.runtime import devices

# Variables set by MPICH's and Open MPI's mpiexec, and other launchers.
LAUNCHERS = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK")


def initialize(
    coordinator_address: str | None = None, num_processes: int | None = None,
    process_id: int | None = None, local_device_ids: int | Sequence[int] | None = None,
    cluster_detection_method: str | None = None, initialization_timeout: int = 300,
    heartbeat_timeout_seconds: int = 100, shutdown_timeout_seconds: int = 300,
    coordinator_bind_address: str | None = None, slice_index: int | None = None,
    partition_index: int | None = None,
) -> None:  # fmt: skip
    """Join the other processes of the program; each must call this before it uses a device.

    Under `mpiexec -n 4 python program.py`, no arguments are needed. Otherwise pass the address of process 0
    ("host:port", any free port), the number of processes, and this process's number.
    `initialization_timeout`: the seconds to wait for the others; `coordinator_bind_address`: where process 0
    listens, if not at its address. The other arguments have no effect: the end of a process is noticed at
    once, and `tinyjax_collective_timeout_seconds` limits the wait for a process at a collective.
    Raises:
      RuntimeError: it was called before, or devices were used already; a process is missing after the
      timeout, or they differ in num_processes; MPI is missing. ValueError: an argument is missing, out of
      range, or contradicts mpiexec. TypeError: a number isn't an integer."""
    if processes.is_initialized():
        raise RuntimeError("distributed.initialize should only be called once.")
    if processes.process_count() > 1:
        raise RuntimeError("MPI can't start again after jax.distributed.shutdown()")
    if devices.are_known():
        raise RuntimeError(
            "jax.distributed.initialize() must be called before any JAX calls that might initialise the "
            "backend. This includes any computation, but also calls to jax.devices, jax.device_put, and "
            "others."
        )
    coordinator_address = coordinator_address or os.environ.get("JAX_COORDINATOR_ADDRESS")
    watch = None
    if not any(name in os.environ for name in LAUNCHERS):
        address, count, process = _checked(coordinator_address, num_processes, process_id)
        if coordinator_bind_address is not None:
            host_and_port(coordinator_bind_address, "coordinator_bind_address")
        _check_mpi()
        watch = join(address, count, process, initialization_timeout, coordinator_bind_address)
    else:
        _check_mpi()
    world = processes.start_mpi(watch)
    if world.count > 1:
        world.directory = Directory(world)
        _unlink_shared_memory()
        share_cores(world.mpi.COMM_WORLD.Split_type(world.mpi.COMM_TYPE_SHARED))
    for name, said, true in (
        ("num_processes", num_processes, world.count),
        ("process_id", process_id, world.index),
    ):
        if said not in (None, true):
            raise ValueError(f"{name}={said}, but MPI, which started this process, says {true}")


def _checked(address: str | None, count: int | None, process: int | None) -> tuple[str, int, int]:
    """The checked arguments of a process that was started without mpiexec."""
    for name, value in (
        ("coordinator_address", address),
        ("num_processes", count),
        ("process_id", process),
    ):
        if value is None:
            raise ValueError(
                f"{name} should be defined: give coordinator_address, num_processes and process_id, or "
                "start the processes by `mpiexec -n 4 python program.py`"
            )
        if name != "coordinator_address" and not isinstance(value, int | np.integer):
            raise TypeError(f"{name} must be an integer, got {value!r}")
    assert address is not None and count is not None and process is not None
    host_and_port(address)
    if count < 1:
        raise ValueError(f"num_processes must be at least 1, got {count}")
    if not 0 <= process < count:
        raise ValueError(
            f"process_id must be one of 0 .. {count - 1}, as num_processes={count}, got {process}"
        )
    return address, int(count), int(process)


def _unlink_shared_memory() -> None:
    """Unlink the memory that MPICH shares between processes of this machine, which all have opened by now, so
    that a killed program leaves nothing behind. It is a file mapped into this process, with a name that MPICH
    made for this run."""
    with contextlib.suppress(OSError), open("/proc/self/maps") as maps:
        for path in set(re.findall(r" (/dev/shm/mpich_shm_[0-9a-f]+_\d+)$", maps.read(), re.M)):
            with contextlib.suppress(FileNotFoundError):  # another one did it
                os.unlink(path)


def _check_mpi() -> None:
    try:
        import mpi4py  # noqa: F401
    except ImportError as error:
        raise RuntimeError(
            "several processes talk to each other by MPI: pip install 'tinyjax-readable[mpi]', which brings "
            "mpi4py and MPICH; `python -m tinyjax doctor` says whether it works"
        ) from error


def shutdown() -> None:
    """Disconnect from the other processes, which must call it too. Programs call it automatically at their
    end.

    Raises JaxRuntimeError if another process is at a collective instead."""
    if processes.is_initialized():
        processes.part("jax.distributed.shutdown()")
