"""Run libraries for JAX, unmodified, on tinyjax: writes docs/libraries.md.

    pip install -e ".[libraries]"
    python tools/check_libraries.py                # all that are installed, and the table
    python tools/check_libraries.py flax haiku     # only these
    python tools/check_libraries.py --record flax  # what JAX gives: writes tests/golden/flax.txt

A library has a program, tests/programs/with_NAME.py, as in the library's own introduction; what it prints on
JAX is recorded. On tinyjax it must print the same text, and the same numbers: up to 1e-4 of the larger one,
or 1e-6. Rows of libraries that are not installed stay as they are.
"""

import argparse
import importlib.metadata
import importlib.util
import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "tests" / "programs"
GOLDEN = ROOT / "tests" / "golden"
TABLE = ROOT / "docs" / "libraries.md"
RELATIVE, ABSOLUTE = 1e-4, 1e-6
NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|inf|nan)(?![\w])")

HEADING = """# Libraries for JAX that run on tinyjax

Unmodified, as they are on PyPI, under `python -m tinyjax run` or after `tinyjax.install_as_jax()`. Each has a
program in [tests/programs](../tests/programs), and what that prints on JAX 0.12 is recorded. Written by
`python tools/check_libraries.py`.

| library | version | what is run | same numbers |
|---|---|---|---|
"""

OTHERS = """
Three more were tried; they don't run on JAX 0.12 itself either. Neural Tangents 0.6.5 imports TensorFlow's
converters and `jax.core.Jaxpr`, which that JAX no longer has. Trax 1.4.1 imports TensorFlow. What pip finds
of Elegy for this Python (0.1.0) is empty. Objax 1.8 runs on both, if a program gives it back
`jax.sharding.PmapSharding`.
"""


def programs() -> list[str]:
    """Names of the libraries that have a program."""
    return sorted(path.stem.removeprefix("with_") for path in PROGRAMS.glob("with_*.py"))


def installed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def output(name: str, on_jax: bool = False) -> str:
    """What the program prints. RuntimeError with the end of its error, if it fails."""
    how = [] if on_jax else ["-m", "tinyjax", "run"]
    command = [sys.executable, *how, str(PROGRAMS / f"with_{name}.py")]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200, env=env, cwd=ROOT)
    if done.returncode != 0:
        raise RuntimeError(done.stderr[-2000:])
    return done.stdout


def difference(got: str, want: str) -> str:
    """The first line that differs in its words, or in a number by more than rounding; else ""."""
    lines = [text.splitlines() for text in (got, want)]
    if len(lines[0]) != len(lines[1]):
        return f"{len(lines[0])} lines, and {len(lines[1])} on JAX"
    for ours, theirs in zip(*lines, strict=True):
        if _words(ours) != _words(theirs) or not all(map(_close, _numbers(ours), _numbers(theirs))):
            return f"{ours!r}, and {theirs!r} on JAX"
    return ""


def _words(line: str) -> list[str]:
    return NUMBER.sub(" # ", line).split()


def _numbers(line: str) -> list[float]:
    return [float(number) for number in NUMBER.findall(line)]


def _close(a: float, b: float) -> bool:
    same = a == b or (a != a and b != b)
    return same or abs(a - b) <= max(ABSOLUTE, RELATIVE * max(abs(a), abs(b)))


def version(name: str) -> str:
    """Of the distribution that has the module."""
    (distribution, *_) = importlib.metadata.packages_distributions()[name]
    return f"{distribution} {importlib.metadata.version(distribution)}"


def row(name: str) -> str:
    """The library's line of the table, from running its program."""
    began = time.perf_counter()
    try:
        found = difference(output(name), (GOLDEN / f"{name}.txt").read_text())
    except RuntimeError as error:
        found = str(error).strip().splitlines()[-1]
    print(f"{name}: {found or 'same'} ({time.perf_counter() - began:.0f} s)", flush=True)
    says = (PROGRAMS / f"with_{name}.py").read_text().split('"""')[1].partition(".\n")[0]
    what = " ".join(says.split()).removesuffix(".").replace("|", "\\|")
    return f"| {name} | {version(name)} | {what} | {'no: ' + found if found else 'yes'} |"


def rows_written() -> dict[str, str]:
    """The table's lines of last time, by the library's name."""
    lines = TABLE.read_text().splitlines() if TABLE.exists() else []
    rows = {line.split(" ")[1]: line for line in lines if line.startswith("| ")}
    return {name: line for name, line in rows.items() if name != "library"}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="libraries; all, if none is named")
    parser.add_argument("--record", action="store_true", help="record what JAX gives")
    options = parser.parse_args()
    names = [name for name in options.names or programs() if installed(name)]
    if options.record:
        for name in names:
            (GOLDEN / f"{name}.txt").write_text(output(name, on_jax=True))
        return
    rows = rows_written() | {name: row(name) for name in names}
    TABLE.write_text(
        HEADING + "".join(rows[name] + "\n" for name in programs() if name in rows) + OTHERS
    )
    print(f"wrote {TABLE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
