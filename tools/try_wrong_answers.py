"""Try wrong answers on the exercises' tests, and say which no test finds out.

    python tools/try_wrong_answers.py 8               # of lesson 8: those written down, ten made of each
    python tools/try_wrong_answers.py 8 --made 1000   # all that a machine can make
    python tools/try_wrong_answers.py 8 --kinds       # those of wrong_answers/kinds.py: some are right
    python tools/try_wrong_answers.py --table         # writes the table in tutorials/README.md; tries nothing

One that is not found out needs a test, or is equivalent: then it has an entry in tutorials/mutants/, with the
reason.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import wrong_answers  # type: ignore[import-not-found]  # noqa: E402

from tinyjax.studio.learn.exercises import NAMES, lesson_number  # noqa: E402

README = ROOT / "tutorials" / "README.md"
BEGIN, END = "<!-- wrong answers: written by tools/try_wrong_answers.py -->", "<!-- end -->"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("lessons", nargs="*", type=lesson_number, help="as 2 or 11b; default: all")
    parser.add_argument(
        "--made", type=int, default=wrong_answers.MADE, help="by machine, an exercise"
    )
    parser.add_argument("--kinds", action="store_true", help="those of a list of kinds instead")
    parser.add_argument("--table", action="store_true", help="write the table of README.md")
    options = parser.parse_args()
    if options.table:
        README.write_text(with_table(README.read_text(encoding="utf-8")), encoding="utf-8")
        return
    for lesson in options.lessons or range(len(NAMES)):
        if options.kinds:
            try_kinds(lesson)
        else:
            try_lesson(lesson, options.made)


def try_lesson(lesson: int, made: int) -> None:
    """Print what is not found out, what is found out badly, and how many there were."""
    tried = wrong_answers.of_lesson(lesson, made)
    kinds: Counter[str] = Counter()
    for mutant, failure in zip(tried, wrong_answers.failures_of(tried)):
        kinds[failure["where"] if failure else "not found out"] += 1
        said = wrong_answers.complaint(mutant, failure)
        if said:
            print(said)
    counts = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
    print(f"{NAMES[lesson]}: {len(tried)} tried: {counts}")


def try_kinds(lesson: int) -> None:
    """Print which answers of these kinds are not found out: some of them are right."""
    exercises = wrong_answers.exercises_of(lesson).values()
    tried = [mutant for exercise in exercises for mutant in wrong_answers.of_kinds(exercise)]
    missed = [m for m, failure in zip(tried, wrong_answers.failures_of(tried)) if failure is None]
    for mutant in missed:
        print(f"not found out: {mutant.exercise.number} {mutant.says}")
    print(f"{NAMES[lesson]}: {len(tried)} tried, {len(missed)} not found out")


def with_table(text: str) -> str:
    """README.md with the table as it should be."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{README} has no place for the table: {BEGIN} ... {END}")
    return f"{before}{begin}\n\n{table()}\n\n{end}{after}"


def table() -> str:
    """A row a lesson: its exercises, the wrong answers that are tried, and those that are equivalent."""
    rows = ["| lesson | exercises | wrong answers | of a machine | found out | equivalent |"]
    rows.append("|---|---|---|---|---|---|")
    totals = [0] * 4
    for number, name in enumerate(NAMES):
        thought_of, all_of_it = (
            len(wrong_answers.thought_of(number)),
            len(wrong_answers.of_lesson(number)),
        )
        same = len(wrong_answers.equivalent(number))
        numbers = [
            len(wrong_answers.exercises_of(number)),
            thought_of,
            all_of_it - thought_of,
            same,
        ]
        totals = [total + n for total, n in zip(totals, numbers)]
        rows.append(row(name, *numbers))
    return "\n".join([*rows, row("**all**", *totals)])


def row(name: str, exercises: int, thought_of: int, made: int, same: int) -> str:
    all_of_it = thought_of + made
    return f"| {name} | {exercises} | {thought_of} | {made} | {all_of_it} of {all_of_it} | {same} |"


if __name__ == "__main__":
    main()
