"""The end of the course: train a digit classifier on the learner's own tinyjax.

It runs in a copy of tinyjax with the functions of all exercises that pass alone and together; the rest are
the reference's, and are listed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from tinyjax.studio.learn import exercises as catalogue
from tinyjax.studio.learn import progress
from tinyjax.studio.learn.carry_over import NOT_WRITTEN, SKIPPED, Kept, carried_on
from tinyjax.studio.learn.exercises import NAMES, LearnError
from tinyjax.studio.learn.work_folder import WorkFolder, write_copy


def finish(folders: Iterable[WorkFolder], say: Callable[[str], None]) -> None:
    """Put all passing answers into one copy, and train there. Raises LearnError if the training fails."""
    kept = carried_on(folders, None, say)
    say("\n".join(shares(kept)))
    say("Training a network on a copy of tinyjax with these functions in it ...")
    with tempfile.TemporaryDirectory() as temporary:
        train(Path(temporary).resolve(), kept)


def shares(kept: Kept) -> list[str]:
    """For each lesson, a line with the number of the learner's functions, and those that are missing."""
    everything = catalogue.load()
    names = {e.name for e in kept.exercises}
    own, total = progress.functions(everything, names)
    lines = [
        f"\n{own} of the {total} functions of tinyjax that exercises ask for are yours (what they ask for in",
        "practice/ is not counted: nothing in tinyjax is built on it):\n",
    ]
    for number, lesson in enumerate(NAMES):
        here = [e for e in everything if e.lesson == number]
        own, total = progress.functions(here, names)
        left = [f"{e.number} {e.name}" for e in here if e.name not in names]
        note = f"   tinyjax's own: {', '.join(left)}" if left and own else ""
        lines.append(f"{lesson:18} {own:2} of {total:2}{note}")
    untouched = {e.lesson for e in everything} - {e.lesson for e in kept.exercises}
    if untouched:
        lines.append(f"\nAll of tinyjax's own: {', '.join(NAMES[n] for n in sorted(untouched))}")
    reasons = (NOT_WRITTEN, SKIPPED)
    refused = [f"  {name}: {why}" for name, why in kept.left.items() if why not in reasons]
    return [*lines, *(["", "Written, and not taken:", *refused] if refused else []), ""]


def train(path: Path, kept: Kept) -> None:
    """Make the copy in `path`, and run the program of digits.py on it."""
    write_copy(path, kept.sources)
    functions = path / "functions.json"
    functions.write_text(json.dumps([place for e in kept.exercises for place in e.places]))
    environment = {**os.environ, "PYTHONPATH": str(path / "src"), "TINYJAX_FAST": "0"}
    command = [sys.executable, "-m", "tinyjax.studio.learn.digits", str(functions)]
    done = subprocess.run(command, cwd=path, env=environment, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        where = done.stderr.replace(f"{path}{os.sep}", "")
        raise LearnError(f"{where}\nThe training ended with this error, in a copy of tinyjax.")
