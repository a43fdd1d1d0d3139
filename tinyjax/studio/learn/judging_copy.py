"""A copy of tinyjax with chosen answers in it, and the tests that judge them.

Its files are written for one run of the tests and restored for the next. It is used to exchange a learner's
answers with the reference's, and to judge a class.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from tinyjax.studio.learn.atomic_files import read, write
from tinyjax.studio.learn.exercises import PACKAGE, ROOT, STORY, Exercise, in_clone
from tinyjax.studio.learn.handed_out import of_lesson
from tinyjax.studio.learn.judge import GUARD, Run, run_exercises
from tinyjax.studio.learn.work_folder import write_copy, write_judges


class JudgingCopy:
    """A copy in `path` for the exercises of a lesson, with additional test files."""

    def __init__(self, path: Path, lesson: int, hidden: Iterable[Path] = ()):
        self.path = path
        story = {STORY: read(in_clone(STORY))} if lesson == 0 else {}
        write_judges(path, lesson, of_lesson(lesson), {"files": write_copy(path, story)})
        for file in hidden:
            shutil.copy(file, path / "tests" / file.name)
        self._changed: set[str] = set()

    def add_guard(self, submissions: Iterable[Path] = ()) -> None:
        """Run under guard.py from now on: tests can't open files of the clone, or submissions."""
        folder = self.path / GUARD
        folder.mkdir()
        shutil.copy(Path(__file__).with_name("guard.py"), folder)
        forbidden = [
            str(place.resolve())
            for place in (PACKAGE, ROOT / "tutorials", ROOT / "tests", *submissions)
        ]
        write(folder / "forbidden.json", json.dumps(forbidden))

    def run(self, sources: Mapping[str, str], written: list[Exercise]) -> Run:
        """Run the tests of the exercises with these files instead of the reference's."""
        for file in self._changed - set(sources):
            self._write(file, read(in_clone(file)))
        for file, source in sources.items():
            self._write(file, source)
        self._changed = set(sources)
        return run_exercises(self.path, written, guarded=(self.path / GUARD).exists())

    def _write(self, file: str, source: str) -> None:
        path = self.path / "src" / file
        write(path, source)
        Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)
