"""A training step on N machines: predicted by the cost model, and measured in 1, 2 and 4 processes.

    python benchmarks/scaling.py

A network (784-512-512-10) is trained data parallel: each process has 256 images, and gradients are summed.
The model is tinyjax/many_devices/sharding/step_time.py: what computing takes is measured, in as many
processes at a time as there will be, which share this machine's cores, till the last of them is done;
latency and bandwidth are those of a psum of 8 floats and of one of 4 MB between two processes:
where processes are more than cores, of
two that share one, since they also wait for their turns. Predicted are the step of two processes and of four,
and of machines that are not here. The same program runs on JAX (gloo) too, if it is installed.
"""

import argparse
import importlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

ROWS, SIZES = 256, (784, 512, 512, 10)
PROCESSES = (1, 2, 4)
CORES = len(os.sched_getaffinity(0))
SMALL, LARGE = 8, 2**20  # floats
ROUNDS = 40  # fewer, by --rounds, where others are at work
NETWORKS = {  # seconds, bytes a second
    "1 Gbit/s Ethernet": (50e-6, 0.125e9),
    "100 Gbit/s": (5e-6, 12.5e9),
    "NVLink, 450 GB/s": (2e-6, 450e9),
}
MACHINES = (1, 2, 8, 64, 512)


# ---- the program ----


def program(jax: Any, mesh: Any, axis: str) -> tuple[Callable, Callable]:
    """A step of one process by itself, and the step of all."""
    jnp, lax = jax.numpy, jax.lax
    P = jax.sharding.PartitionSpec

    def loss(params: Any, x: Any, y: Any) -> Any:
        for w in params[:-1]:
            x = jnp.tanh(x @ w)
        return jnp.mean((x @ params[-1] - y) ** 2)

    def mean_loss(params: Any, x: Any, y: Any) -> Any:
        return lax.pmean(loss(params, x, y), axis)

    def step_of(loss: Callable) -> Callable:
        def step(params: Any, x: Any, y: Any) -> Any:
            grads = jax.grad(loss)(params, x, y)
            return [w - 0.01 * g for w, g in zip(params, grads)]

        return step

    specs = {"in_specs": (P(), P(axis), P(axis)), "out_specs": P()}
    return step_of(loss), jax.shard_map(step_of(mean_loss), mesh=mesh, **specs)


def arguments(processes: int) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    params = [rng.normal(size=s).astype(np.float32) / 28 for s in zip(SIZES, SIZES[1:])]
    x = rng.normal(size=(ROWS * processes, SIZES[0])).astype(np.float32)
    return params, x, rng.normal(size=(ROWS * processes, SIZES[-1])).astype(np.float32)


# ---- measuring ----


def work(
    library: str, address: str, count: int, process: int, rounds: int
) -> dict[str, list[tuple[float, float]]]:
    """When one of `count` processes began and ended each call, by the machine's clock, in seconds: calls that
    take turns, round by round."""
    jax: Any = importlib.import_module(library)
    for module in ("numpy", "sharding"):
        importlib.import_module(f"{library}.{module}")
    if count > 1:
        jax.distributed.initialize(address, count, process)
    P = jax.sharding.PartitionSpec
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("d",))
    alone, step = program(jax, mesh, "d")
    params, x, y = arguments(count)

    def put(value: Any, spec: Any) -> Any:
        return jax.device_put(value, jax.sharding.NamedSharding(mesh, spec))

    def total(x: Any) -> Any:
        return jax.lax.psum(x, "d")

    psum = jax.jit(jax.shard_map(total, mesh=mesh, in_specs=P("d"), out_specs=P()))
    ones = {n: put(np.ones(n * count, np.float32), P("d")) for n in (SMALL, LARGE)}
    own = [jax.numpy.asarray(v) for v in (x[:ROWS], y[:ROWS])]
    whole, spread = [jax.numpy.asarray(w) for w in params], [put(w, P()) for w in params]
    split = [put(v, P("d")) for v in (x, y)]
    alone, step = jax.jit(alone), jax.jit(step)
    calls: dict[str, Callable[[], Any]] = {
        "small": lambda: psum(ones[SMALL]),
        "compute": lambda: alone(whole, *own),
        "step": lambda: step(spread, *split),
        "large": lambda: psum(ones[LARGE]),
    }
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            if count > 1:  # all begin at once
                jax.block_until_ready(psum(ones[SMALL]))
            began = time.monotonic()
            jax.block_until_ready(call())
            times[name].append((began, time.monotonic()))
    return times


def measured(library: str, count: int, rounds: int, cores: int = CORES) -> dict[str, float]:
    """The times of `count` processes: of each round from when the first one begins, which may be long before
    another has its turn on their core, till the last one is done; and the best round of these."""
    with socket.create_server(("localhost", 0)) as server:
        address = f"localhost:{server.getsockname()[1]}"
    alike = {"JAX_PLATFORMS": "cpu", "TINYJAX_BACKGROUND_BUILD": "0"}
    command = [sys.executable, __file__, "--rounds", str(rounds), "--cores", str(cores)]
    command += ["--worker", library, address]
    started = [
        subprocess.Popen(
            [*command, str(count), str(process)],
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | alike,
        )
        for process in range(count)
    ]
    said = [json.loads(p.communicate(timeout=400)[0].splitlines()[-1]) for p in started]
    return {name: min(map(_seconds, zip(*(each[name] for each in said)))) for name in said[0]}


