"""An assignment: exercises of one or more lessons that a class works on, as a teacher's TOML file names them.

title = "Forward mode"
exercises = ["02", "03.1"]       # a whole lesson, or an exercise by its number or name

[points]                         # of an exercise, if not one for each of its tests
"03.1" = 5

[hidden]                         # further tests, in files beside this one
"02.1" = ["hidden_jvp.py::test_slope_of_a_cube"]
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tinyjax.studio.learn import exercises as catalogue
from tinyjax.studio.learn.exercises import NAMES, Exercise, LearnError

FILE = "assignment.toml"
_KEYS = {"title", "exercises", "points", "hidden"}


@dataclass(frozen=True)
class Assignment:
    """An assignment. The tests of `exercises` include the hidden ones; `hidden` lists their files, which are
    copied to tests/ and which students don't have. `points` maps exercise names to points."""

    title: str
    exercises: tuple[Exercise, ...]
    points: Mapping[str, float] = field(default_factory=dict)
    hidden: tuple[Path, ...] = ()

    @property
    def lessons(self) -> list[int]:
        return sorted({exercise.lesson for exercise in self.exercises})

    def of_lesson(self, lesson: int) -> list[Exercise]:
        return [exercise for exercise in self.exercises if exercise.lesson == lesson]

    def points_of(self, exercise: Exercise) -> float:
        """The points for an exercise with all of its tests passed."""
        return float(self.points.get(exercise.name, len(exercise.tests)))


def read_assignment(path: Path) -> Assignment:
    """The assignment in a TOML file. Raises LearnError that names the entry that is wrong."""
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise LearnError(
            f"There is no file {path}: write an assignment (docs/teachers.md)."
        ) from None
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise LearnError(f"{path} is not TOML: {error}") from None
    if unknown := sorted(set(entries) - _KEYS):
        raise LearnError(
            f"{path}: {unknown[0]!r} is no key of an assignment: {', '.join(sorted(_KEYS))}"
        )
    if not entries.get("exercises"):
        raise LearnError(f'{path} names no exercises: write, for example, exercises = ["02.1"]')
    _check(path, entries)
    chosen = {e.name: e for text in entries["exercises"] for e in _exercises(path, text)}

    def by_name(key: str) -> dict[str, Any]:
        found = {
            e.name: v for text, v in entries.get(key, {}).items() for e in _exercises(path, text)
        }
        if stray := sorted(set(found) - set(chosen)):
            raise LearnError(f"{path}: [{key}] names {stray[0]}, which is not among the exercises")
        return found

    hidden = by_name("hidden")
    files = {test.partition("::")[0] for tests in hidden.values() for test in tests}
    ordered = tuple(
        replace(e, tests=(*e.tests, *(f"tests/{test}" for test in hidden.get(e.name, ()))))
        for e in catalogue.load()
        if e.name in chosen
    )
    title = str(entries.get("title", path.stem))
    return Assignment(
        title, ordered, by_name("points"), tuple(path.parent / f for f in sorted(files))
    )


def _check(path: Path, entries: Mapping[str, Any]) -> None:
    """Raises LearnError for an entry of another type than the assignment's keys have."""
    points, hidden = entries.get("points", {}), entries.get("hidden", {})
    if not isinstance(entries["exercises"], list):
        raise LearnError(f'{path}: exercises is a list, such as ["02.1"]')
    if not isinstance(points, dict) or not all(_is_number(value) for value in points.values()):
        raise LearnError(f'{path}: [points] has numbers, such as "03.1" = 5')
    tests = hidden.values() if isinstance(hidden, dict) else [hidden]
    for test in (test for value in tests for test in (value if type(value) is list else [value])):
        if not isinstance(test, str) or not re.fullmatch(r"\w+\.py::[^/]+", test) or test in tests:
            raise LearnError(
                f"{path}: [hidden] has lists of tests in files beside this one, such as "
                f'["hidden_jvp.py::test_slope_of_a_cube"], and not {test!r}'
            )


def _is_number(value: object) -> bool:
    return type(value) in (int, float) and 0 <= value < math.inf  # type: ignore[operator]


def whole_lessons(lessons: list[int]) -> Assignment:
    """All exercises of these lessons, each test a point."""
    chosen = tuple(e for e in catalogue.load() if e.lesson in lessons)
    return Assignment(", ".join(NAMES[lesson] for lesson in lessons), chosen)


def _exercises(path: Path, text: Any) -> list[Exercise]:
    """The exercises meant by "02" (all of a lesson), "02.1" or a name."""
    everything = catalogue.load()
    if not isinstance(text, str):
        raise LearnError(f'{path}: {text!r} names no exercise; write a string, such as "02.1"')
    try:
        if text[:1].isdecimal() and "." not in text:
            lesson = catalogue.lesson_number(text)
            return [e for e in everything if e.lesson == lesson]
        return [catalogue.find(everything, text)]
    except LearnError:
        raise LearnError(
            f"{path}: there is no lesson or exercise {text!r}; see `learn list`"
        ) from None
