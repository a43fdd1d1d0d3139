"""Compare random jitted programs with shardings with the same without: values, and where results are.

    python tools/check_random_shardings.py --count 1000
    python tools/check_random_shardings.py --count 300 --jax    # with real JAX too, in a Python that has it

The programs are those of tests/random_shardings.py. One that differs is printed, and the run goes on.
"""

import argparse
import importlib
import os
import sys
from collections import Counter
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent / "tests"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100, help="how many programs")
    parser.add_argument("--seed", type=int, default=0, help="that of the first program")
    parser.add_argument(
        "--jax", action="store_true", help="compare with real JAX, on eight devices"
    )
    options = parser.parse_args()
    os.environ.setdefault("TINYJAX_BACKGROUND_BUILD", "0")  # all calls are answered by the compiler
    os.environ |= {"JAX_NUM_CPU_DEVICES": "8"} if options.jax else {}
    sys.path.insert(0, str(TESTS))
    programs = importlib.import_module("random_shardings")
    jax = importlib.import_module("jax") if options.jax else None
    seen: Counter[str] = Counter()
    steps: Counter[str] = Counter()
    for seed in range(options.seed, options.seed + options.count):
        program = programs.draw(seed)
        steps.update(program.steps)
        try:
            found = programs.disagreement(program, jax)
        except Exception as error:
            found = f"{type(error).__name__}: {error}"
        if found:
            seen[found[:40]] += 1
            if seen[found[:40]] == 1:
                print(f"\n{program}\n---- {found}\n", flush=True)
    print(f"{options.count} programs, {sum(seen.values())} differ: {dict(seen)}")
    print("steps: " + ", ".join(f"{name} {count}" for name, count in steps.most_common(20)))
    raise SystemExit(bool(seen))


if __name__ == "__main__":
    main()
