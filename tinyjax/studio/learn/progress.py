"""How far a learner is, as the work folders say that stand in one folder, the course.

Counted are the exercises that passed when their folder was judged last. Nothing else is kept, so that two
courses know nothing of each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from pathlib import Path

from tinyjax.studio.learn.atomic_files import NOTES
from tinyjax.studio.learn.exercises import NAMES, Exercise
from tinyjax.studio.learn.work_folder import WorkFolder


def folders(course: Path) -> list[WorkFolder]:
    """The work folders of a course, by lesson; of two for one lesson, the one used last comes last."""
    return sorted(map(WorkFolder, paths(course)), key=lambda folder: folder.lesson)


def paths(course: Path) -> list[Path]:
    """The same, but in the order in which commands of `learn` were at work there."""
    found = [notes for notes in course.glob(f"*/{NOTES}") if notes.parent.name[0] != "."]
    return [notes.parent for notes in sorted(found, key=lambda notes: notes.stat().st_mtime)]


def passed(folders: Iterable[WorkFolder]) -> set[str]:
    """The names of the exercises that have passed in any of the folders."""
    return {name for folder in folders for name in folder.notes["passed"]}


def shares(exercises: list[Exercise], passed: Set[str]) -> dict[str, tuple[int, int]]:
    """For each lesson, how many of its exercises have passed, and how many there are."""
    return {
        name: (
            sum(e.lesson == number and e.name in passed for e in exercises),
            sum(e.lesson == number for e in exercises),
        )
        for number, name in enumerate(NAMES)
    }


def functions(exercises: list[Exercise], passed: Set[str]) -> tuple[int, int]:
    """How many of the exercises' functions in tinyjax are the learner's own, and how many there are."""
    everything = {
        place: e.name in passed
        for e in exercises
        for place in e.functions
        if place.startswith("tinyjax.")
    }
    return sum(everything.values()), len(everything)


def bar(done: int, total: int, width: int = 20) -> str:
    """As [#####...............]."""
    return f"[{('#' * (width * done // max(total, 1))).ljust(width, '.')}]"
