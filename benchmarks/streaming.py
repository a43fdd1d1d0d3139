"""Compare compiled streaming kernels with a copy of as many bytes by C; write RESULTS.md.

    python benchmarks/streaming.py

A kernel like x * 2 + 1 reads each element once and writes one: it can be as fast as the memory, and no
faster. What the memory gives is measured beside it, in turns: C's memcpy, run by as many threads as there
are cores, each for its part of the array, from memory to memory that is there already. The copy's threads
are woken once for many copies, so that it pays nothing for a call: hence the kernel's own time, which the
driver takes, stands beside that of the call.
"""

import argparse
import ctypes
import functools
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from compare import PAUSE, Turn, turn_of
from report import machine, table, write_section

import tinyjax as jax

SIZES = {1_000_000: "1M", 25_000_000: "25M"}
KERNELS = {"x * 2 + 1": lambda x: x * 2 + 1, "-x": lambda x: -x}
SECONDS_PER_TURN = 0.1
WANTED = 0.9

# ---- the copy ----


def copy_turn(x: np.ndarray) -> Turn:
    """Measures the seconds of one copy of `x`, which all cores share."""
    cores = len(os.sched_getaffinity(0))
    out = np.zeros_like(x)
    parts = list(zip(np.array_split(out, cores), np.array_split(x, cores)))
    pool = ThreadPoolExecutor(cores)

    def copy(to: np.ndarray, source: np.ndarray, repeat: int) -> None:
        addresses = to.ctypes.data, source.ctypes.data
        for _ in range(repeat):
            ctypes.memmove(*addresses, to.nbytes)  # other threads run meanwhile

    def seconds(repeat: int) -> float:
        began = time.perf_counter()
        for running in [pool.submit(copy, *part, repeat) for part in parts]:
            running.result()
        return (time.perf_counter() - began) / repeat

    seconds(1)
    repeat = max(1, int(SECONDS_PER_TURN / seconds(2)))
    return lambda: seconds(repeat)


# ---- the comparison ----


def medians(size: int, rounds: int) -> list[float]:
    """Milliseconds of the copy of `size` elements, then of each kernel and its call."""
    host = np.random.default_rng(0).uniform(-2, 2, size).astype(np.float32)
    return in_turns(copy_turn(host), jax.numpy.asarray(host), rounds)


def in_turns(copy: Turn, x: Any, rounds: int) -> list[float]:
    """Milliseconds of a copy, then of each kernel and its call with `x`: the median of the rounds."""
    turns = [copy]
    for function in KERNELS.values():
        call = functools.partial(jax.jit(function), x)
        turns += [kernel_turn(call), turn_of(call, jax.block_until_ready)]
    times: list[list[float]] = [[] for _ in turns]
    for _ in range(rounds):
        for turn, seconds in zip(turns, times):
            time.sleep(PAUSE)
            seconds.append(turn())
    return [1000 * statistics.median(seconds) for seconds in times]


def kernel_turn(call: Callable[[], Any]) -> Turn:
    """Measures the seconds that the kernel of a call takes by the driver's clock."""

    def seconds() -> float:
        with tempfile.TemporaryDirectory() as folder, jax.profiler.trace(folder):
            for _ in range(20):
                result = call()
            jax.block_until_ready(result)
        return statistics.mean(event.microseconds for event in jax.profiler.events()) / 1e6

    return seconds


HEADS = [
    "kernel",
    "copy in C, ms",
    "kernel, ms",
    "call, ms",
    "copy / kernel",
    "copy / call",
    "wanted",
]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    lines = [HEADS]
    for size, name in SIZES.items():
        copy, *ours = medians(size, options.rounds)
        for text, kernel, call in zip(KERNELS, ours[::2], ours[1::2]):
            times = [f"{milliseconds:.4f}" for milliseconds in (copy, kernel, call)]
            ratios = [f"{copy / kernel:.2f}", f"{copy / call:.2f}", f"{WANTED:g}"]
            lines.append([f"{text} of {name}", *times, *ratios])
    text = f"""## Streams

Written by `benchmarks/streaming.py`: kernels that read and write each element once, and C's memcpy of the
same bytes, by a thread on each core; medians of {options.rounds} rounds. 25M elements come from memory, 1M
from a cache: there, most of the time goes to waking a thread for each kernel, and the copy wakes its threads
only once.

{table(lines)}

{machine()}
"""
    write_section("streaming", text)
    print(text)


if __name__ == "__main__":
    main()
