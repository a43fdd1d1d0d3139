"""Measure tinyjax on a GPU: streams beside the driver's copy, and workloads beside NumPy and JAX.

    python benchmarks/gpu.py                                   # without JAX
    python benchmarks/gpu.py --jax-python /path/to/python      # an interpreter that has JAX

A stream reads each element once and writes one: it can be as fast as the GPU copies its own memory. That
copy and the kernels take turns, each by the driver's clock. NumPy computes the workloads on the processor
beside the GPU, and JAX on the GPU, if its interpreter has a JAX for it. Writes benchmarks/RESULTS.md.
"""

import argparse
import dataclasses
import os
import platform
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
from compare import compare, jitted_mean, speed_table
from report import table, version_of_jax, write_section
from streaming import HEADS, KERNELS, in_turns
from workloads import WORKLOADS

import tinyjax as jax

SIZES = {1_000_000: "1M", 25_000_000: "25M", 250_000_000: "250M"}
WANTED = 0.8
JITTED = [n for n, workload in enumerate(WORKLOADS) if "jit" in workload.modes]


def copy_turn(size: int) -> Callable[[], float]:
    """Measures the seconds of one copy of `size` float32 by the driver, from the GPU's memory to itself."""
    import pyopencl as cl

    context = cl.Context([jax.devices("gpu")[0].cl_device])
    times: Any = cl.command_queue_properties.PROFILING_ENABLE
    queue = cl.CommandQueue(context, properties=times)
    source, to = (cl.Buffer(context, cl.mem_flags.READ_WRITE, 4 * size) for _ in range(2))
    cl.enqueue_fill_buffer(queue, source, np.zeros(1, np.float32), 0, 4 * size)

    def seconds() -> float:
        events = [cl.enqueue_copy(queue, to, source, byte_count=4 * size) for _ in range(20)]
        queue.finish()
        return statistics.mean(event.profile.end - event.profile.start for event in events) / 1e9

    return seconds


def medians(size: int, rounds: int) -> list[float]:
    """Milliseconds of the copy of `size` elements, then of each kernel and its call."""
    x = jax.device_put(np.linspace(-2, 2, size, dtype=np.float32), jax.devices("gpu")[0])
    return in_turns(copy_turn(size), x, rounds)


def streams(rounds: int) -> str:
    """A table of the streams of all sizes."""
    lines = [[head.replace("in C", "of the driver") for head in HEADS]]
    for size, name in SIZES.items():
        copy, *ours = medians(size, rounds)
        for text, kernel, call in zip(KERNELS, ours[::2], ours[1::2]):
            times = [f"{milliseconds:.4f}" for milliseconds in (copy, kernel, call)]
            ratios = [f"{copy / kernel:.2f}", f"{copy / call:.2f}", f"{WANTED:g}"]
            lines.append([f"{text} of {name}", *times, *ratios])
    return table(lines)


def workloads(jax_python: str | None, rounds: int) -> str:
    """A table of the jitted workloads, whose goals are those of a CPU and left out, and the mean."""
    no_goals: dict[str, Any] = {"modes": ("jit",), "goal": None, "numpy_goal": None}
    chosen = [dataclasses.replace(WORKLOADS[n], **no_goals) for n in JITTED]
    found = list(compare(JITTED, jax_python, rounds))
    return f"{speed_table(chosen, found)}\n\n{jitted_mean(chosen, found)}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jax-python", help="an interpreter which can import JAX")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"  # JAX takes most of the GPU's memory else
    bandwidth = streams(options.rounds)
    about_jax = (
        f" {version_of_jax(options.jax_python)}" if options.jax_python else ", which is absent"
    )
    device = jax.devices("gpu")[0]
    text = f"""## A GPU

Written by `benchmarks/gpu.py`. Streams first: kernels that read and write each element once, and the driver's
copy of the same bytes, both by the driver's clock; a call also has Python's part and the launch. Medians of
{options.rounds} rounds.

{bandwidth}

Then workloads: NumPy on the processor, JAX{about_jax}, and tinyjax. It is behind
in programs of many small kernels, as each launch takes 8 microseconds, and in products of matrices: JAX's run
on tensor cores, which keep 10 of a float32's 23 bits. tinyjax's keep all, at 18 TFLOP/s of the 67 that the
other cores have.

{workloads(options.jax_python, options.rounds)}

Measured on {device.device_kind}, beside {os.cpu_count()} cores, Python {platform.python_version()}, NumPy
{np.__version__}.
"""
    write_section("gpu", text)
    print(text)


if __name__ == "__main__":
    main()
