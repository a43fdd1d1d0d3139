"""Run the examples on tinyjax and on JAX, and compare what they print.

    python tools/compare_with_jax.py --jax-python /path/to/python    # of an environment with JAX
    python tools/compare_with_jax.py newton rnn    # only these two, where JAX is installed
    python tools/compare_with_jax.py --record      # JAX alone, into tests/golden/examples.json

Numbers with a point may differ by a thousandth, or by a unit in the last place that is printed if that is
at most a twentieth of them, or by 1e-5. All else must be the same, but for spaces. Settings are small ones,
unless --full is given.
"""

import argparse
import json
import math
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
RECORDED = ROOT / "tests" / "golden" / "examples.json"

# The settings with which an example takes a few seconds.
SMALL = {
    "advi": "--steps 400",
    "cnn": "--epochs 1",
    "many_devices": "--steps 21",
    "dp_sgd": "--steps 20",
    "gaussian_process": "--steps 51",
    "gcn": "--epochs 60 --seeds 1",
    "mandelbrot": "--width 120 --height 96 --limit 100",
    "mlp": "--epochs 3",
    "ode": "--steps 101",
    "vae": "--steps 150",
}
MODULES = {"data", "picture", "gcn_torch"}  # what the examples import, and no programs themselves

RELATIVE, ABSOLUTE = 1e-3, 1e-5


class Printed(NamedTuple):
    """What a program printed, or the last line of its error; and how long it took."""

    text: str
    error: str
    seconds: float


# ---- comparing ----

NUMBER = re.compile(r"(?<![A-Za-z_])[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|\b(?:inf|nan)\b")


def first_difference(ours: str, theirs: str) -> str:
    """The first place where two texts differ by more than rounding, as text; "" if there is none."""
    for our_line, their_line in zip(_lines(ours), _lines(theirs)):
        our_words, their_words = re.sub(NUMBER, "#", our_line), re.sub(NUMBER, "#", their_line)
        numbers = zip(NUMBER.findall(our_line), NUMBER.findall(their_line))
        if _without_spaces(our_words) != _without_spaces(their_words):
            return f"{our_line!r}, not {their_line!r}"
        for a, b in numbers:
            if not _close(a, b):
                return f"{a}, not {b}, in {our_line!r}"
    if len(_lines(ours)) != len(_lines(theirs)):
        return f"{len(_lines(ours))} lines, not {len(_lines(theirs))}"
    return ""


def _lines(text: str) -> list[str]:
    """Lines; an array that goes over several is one."""
    return re.sub(r"\n +", " ", text).splitlines()


def _without_spaces(text: str) -> str:
    """Arrays are aligned, so that one more digit moves all that follows."""
    return re.sub(r"\s+", "", text)


def _close(a: str, b: str) -> bool:
    """Whether two printed numbers are the same, but for rounding. Whole numbers have to be equal."""
    x, y = float(a), float(b)
    if a == b or not ("." in a + b or "e" in a + b) or not math.isfinite(x + y):
        return a == b
    last_place = 0.0 if "e" in a + b else 10.0 ** -min(_places(a), _places(b))
    if last_place > 0.05 * abs(y):  # too few digits to tell
        last_place = 0.0
    return abs(x - y) <= max(RELATIVE * abs(y), ABSOLUTE, 1.001 * last_place)


def _places(number: str) -> int:
    """Digits behind the point."""
    return len(number.partition(".")[2])


# ---- running ----


def programs() -> dict[str, Path]:
    """All examples and scripts, by name."""
    files = [*sorted(EXAMPLES.glob("*.py")), *sorted((EXAMPLES / "scripts").glob("*.py"))]
    return {file.stem: file for file in files if file.stem not in MODULES}


def on_tinyjax(name: str, arguments: list[str]) -> Printed:
    """What a program prints under `python -m tinyjax run`."""
    return _run([sys.executable, "-m", "tinyjax", "run", str(programs()[name]), *arguments])


def on_jax(python: str, name: str, arguments: list[str]) -> Printed:
    """What a program prints on the JAX of an interpreter."""
    return _run([python, str(programs()[name]), *arguments])


def _run(command: list[str]) -> Printed:
    environment = os.environ | {"JAX_PLATFORMS": "cpu"}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    began = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    error = (done.stderr.strip().splitlines() or ["it failed"])[-1] if done.returncode else ""
    return Printed(done.stdout, error, time.perf_counter() - began)


# ---- the command ----


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="examples; all, if none is named")
    parser.add_argument("--jax-python", default=sys.executable, help="an interpreter that has JAX")
    parser.add_argument(
        "--full", action="store_true", help="with the settings that are the default"
    )
    parser.add_argument("--record", action="store_true", help="write down what JAX prints")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in programs()]
    if unknown:
        parser.error(f"there is no example {unknown[0]!r}; there are {', '.join(programs())}")
    names = options.names or list(programs())
    if options.record:
        return _record(options.jax_python, names)
    return _compare(options.jax_python, names, options.full)


def _compare(jax_python: str, names: list[str], full: bool) -> int:
    print(f"{'program':26}{'tinyjax, s':>11}{'JAX, s':>9}  printed")
    different = 0
    for name in names:
        arguments = [] if full else SMALL.get(name, "").split()
        ours, theirs = on_tinyjax(name, arguments), on_jax(jax_python, name, arguments)
        if theirs.error:
            said = f"fails on JAX: {theirs.error}"
        elif ours.error:
            said = f"fails on tinyjax: {ours.error}"
        else:
            said = first_difference(ours.text, theirs.text)
        different += bool(said)
        print(
            f"{name:26}{ours.seconds:11.1f}{theirs.seconds:9.1f}  {said or 'the same'}", flush=True
        )
    print(f"{len(names) - different} of {len(names)} print the same")
    return 1 if different else 0


def _record(jax_python: str, names: list[str]) -> int:
    recorded = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    for name in names:
        arguments = SMALL.get(name, "")
        theirs = on_jax(jax_python, name, arguments.split())
        if theirs.error:
            print(f"{name} fails on JAX: {theirs.error}", file=sys.stderr)
            return 1
        recorded[name] = {"arguments": arguments, "printed": theirs.text}
        print(f"{name}: {len(theirs.text.splitlines())} lines", flush=True)
    kept = {name: recorded[name] for name in sorted(recorded) if name in programs()}
    RECORDED.write_text(json.dumps(kept, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
