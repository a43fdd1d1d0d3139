"""How much another process slows down each workload: on tinyjax, and on JAX.

    python benchmarks/load.py --jax-python /path/to/python     # an interpreter that has JAX
    python benchmarks/load.py --jax-python ... --only matmul   # some workloads; writes no file

The other process keeps one core busy, and stops while the quiet times are measured. Contenders take turns,
each in its own process.
"""

import argparse
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator

from compare import PAUSE, WORKLOADS, Turn, jax_turn, remote_turn
from report import machine, table, write_section

BOUND = 1.3  # times JAX's slowdown


def serve(library: str) -> None:
    """Take one turn for each line `index mode` of the input; print the seconds."""
    turns: dict[str, Turn] = {}
    for line in sys.stdin:
        index, mode = line.split()
        if line not in turns:
            turns[line] = jax_turn(library, WORKLOADS[int(index)], mode)
        print(turns[line](), flush=True)


def slowdowns(numbers: list[int], jax_python: str, rounds: int) -> Iterator[list[float]]:
    """For each workload: JAX's median seconds and tinyjax's, and by what factor load multiplies each."""
    command = [__file__, "--serve"]
    workers = [
        subprocess.Popen([python, *command, library], stdin=-1, stdout=-1, text=True)
        for python, library in ((jax_python, "jax"), (sys.executable, "tinyjax"))
    ]
    other = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        for number in numbers:
            turns = [remote_turn(worker, number, WORKLOADS[number].modes[-1]) for worker in workers]
            times: dict[tuple[int, signal.Signals], list[float]] = {}
            for count in range(rounds + 1):
                for state in (signal.SIGSTOP, signal.SIGCONT):
                    other.send_signal(state)
                    for library, turn in enumerate(turns):
                        time.sleep(PAUSE)
                        seconds = turn()
                        if count:  # the first turn compiles
                            times.setdefault((library, state), []).append(seconds)
            quiet, busy = (
                [statistics.median(times[library, state]) for library in (0, 1)]
                for state in (signal.SIGSTOP, signal.SIGCONT)
            )
            yield [*quiet, busy[0] / quiet[0], busy[1] / quiet[1]]
    finally:
        other.kill()
        for worker in workers:
            worker.communicate()


def load_table(numbers: list[int], found: list[list[float]]) -> str:
    lines = [["workload", "JAX, ms", "tinyjax, ms", "JAX, times", "tinyjax, times", "beyond"]]
    for number, (jax, tinyjax, by_jax, by_tinyjax) in zip(numbers, found):
        workload = WORKLOADS[number]
        times = [f"{1000 * jax:.4f}", f"{1000 * tinyjax:.4f}", f"{by_jax:.2f}", f"{by_tinyjax:.2f}"]
        beyond = f"{by_tinyjax / by_jax:.2f}" if by_tinyjax > BOUND * by_jax else ""
        lines.append([f"{workload.name} ({workload.modes[-1]})", *times, beyond])
    return table(lines)


def section(numbers: list[int], found: list[list[float]], jax_python: str, rounds: int) -> str:
    return f"""## Beside another process

Written by `benchmarks/load.py`: a workload's time, and by what factor another process that keeps a core
busy multiplies it; medians of {rounds} rounds. The last column has tinyjax's factor divided by JAX's if
that is beyond {BOUND:g}. Three busy threads on two cores get two thirds of a core each, so a program that
uses both cores takes 1.5 times as long. If its threads each stay on one core, they get one core and a half,
so 1.33 times as long is the least. A program on one core takes no longer: the other process has the other
core. So tinyjax can be beyond {BOUND:g} where JAX uses one core, as for Mandelbrot and the game of life.

{load_table(numbers, found)}

{machine(jax_python)}
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jax-python", help="an interpreter which can import JAX")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="", help="workloads whose name has this in it")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve(options.serve)
    numbers = [n for n, w in enumerate(WORKLOADS) if options.only.lower() in w.name.lower()]
    found = list(slowdowns(numbers, options.jax_python, options.rounds))
    text = section(numbers, found, options.jax_python, options.rounds)
    if not options.only:
        write_section("load", text)
    print(text)


if __name__ == "__main__":
    main()
