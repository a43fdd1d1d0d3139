"""What a sum over two processes costs: of few numbers, where messages count, and of many, where bytes do.

    python benchmarks/processes.py

The same program, a jitted shard_map of psum, is run on tinyjax (MPI) and, if it is installed, on JAX (gloo),
each in two processes of one device; then the sum alone, as a step of a program does it; then MPI's own
Allreduce in place, which agrees on nothing and takes a core while it waits. The best of many calls: who else
is at work on the machine makes processes wait for each other; `chrt -r 1 python benchmarks/processes.py` puts
them off.
"""

import argparse
import importlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

KINDS = {"8 floats": (8, 500), "4 MB": (2**20, 30)}  # elements, and calls


def best(calls: int, call: Callable[..., Any], *args: Any) -> float:
    """Microseconds of the fastest of some calls."""
    call(*args)
    times = []
    for _ in range(calls):
        began = time.perf_counter()
        call(*args)
        times.append(time.perf_counter() - began)
    return 1e6 * min(times)


def work(library: str, address: str, process: int) -> list[float]:
    """What one of two processes measures."""
    jax: Any = importlib.import_module(library)
    sharding: Any = importlib.import_module(f"{library}.sharding")
    jax.distributed.initialize(address, 2, process)
    mesh = jax.make_mesh((2,), ("i",))
    split, whole = sharding.PartitionSpec("i"), sharding.PartitionSpec()
    psum = jax.shard_map(lambda x: jax.lax.psum(x, "i"), mesh=mesh, in_specs=split, out_specs=whole)
    f, found = jax.jit(psum), []
    for size, calls in KINDS.values():
        x = np.ones(2 * size, np.float32)
        on_mesh = jax.device_put(x, sharding.NamedSharding(mesh, split))
        found.append(best(calls, lambda x: f(x).block_until_ready(), on_mesh))
    if library == "tinyjax":
        found += alone()
    return found


def alone() -> list[float]:
    """The sum without a program around it: first as a step of one does it, then by MPI's Allreduce."""
    from mpi4py import MPI

    from tinyjax.many_devices.distributed.collectives import Sum

    found = []
    for size, calls in KINDS.values():
        x = np.zeros(size, np.float32)
        step = Sum([(x.shape, x.dtype)], (0, 1), "benchmark")
        found.append(best(calls, step, [x], [x]))
    for size, calls in KINDS.values():
        x = np.zeros(size, np.float32)
        found.append(best(calls, MPI.COMM_WORLD.Allreduce, MPI.IN_PLACE, x))
    return found


def measured(library: str) -> list[float]:
    """The times of process 0."""
    with socket.create_server(("localhost", 0)) as server:
        address = f"localhost:{server.getsockname()[1]}"
    alike = os.environ | {"JAX_PLATFORMS": "cpu", "TINYJAX_BACKGROUND_BUILD": "0"}
    command = [sys.executable, __file__, "--worker", library, address]
    started = [
        subprocess.Popen([*command, str(process)], stdout=subprocess.PIPE, text=True, env=alike)
        for process in range(2)
    ]
    said = [process.communicate(timeout=60)[0] for process in started]
    return [float(number) for number in said[0].splitlines()[-1].split()]


def rate(size: int, microseconds: float) -> str:
    """The time, and for many bytes how many a second."""
    text = f"{microseconds:,.1f}" if microseconds < 1000 else f"{microseconds:,.0f}"
    return text if size < 1000 else f"{text} ({4e-3 * size / microseconds:.2f} GB/s)"


def main() -> None:
    from report import machine, table, write_section

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worker", nargs=3, metavar=("LIBRARY", "ADDRESS", "PROCESS"))
    options = parser.parse_args()
    if options.worker:
        library, address, process = options.worker
        print(*work(library, address, int(process)))
        return
    times = measured("tinyjax")
    gloo = measured("jax") if find_spec("jax") else [float("nan")] * len(KINDS)
    lines = [["psum over 2 processes, us", "JAX (gloo)", "tinyjax", "its sum alone", "Allreduce"]]
    for number, (name, (size, _)) in enumerate(KINDS.items()):
        columns = [gloo[number], *times[number :: len(KINDS)]]
        lines.append([name, *(rate(size, microseconds) for microseconds in columns)])
    text = (
        "## Processes\n\nWritten by `benchmarks/processes.py`: a jitted `shard_map` of `psum`, in two "
        "processes of one machine;\nthe best of many calls. tinyjax's processes first agree on what they do, "
        "in a message that carries 8 floats.\nMPI's own Allreduce agrees on nothing, and keeps a core busy "
        "while it waits.\n\n"
        f"{table(lines)}\n\n{machine()}\n"
    )
    print(text)
    write_section("processes", text)


if __name__ == "__main__":
    main()
