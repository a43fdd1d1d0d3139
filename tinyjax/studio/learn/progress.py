"""What is remembered of a learner beyond one work folder: which exercises passed, and where the folders are.

It stands in one file in the home folder, and so outlives work folders. Builds on exercises.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tinyjax.studio.learn.exercises import NAMES, Exercise, LearnError


def path() -> Path:
    return Path.home() / ".tinyjax" / "learn.json"


def load() -> dict[str, Any]:
    """{"passed": names of exercises, "folders": {lesson: path}, "current": path of the last one used}"""
    empty = {"passed": [], "folders": {}, "current": ""}
    return empty | load_json(path()) if path().exists() else empty


def load_json(file: Path) -> dict[str, Any]:
    """What a file of notes says. Raises LearnError if it is none."""
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise LearnError(
            f"{file} is no file of notes as `learn` writes them: {error}. Move it away, and ask again."
        ) from None


def note(lesson: int, folder: Path, passed: list[str] | None = None) -> None:
    """Remember that the learner works in this folder, and what has passed there."""
    known = load()
    known["folders"][str(lesson)] = known["current"] = str(folder)
    known["passed"] = sorted({*known["passed"], *(passed or [])})
    path().parent.mkdir(exist_ok=True)
    path().write_text(json.dumps(known, indent=1), encoding="utf-8")


def shares(exercises: list[Exercise], passed: list[str]) -> dict[str, tuple[int, int]]:
    """For each lesson, how many of its exercises have passed, and how many there are."""
    return {
        name: (
            sum(e.lesson == number and e.name in passed for e in exercises),
            sum(e.lesson == number for e in exercises),
        )
        for number, name in enumerate(NAMES, start=1)
    }


def bar(done: int, total: int, width: int = 20) -> str:
    """As [#####...............]."""
    return f"[{('#' * (width * done // max(total, 1))).ljust(width, '.')}]"
