"""A submission: the learner's files packed into one, for a teacher to judge.

It has the text of each file that the learner edited, and nothing else of the work folder: no notes, no tests,
no grader. The grader takes the exercises' functions from these texts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tinyjax.studio.learn.atomic_files import read, write
from tinyjax.studio.learn.exercises import Exercise, LearnError, in_clone, label_of, lesson_number
from tinyjax.studio.learn.functions import functions_of, is_empty
from tinyjax.studio.learn.work_folder import WorkFolder

MOST_BYTES = 2**22  # the largest submission that is read


@dataclass(frozen=True)
class Submission:
    """A submission; `sources` are the learner's files of each lesson, such as "tinyjax/core/bind.py"."""

    student: str
    sources: Mapping[int, Mapping[str, str]]

    def source(self, lesson: int, file: str) -> str:
        """The learner's version of a file, or tinyjax's own if the learner didn't edit it."""
        return self.sources.get(lesson, {}).get(file) or read(in_clone(file))

    def state(self, exercise: Exercise) -> str:
        """ "written", "empty", or why the functions of the exercise can't be read."""
        written = self.sources.get(exercise.lesson, {})
        for file, name in exercise.places:
            if file not in written:
                return "empty"
            try:
                functions = functions_of(written[file])
            except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
                return f"{file} is no Python: {error or type(error).__name__}"
            if name not in functions:
                return f"{file} has no function {name}"
            if is_empty(functions[name]):
                return "empty"
        return "written"


def write_submission(folders: Iterable[WorkFolder], path: Path) -> list[str]:
    """Write the answers in the folders to `path`; return the numbers of the exercises. Of two folders for a
    lesson, the later one counts. Raises LearnError if nothing is written in them yet."""
    sources: dict[int, dict[str, str]] = {}
    exercises: dict[int, list[str]] = {}
    for folder in folders:
        done = [e for e in folder.exercises if not folder.is_empty(e)]
        written = [e for e in done if not folder.is_skipped(e)]
        files = {file for e in written for file, _ in e.places}
        if written:
            sources[folder.lesson] = {file: folder.source(file) for file in sorted(files)}
            exercises[folder.lesson] = [e.number for e in written]
    if not sources:
        raise LearnError("No exercise is written yet: there is nothing to submit.")
    by_label = {label_of(lesson): files for lesson, files in sources.items()}
    write(path, json.dumps({"format": 1, "sources": by_label}, indent=1) + "\n")
    return [number for lesson in sorted(exercises) for number in exercises[lesson]]


def read_submission(path: Path) -> Submission:
    """Read a submission; the student is the file's name. Raises LearnError if the file isn't a submission."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ValueError("it is too long")
        content = json.loads(path.read_text(encoding="utf-8"))
        sources = {
            lesson_number(lesson): dict(files) for lesson, files in content["sources"].items()
        }
        texts = [text for files in sources.values() for item in files.items() for text in item]
        if content["format"] != 1 or not all(isinstance(text, str) for text in texts):
            raise ValueError("it is of another format")
    except (
        LearnError,
        OSError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        RecursionError,
    ) as error:
        raise LearnError(f"{path.name} is no submission of `learn submit`: {error}") from None
    return Submission(path.stem, sources)
