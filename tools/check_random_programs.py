"""Compare eager, jitted and batched runs of random programs with nested control flow.

    python tools/check_random_programs.py 1000     # a thousand programs, about six minutes

The programs are those of tests/random_programs.py. One that differs is cut down to a small one that
still does, and printed. Every run draws others.
"""

import argparse
import sys
from pathlib import Path

from hypothesis import HealthCheck, given, settings

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

import random_programs  # type: ignore[import-not-found]  # noqa: E402

BATCH = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("count", type=int, nargs="?", default=500, help="how many programs")
    count = parser.parse_args().count
    checked = 0

    @settings(
        max_examples=-(-count // BATCH),
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(random_programs.batches(min_size=BATCH, max_size=BATCH))
    def check(batch):
        nonlocal checked
        assert not random_programs.disagreements(batch)
        checked += len(batch)
        print(f"\r{checked} programs agree", end="", flush=True)

    check()
    print()


if __name__ == "__main__":
    main()
