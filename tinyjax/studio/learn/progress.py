"""A learner's progress, read from the work folders in one folder, the course.

An exercise counts if it passed when its folder was last judged. Nothing else is stored, so courses are
independent of each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from pathlib import Path

from tinyjax.studio.learn.atomic_files import NOTES
from tinyjax.studio.learn.exercises import NAMES, Exercise
from tinyjax.studio.learn.work_folder import WorkFolder


def folders(course: Path) -> list[WorkFolder]:
    """The work folders of a course, by lesson; of several for a lesson, the last used one is last."""
    return sorted(map(WorkFolder, paths(course)), key=lambda folder: folder.lesson)


def paths(course: Path) -> list[Path]:
    """Their paths in the order of last use."""
    found = [notes for notes in course.glob(f"*/{NOTES}") if notes.parent.name[0] != "."]
    return [notes.parent for notes in sorted(found, key=lambda notes: notes.stat().st_mtime)]


def passed(folders: Iterable[WorkFolder]) -> set[str]:
    """The names of the exercises passed in any of the folders."""
    return {name for folder in folders for name in folder.notes["passed"]}


def shares(exercises: list[Exercise], passed: Set[str]) -> dict[str, tuple[int, int]]:
    """For each lesson, the number of passed exercises and of all."""
    return {
        name: (
            sum(e.lesson == number and e.name in passed for e in exercises),
            sum(e.lesson == number for e in exercises),
        )
        for number, name in enumerate(NAMES)
    }


def functions(exercises: list[Exercise], passed: Set[str]) -> tuple[int, int]:
    """The number of the learner's own functions in tinyjax, and the number of all that exercises ask for."""
    everything = {
        place: e.name in passed
        for e in exercises
        for place in e.functions
        if place.startswith("tinyjax.")
    }
    return sum(everything.values()), len(everything)


def bar(done: int, total: int, width: int = 20) -> str:
    """A progress bar such as [#####...............]."""
    return f"[{('#' * (width * done // max(total, 1))).ljust(width, '.')}]"
