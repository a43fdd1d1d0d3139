"""What it costs to be on two devices of one machine: jit of shard_map beside plain jit.

    python benchmarks/devices.py

Each program is run on one device, and by shard_map on two, on arrays of the same size: on devices that are
one OpenCL device (JAX_NUM_CPU_DEVICES=2), where shard_map is compiled as one program, and on two OpenCL
devices that share the processor's cores (POCL_DEVICES="pthread pthread basic"), where each runs a program of
its own. Two GPUs would each do half of the work; these share the cores of the one, and show what is
lost. The best of many rounds, in which all take turns.
"""

import argparse
import functools
import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

ROUNDS = 40
KINDS = {  # environments of a process
    "one OpenCL device": {"JAX_NUM_CPU_DEVICES": "2"},
    "two OpenCL devices": {"POCL_DEVICES": "pthread pthread basic"},
}


class Program(NamedTuple):
    """`on_two` is what each of two devices computes; None: what one does."""

    on_one: Callable
    on_two: Callable | None
    shapes: tuple[tuple[int, ...], ...]
    in_specs: tuple[Any, ...]
    out_specs: Any


def programs(jax: Any) -> dict[str, Program]:
    jnp, lax, P = jax.numpy, jax.lax, jax.sharding.PartitionSpec
    rows, whole = P("i"), P()

    def total(x: Any) -> Any:
        return lax.psum(x, "i")

    def step(params: list[Any], x: Any, y: Any, mean: Callable = lambda x: x) -> list[Any]:
        def loss(params: list[Any]) -> Any:
            h = jnp.tanh(jnp.tanh(x @ params[0]) @ params[1])
            return mean(jnp.mean((h @ params[2] - y) ** 2))

        return [w - 0.01 * g for w, g in zip(params, jax.grad(loss)(params))]

    def step_of_all(x: Any, y: Any, *params: Any) -> list[Any]:
        return step(list(params), x, y, lambda loss: lax.pmean(loss, "i"))

    square = ((2048, 2048),)
    factors = ((1024, 1024), (1024, 1024))
    network = ((1024, 784), (1024, 10), (784, 512), (512, 512), (512, 10))
    return {
        "x * sin(x), 4M": Program(lambda x: x * jnp.sin(x), None, ((2**22,),), (rows,), rows),
        "softmax, 2048 x 2048": Program(jax.nn.softmax, None, square, (rows,), rows),
        "sums of rows": Program(lambda x: x.sum(1), None, square, (rows,), rows),
        "sums of columns": Program(
            lambda x: x.sum(0), lambda x: total(x.sum(0)), square, (rows,), whole
        ),
        "sum of 4M": Program(jnp.sum, lambda x: total(x.sum()), ((2**22,),), (rows,), whole),
        "x @ w, rows of 1024 x 1024": Program(
            lambda x, w: x @ w, None, factors, (rows, whole), rows
        ),
        "x @ w, sums of products": Program(
            lambda x, w: x @ w, lambda x, w: total(x @ w), factors, (P(None, "i"), rows), whole
        ),
        "step of an MLP": Program(
            lambda x, y, *params: step(list(params), x, y),
            step_of_all,
            network,
            (rows, rows, whole, whole, whole),
            whole,
        ),
    }


def measured(rounds: int) -> dict[str, tuple[float, float]]:
    """Seconds of each program on one device and on two."""
    jax: Any = importlib.import_module("tinyjax")
    mesh = jax.make_mesh((2,), ("i",), (jax.sharding.AxisType.Auto,))
    calls: dict[str, list[Callable[[], Any]]] = {}
    for name, program in programs(jax).items():
        rng = np.random.default_rng(0)
        arrays = [rng.normal(size=shape).astype(np.float32) / 28 for shape in program.shapes]
        spread = [
            jax.device_put(array, jax.sharding.NamedSharding(mesh, spec))
            for array, spec in zip(arrays, program.in_specs)
        ]
        specs = {"in_specs": program.in_specs, "out_specs": program.out_specs}
        on_two = jax.jit(jax.shard_map(program.on_two or program.on_one, mesh=mesh, **specs))
        on_one, whole = jax.jit(program.on_one), list(map(jax.numpy.asarray, arrays))
        calls[name] = [functools.partial(on_one, *whole), functools.partial(on_two, *spread)]
    best = {name: [float("inf")] * 2 for name in calls}
    for _ in range(rounds):
        for name, both in calls.items():
            for number, call in enumerate(both):
                began = time.perf_counter()
                jax.block_until_ready(call())
                best[name][number] = min(best[name][number], time.perf_counter() - began)
    return {name: (one, two) for name, (one, two) in best.items()}


def in_process(kind: str, rounds: int) -> dict[str, tuple[float, float]]:
    settings = {"JAX_PLATFORMS": "cpu", "TINYJAX_BACKGROUND_BUILD": "0"} | KINDS[kind]
    command = [sys.executable, __file__, "--rounds", str(rounds), "--worker"]
    environment = os.environ | settings
    ended = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return json.loads(ended.stdout.splitlines()[-1])


def main() -> None:
    from report import machine, table, write_section

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--worker", action="store_true")
    options = parser.parse_args()
    if options.worker:
        print(json.dumps(measured(options.rounds)))
        return
    found = {kind: in_process(kind, options.rounds) for kind in KINDS}
    lines = [["milliseconds"]]
    for kind in KINDS:
        lines[0] += [f"{kind}: jit", "shard_map on 2", "ratio"]
    for name in next(iter(found.values())):
        line = [name]
        for kind in KINDS:
            one, two = found[kind][name]
            line += [f"{1e3 * one:.2f}", f"{1e3 * two:.2f}", f"{two / one:.2f}"]
        lines.append(line)
    text = f"""## Devices of one process

Written by `benchmarks/devices.py`: jit of a program, and jit of its `shard_map` on two devices; the best of
{options.rounds} rounds. Two devices of one OpenCL device run one program; sums of products write more. Two
OpenCL devices share the cores here, and a collective waits 0.3 to 0.5 ms for the other's thread.

{table(lines)}

{machine()}
"""
    print(text)
    write_section("devices", text)


if __name__ == "__main__":
    main()