def _seconds(calls: Sequence[tuple[float, float]]) -> float:
    """From the first beginning to the last end."""
    begins, ends = zip(*calls)
    return max(ends) - min(begins)


# ---- predicting ----


def exchanges(machines: int) -> list[Any]:
    """What the devices of `machines` machines send each other in a step: no machine is needed to know it."""
    import tinyjax as jax
    from tinyjax.core.jaxpr import without_dead_code
    from tinyjax.many_devices.sharding.traffic import traffic_of

    mesh = jax.sharding.AbstractMesh((machines,), ("d",))
    types = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in arguments(1)[0]]
    x, y = [jax.ShapeDtypeStruct((ROWS * machines, n), np.float32) for n in (SIZES[0], SIZES[-1])]
    closed = jax.make_jaxpr(program(jax, mesh, "d")[1])(types, x, y)
    return traffic_of(without_dead_code(closed)).exchanges


def network_of(times: dict[str, float]) -> Any:
    """Latency and bandwidth, from two psums between two processes. tinyjax's have a round before them, in
    which the processes agree on what they do; it is part of the latency here."""
    from tinyjax.many_devices.sharding.step_time import Network

    latency = times["small"]
    return Network(latency, 4 * LARGE / max(times["large"] - latency, 1e-9))


def predicted(times: dict[str, float], count: int, network: Any) -> float:
    from tinyjax.many_devices.sharding.step_time import step_seconds

    return step_seconds(times["compute"], exchanges(count) if count > 1 else [], network)


# ---- the tables ----


def check(
    library: str, name: str, rounds: int, most: int
) -> tuple[list[list[str]], tuple[Any, Any], dict[int, dict[str, float]]]:
    """Lines of the table, the networks between two processes (with a core each, and on one), the times."""
    times = {count: measured(library, count, rounds) for count in PROCESSES if count <= most}
    network = network_of(times[2])
    on_one_core = network_of(measured(library, 2, rounds, cores=1)) if most > CORES else network
    lines = []
    for count, found in times.items():
        guess = predicted(found, count, on_one_core if count > CORES else network)
        ms = [found["compute"], guess - found["compute"], guess, found["step"]]
        columns = [f"{1e3 * seconds:,.2f}" for seconds in ms]
        lines.append([name, str(count), *columns, f"{guess / found['step']:.2f}"])
    return lines, (network, on_one_core), times


def elsewhere(compute: float) -> list[list[str]]:
    """The step of machines that each compute as long as this one, for three networks."""
    from tinyjax.many_devices.sharding.step_time import Network, step_seconds

    lines = [["machines", *NETWORKS]]
    for machines in MACHINES:
        sent = exchanges(machines) if machines > 1 else []
        found = [step_seconds(compute, sent, Network(*numbers)) for numbers in NETWORKS.values()]
        cells = [f"{1e3 * step:,.2f} ({compute / step:.0%})" for step in found]
        lines.append([str(machines), *cells])
    return lines


def main() -> None:
    from report import machine, table, write_section

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worker", nargs=4, metavar=("LIBRARY", "ADDRESS", "COUNT", "PROCESS"))
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="calls of each kind")
    parser.add_argument("--cores", type=int, default=CORES, help="how many of this machine's")
    parser.add_argument("--most", type=int, default=PROCESSES[-1], help="processes")
    options = parser.parse_args()
    if options.worker:
        library, address, count, process = options.worker
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.cores])
        print(json.dumps(work(library, address, int(count), int(process), options.rounds)))
        return
    load = os.getloadavg()[0]
    lines, networks, times = check("tinyjax", "tinyjax (MPI)", options.rounds, options.most)
    if find_spec("jax"):
        lines += check("jax", "JAX (gloo)", options.rounds, options.most)[0]
    load = max(load, os.getloadavg()[0])
    head = ["milliseconds", "processes", "computes", "sends", "predicted", "measured", "ratio"]
    apart, on_one_core = [
        f"{1e6 * n.latency:,.0f} us, {n.bandwidth / 1e9:.2f} GB/s" for n in networks
    ]
    text = f"""## Scaling

Written by `benchmarks/scaling.py`: a data-parallel training step, {ROWS} images a process; predicted by
`tinyjax/many_devices/sharding/step_time.py`, and measured; the best of {options.rounds} rounds. Latency and
bandwidth are those of two psums between two processes (tinyjax: {apart}), or, with more
processes than cores, on one core ({on_one_core}).

{table([head, *lines])}

The same step, predicted for many machines, with the share of the time in which they compute:

{table(elsewhere(times[1]["compute"]))}

{machine()} Load average: {load:.1f}; this benchmark itself adds at most 4.
"""
    print(text)
    write_section("scaling", text)


if __name__ == "__main__":
    main()
