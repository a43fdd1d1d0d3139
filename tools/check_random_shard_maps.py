"""Compare random programs for shard_map with devices in NumPy: values and derivatives, eager and compiled.

    python tools/check_random_shard_maps.py --count 1000

The programs are those of tests/random_shard_maps. One that differs is printed, and the run goes on.
"""

import argparse
import importlib
import sys
from collections import Counter
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent / "tests"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100, help="how many programs")
    parser.add_argument("--seed", type=int, default=0, help="that of the first program")
    options = parser.parse_args()
    sys.path.insert(0, str(TESTS))
    programs = importlib.import_module("random_shard_maps")
    seen: Counter[str] = Counter()
    steps: Counter[str] = Counter()
    for seed in range(options.seed, options.seed + options.count):
        program = programs.draw(seed)
        steps.update(step.text.split()[0] for step in program.steps)
        if found := programs.disagreement(program):
            seen[found[:40]] += 1
            if seen[found[:40]] == 1:
                print(f"\n{program}\n---- {found}\n", flush=True)
        if sys.stdout.isatty():
            print(f"{seed - options.seed + 1} programs", end="\r", flush=True)
    print(f"{options.count} programs, {sum(seen.values())} differ: {dict(seen)}")
    print("steps: " + ", ".join(f"{name} {count}" for name, count in steps.most_common()))
    raise SystemExit(bool(seen))


if __name__ == "__main__":
    main()
