"""Compare tinyjax, eager and jitted, with NumPy and JAX; write benchmarks/RESULTS.md.

    python benchmarks/compare.py                                  # without JAX
    python benchmarks/compare.py --jax-python /path/to/python     # an interpreter that has JAX

Contenders take turns within each round, so that a machine which is busy for a while is busy for all
of them; the table gives the median of the rounds, as ratios to NumPy's time. Read the ratios.
"""

import argparse
import importlib
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from workloads import WORKLOADS, Workload

RESULTS = Path(__file__).parent / "RESULTS.md"
SECONDS_PER_TURN = 0.05

# (library, mode): NumPy has one mode; the others come from `Workload.modes`.
Contender = tuple[str, str]
Turn = Callable[[], float]

# ---- one contender ----


def turn_of(call: Callable[[], Any], wait: Callable[[Any], Any]) -> Turn:
    """A function that measures `call` for a short while and gives the seconds of one call."""

    def seconds(repeat: int) -> float:
        began = time.perf_counter()
        for _ in range(repeat):
            result = call()
        wait(result)
        return (time.perf_counter() - began) / repeat

    seconds(1)  # compiles
    repeat = max(1, int(SECONDS_PER_TURN / seconds(2)))
    return lambda: seconds(repeat)


def numpy_turn(workload: Workload) -> Turn:
    args = workload.args()
    return turn_of(lambda: workload.numpy(*args), lambda result: result)


def jax_turn(library: str, workload: Workload, mode: str) -> Turn:
    """The turn of `library`, which is "jax" or "tinyjax"; its arrays are on the device before."""
    jax = importlib.import_module(library)
    importlib.import_module(f"{library}.numpy")
    args = jax.tree.map(jax.numpy.asarray, workload.args())
    function = workload.make(jax)
    function = jax.jit(function) if mode == "jit" else function
    return turn_of(lambda: function(*args), jax.block_until_ready)


# ---- JAX, in an interpreter of its own ----


def serve() -> None:
    """Take one turn for each line `index mode` of the input; print the seconds."""
    turns: dict[str, Turn] = {}
    for line in sys.stdin:
        if line not in turns:
            index, mode = line.split()
            turns[line] = jax_turn("jax", WORKLOADS[int(index)], mode)
        print(turns[line](), flush=True)


def remote_turn(worker: subprocess.Popen, index: int, mode: str) -> Turn:
    assert worker.stdin and worker.stdout
    stdin, stdout = worker.stdin, worker.stdout

    def turn() -> float:
        print(index, mode, file=stdin, flush=True)
        return float(stdout.readline())

    return turn


# ---- the comparison ----


def compare(jax_python: str | None, rounds: int) -> Iterator[dict[Contender, float]]:
    """For each workload, the median seconds of each contender."""
    worker = None
    if jax_python:
        command = [jax_python, __file__, "--serve"]
        worker = subprocess.Popen(command, stdin=-1, stdout=-1, text=True)
    for index, workload in enumerate(WORKLOADS):
        turns = {("NumPy", ""): numpy_turn(workload)}
        for mode in workload.modes:
            turns["tinyjax", mode] = jax_turn("tinyjax", workload, mode)
            if worker:
                turns["JAX", mode] = remote_turn(worker, index, mode)
                turns["JAX", mode]()
        times: dict[Contender, list[float]] = {contender: [] for contender in turns}
        for _ in range(rounds):
            for contender, turn in turns.items():
                times[contender].append(turn())
        yield {contender: statistics.median(seconds) for contender, seconds in times.items()}
    if worker:
        worker.communicate()


def table(medians: list[dict[Contender, float]]) -> str:
    """The medians as a table in Markdown."""
    columns: list[Contender] = [("tinyjax", "eager"), ("JAX", "eager")]
    columns += [("tinyjax", "jit"), ("JAX", "jit")]
    columns = [c for c in columns if any(c in row for row in medians)]
    heads = ["workload", "NumPy, ms", *(" ".join(c) for c in columns), "tinyjax jit / JAX jit"]
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)]]
    for workload, row in zip(WORKLOADS, medians):
        numpy = row["NumPy", ""]
        cells = [f"{row[c] / numpy:.2f}" if c in row else "" for c in columns]
        both = ("JAX", "jit") in row
        last = f"{row['tinyjax', 'jit'] / row['JAX', 'jit']:.2f}" if both else ""
        lines.append([workload.name, f"{1000 * numpy:.4f}", *cells, last])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jax-python", help="an interpreter which can import JAX")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve()

    import tinyjax

    medians = list(compare(options.jax_python, options.rounds))
    text = f"""# Benchmark results

Written by `benchmarks/compare.py`; times as multiples of NumPy's, so less is faster. Eager tinyjax is
NumPy called through Python that is meant to be read; eager JAX compiles and dispatches each operation.

{table(medians)}

Measured on {os.cpu_count()} cores of {tinyjax.devices()[0].device_kind}, Python
{platform.python_version()}, NumPy {np.__version__}; medians of {options.rounds} rounds in which all
take turns.
"""
    RESULTS.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
