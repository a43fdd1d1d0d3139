"""Compare tinyjax, eager and jitted, with NumPy and JAX; write benchmarks/RESULTS.md.

    python benchmarks/compare.py                                  # without JAX
    python benchmarks/compare.py --jax-python /path/to/python     # an interpreter that has JAX
    python benchmarks/compare.py --only matmul                    # some workloads; writes no file

Contenders take turns within each round, so that a machine which is busy for a while is busy for all
of them; the table gives the median of the rounds. Read the ratios.
"""

import argparse
import importlib
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import workloads as tuned
from chart import write_chart
from people import PEOPLE
from reasons import reason
from report import FOLDER, machine, table, write_section
from workloads import Workload

WORKLOADS = [*tuned.WORKLOADS, *PEOPLE]
SECONDS_PER_TURN = 0.05
PAUSE = 0.1  # seconds before a turn: threads of BLAS wait for more work in a loop that takes a core
SECONDS_PER_WORKLOAD = 30  # after these there are no further rounds
os.environ["TINYJAX_BACKGROUND_BUILD"] = "0"  # compiled programs are measured, not NumPy meanwhile

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


def numpy_turn(function: Callable, args: tuple) -> Turn:
    return turn_of(lambda: function(*args), lambda result: result)


def jax_turn(library: str, workload: Workload, mode: str) -> Turn:
    """The turn of `library`, which is "jax" or "tinyjax"; its arrays are on the device before."""
    jax = importlib.import_module(library)
    importlib.import_module(f"{library}.numpy")
    args = jax.tree.map(jax.numpy.asarray, workload.args())
    function = workload.make(jax)
    function = jax.jit(function) if mode == "jit" else function
    return turn_of(lambda: function(*args), jax.block_until_ready)


# ---- JAX, in another interpreter ----


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


def compare(
    numbers: list[int], jax_python: str | None, rounds: int
) -> Iterator[dict[Contender, float]]:
    """For each workload of these numbers, the median seconds of each contender."""
    worker = None
    if jax_python:
        command = [jax_python, __file__, "--serve"]
        worker = subprocess.Popen(command, stdin=-1, stdout=-1, text=True)
    for number in numbers:
        workload = WORKLOADS[number]
        turns: dict[Contender, Turn] = {}
        if workload.numpy is not None:
            turns["NumPy", ""] = numpy_turn(workload.numpy, workload.args())
        for mode in workload.modes:
            turns["tinyjax", mode] = jax_turn("tinyjax", workload, mode)
            if worker:
                turns["JAX", mode] = remote_turn(worker, number, mode)
                turns["JAX", mode]()
        times: dict[Contender, list[float]] = {contender: [] for contender in turns}
        began = time.perf_counter()
        for count in range(rounds):
            if count >= 3 and time.perf_counter() - began > SECONDS_PER_WORKLOAD:
                break
            for contender, turn in turns.items():
                time.sleep(PAUSE)
                times[contender].append(turn())
        yield {contender: statistics.median(seconds) for contender, seconds in times.items()}
    if worker:
        worker.communicate()


HEADS = [
    "workload", "NumPy, ms", "JAX, ms", "tinyjax, ms",
    "JAX / tinyjax", "wanted", "NumPy / tinyjax", "wanted",
]  # fmt: skip


def speed_table(workloads: list[Workload], medians: list[dict[Contender, float]]) -> str:
    """The medians as a table in Markdown: a line for each workload and mode."""
    lines = [HEADS]
    for workload, row in zip(workloads, medians):
        for mode in workload.modes:
            times = [row.get(c) for c in [("NumPy", ""), ("JAX", mode), ("tinyjax", mode)]]
            numpy, jax, tinyjax = times
            is_goal = mode == workload.modes[-1]
            line = [f"{workload.name} ({mode})"]
            line += ["" if t is None else f"{1000 * t:.4f}" for t in times]
            for other, goal in [(jax, workload.goal), (numpy, workload.numpy_goal)]:
                line.append("" if other is None or tinyjax is None else f"{other / tinyjax:.2f}")
                line.append(f"{goal:g}" if goal and is_goal else "")
            lines.append(line)
    return table(lines)


def draw(workloads: list[Workload], medians: list[dict[Contender, float]]) -> None:
    """The chart of the jitted workloads, beside their table."""
    ratios = {
        workload.name: row["JAX", "jit"] / row["tinyjax", "jit"]
        for workload, row in zip(workloads, medians)
        if ("JAX", "jit") in row
    }
    title = "How many times as fast as JAX, jitted on a CPU (logarithmic)"
    if ratios:
        write_chart(FOLDER / "speed.svg", title, ratios)


def jitted_mean(workloads: list[Workload], medians: list[dict[Contender, float]]) -> str:
    """The geometric means of how many times as fast as JAX jitted workloads are, for each kind."""
    ratios: dict[str, list[float]] = {}
    for workload, row in zip(workloads, medians):
        if "jit" in workload.modes and ("JAX", "jit") in row:
            ratio = row["JAX", "jit"] / row["tinyjax", "jit"]
            ratios.setdefault(workload.kind, []).append(ratio)
    return "\n".join(
        f"Geometric mean of those {kind}: {statistics.geometric_mean(of):.2f} times as fast as JAX."
        for kind, of in ratios.items()
    )


def missed_goals(workloads: list[Workload], medians: list[dict[Contender, float]]) -> str:
    """A line for each workload that misses a goal: by how much, and why."""
    lines = []
    for workload, row in zip(workloads, medians):
        mode = workload.modes[-1]
        goals = [(("JAX", mode), workload.goal), (("NumPy", ""), workload.numpy_goal)]
        ratios = {
            (other[0], goal): row[other] / row["tinyjax", mode]
            for other, goal in goals
            if goal and other in row
        }
        missed = [
            f"{ratio:.2f} times as fast as {other}, wanted {goal:g}"
            for (other, goal), ratio in ratios.items()
            if ratio < goal
        ]
        if missed:
            lines.append(f"- {workload.name}: {'; '.join(missed)}. {reason(workload.name)}")
    return "\n".join(["### Missed", "", *(lines or ["Nothing."])])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jax-python", help="an interpreter which can import JAX")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", default="", help="workloads whose name has this in it")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve()

    numbers = [n for n, w in enumerate(WORKLOADS) if options.only.lower() in w.name.lower()]
    workloads = [WORKLOADS[n] for n in numbers]
    medians = list(compare(numbers, options.jax_python, options.rounds))
    text = f"""## Speed

Written by `benchmarks/compare.py`: medians of {options.rounds} rounds. "JAX / tinyjax" is
JAX's time divided by tinyjax's; the next column is the goal. Then the same for NumPy.

![How many times as fast as JAX each jitted workload is](results/speed.svg)

{speed_table(workloads, medians)}

{jitted_mean(workloads, medians)}

{missed_goals(workloads, medians)}

{machine(options.jax_python)}
"""
    if not options.only:
        draw(workloads, medians)
        write_section("speed", text)
    print(text)


if __name__ == "__main__":
    main()
