"""Time to the first result of a jitted function that nobody has seen before, in a fresh process.

    python benchmarks/first_result.py --jax-python /path/to/python     # an interpreter that has JAX

The function is a training step of an MLP. Each measurement is a new process: it imports the
library, opens its devices and puts the arrays there; then the clock runs until the first result is there.
Cold is with empty cache folders, warm with those that a run before has filled. All have their modules'
bytecode, as pip leaves it. Contenders take turns.
"""

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from report import machine, table, write_section
from workloads import mlp, mlp_step

# Name, library, environment. The first of each state of the caches is what the others are compared with.
BACKGROUND = {"TINYJAX_BACKGROUND_BUILD": "1"}
WAITING = {"TINYJAX_BACKGROUND_BUILD": "0"}
KEEP_ALL = {
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
}
CONTENDERS = [
    ("JAX, cold", "jax", {}),
    ("tinyjax, cold: NumPy answers", "tinyjax", BACKGROUND),
    ("tinyjax, cold: waiting for the build", "tinyjax", WAITING),
    ("JAX, warm", "jax", KEEP_ALL),
    ("tinyjax, warm: NumPy answers", "tinyjax", BACKGROUND | KEEP_ALL),
    ("tinyjax, warm: waiting for the build", "tinyjax", WAITING | KEEP_ALL),
    ("tinyjax, warm by PoCL's own cache: waiting", "tinyjax", WAITING),
]
GOALS = {"tinyjax, cold: NumPy answers": 1.0, "tinyjax, warm: NumPy answers": 2.0}


def measure(library: str) -> None:
    """In the fresh process: prints the seconds of each part."""
    began = time.perf_counter()
    jax = importlib.import_module(library)
    importlib.import_module(f"{library}.numpy")
    imported = time.perf_counter()
    jax.devices()
    args = jax.block_until_ready(jax.tree.map(jax.numpy.asarray, mlp()))
    opened = time.perf_counter()
    jax.block_until_ready(jax.jit(mlp_step(jax))(*args))
    done = time.perf_counter()
    print(json.dumps([imported - began, opened - imported, done - opened]))


def run(python: str, library: str, environment: dict[str, str], caches: str) -> list[float]:
    folders = {"XDG_CACHE_HOME": caches}
    if KEEP_ALL.items() <= environment.items():
        folders["JAX_COMPILATION_CACHE_DIR"] = str(Path(caches) / "programs")
    environment = os.environ | {"JAX_PLATFORMS": "cpu"} | environment | folders
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [python, __file__, "--measure", library]
    return json.loads(subprocess.run(command, env=environment, stdout=-1, check=True).stdout)


def first_results(jax_python: str | None, rounds: int) -> dict[str, list[list[float]]]:
    """For each contender, the seconds of all rounds."""
    contenders = [c for c in CONTENDERS if c[1] == "tinyjax" or jax_python]
    pythons = {"jax": jax_python or "", "tinyjax": sys.executable}
    seconds: dict[str, list[list[float]]] = {name: [] for name, _, _ in contenders}
    with tempfile.TemporaryDirectory() as folder:
        for (
            name,
            library,
            environment,
        ) in contenders:  # bytecode is written, and warm caches are filled
            (Path(folder) / name).mkdir()
            run(pythons[library], library, environment | WAITING, str(Path(folder) / name))
        for count in range(rounds):
            for name, library, environment in contenders:
                caches = Path(folder) / (name if "warm" in name else f"{name} {count}")
                caches.mkdir(exist_ok=True)
                seconds[name].append(run(pythons[library], library, environment, str(caches)))
    return seconds


def section(seconds: dict[str, list[list[float]]]) -> str:
    lines = [["", "import, s", "devices and arrays, s", "first result, s", "JAX / it", "wanted"]]
    medians = {n: [statistics.median(part) for part in zip(*s)] for n, s in seconds.items()}
    for name, (imported, opened, first) in medians.items():
        state = "warm" if "warm" in name else "cold"
        jax = medians.get(f"JAX, {state}")
        ratio = f"{jax[2] / first:.2f}" if jax and not name.startswith("JAX") else ""
        goal = f"{GOALS[name]:g}" if name in GOALS else ""
        times = [f"{t:.3f}" for t in (imported, opened, first)]
        lines.append([name, *times, ratio, goal])
    return table(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jax-python", help="an interpreter which can import JAX")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        return measure(options.measure)
    text = f"""## Time to first result

Written by `benchmarks/first_result.py`: the first training step of an MLP in a fresh process, from when
library and arrays are there; medians of {options.rounds} rounds. Cold: empty caches. Warm: an earlier run
has filled `jax_compilation_cache_dir`. NumPy answers while kernels build in the background; with
`tinyjax_background_build` off, calls wait.

{section(first_results(options.jax_python, options.rounds))}

Of a cold build's 1.08 s, PoCL takes 0.94: 0.32 to parse its library of built-in functions, 0.14 in Clang, 0.4
in LLVM. tinyjax takes 0.14.

{machine(options.jax_python)}
"""
    write_section("first_result", text)
    print(text)


if __name__ == "__main__":
    main()
