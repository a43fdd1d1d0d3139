"""Wrong answers to the exercises: those of tutorials/mutants/, and those that a machine makes.

    for mutant in of_lesson(8):
        print(mutant.exercise.number, mutant.says)

A file of tutorials/mutants/ has the wrong answers of a lesson that were thought of: each breaks a promise of
the exercise, and `why` names it. It may have right ones too, in another style. It also lists those made
by machine that no test can tell from the reference, with the reason. `failures_of` tries answers on the
exercises' tests.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tinyjax.studio.learn.atomic_files import read
from tinyjax.studio.learn.exercises import NAMES, ROOT, Exercise, in_clone, load
from tinyjax.studio.learn.functions import function_text, functions_of
from tinyjax.studio.learn.signature import differences
from wrong_answers.changes import changes
from wrong_answers.kinds import kinds

MADE = 10  # that a machine makes of each exercise


@dataclass(frozen=True)
class Mutant:
    """A wrong answer: what is wrong with it, and the text of each function that is not the reference's."""

    exercise: Exercise
    says: str
    functions: tuple[tuple[str, str, str], ...]  # (file, qualified name, text)
    is_made: bool = False  # by machine


def path_of(lesson: int) -> Path:
    return ROOT / "tutorials" / "mutants" / f"{NAMES[lesson]}.toml"


def written(lesson: int) -> dict[str, list[dict[str, str]]]:
    """What the lesson's file says: a list of "mutant" and one of "equivalent"."""
    return tomllib.loads(read(path_of(lesson)))


@functools.cache
def exercises_of(lesson: int) -> dict[str, Exercise]:
    return {e.name: e for e in load() if e.lesson == lesson}


# ---- those that were thought of ----


def thought_of(lesson: int) -> list[Mutant]:
    """The lesson's wrong answers. Raises ValueError where one does not fit the reference."""
    exercises = exercises_of(lesson)
    return [_mutant(exercises[entry["exercise"]], entry) for entry in written(lesson)["mutant"]]


def right(lesson: int) -> list[Mutant]:
    """Right answers in another style than the reference's, which the tests must accept."""
    exercises = exercises_of(lesson)
    return [
        _mutant(exercises[entry["exercise"]], entry) for entry in written(lesson).get("right", [])
    ]


def _mutant(exercise: Exercise, entry: dict[str, str]) -> Mutant:
    about = f"a mutant of {exercise.name} ({entry['why']})"
    if "code" in entry:  # whole functions
        places = {name.rpartition(".")[2]: (file, name) for file, name in exercise.places}
        texts = {name: function_text(entry["code"], name) for name in functions_of(entry["code"])}
        if not texts or not texts.keys() <= places.keys():
            raise ValueError(f"{about} defines {sorted(texts)}, not some of {sorted(places)}")
        return Mutant(exercise, entry["why"], tuple((*places[n], t) for n, t in texts.items()))
    # the reference with `new` in place of `old`
    old, new = entry["old"].strip("\n"), entry["new"].strip("\n")
    functions = [(f, name, function_text(read(in_clone(f)), name)) for f, name in exercise.places]
    if sum(text.count(old) for _, _, text in functions) != 1:
        raise ValueError(f"{about}: `old` is to stand in the reference once: {old}")
    changed = tuple((f, name, t.replace(old, new)) for f, name, t in functions if old in t)
    return Mutant(exercise, entry["why"], changed)


# ---- those that a machine makes ----


@functools.cache
def made(exercise: Exercise, most: int = MADE) -> list[Mutant]:
    """Small changes of the exercise's functions, a share from each."""
    found = []
    for i, (file, name) in enumerate(exercise.places):
        share = (most + i) // len(exercise.places)
        for change in changes(function_text(read(in_clone(file)), name), share):
            says = f"{name.rpartition('.')[2]}: {change.says}"
            found.append(Mutant(exercise, says, ((file, name, change.text),), is_made=True))
    return found


def of_kinds(exercise: Exercise) -> list[Mutant]:
    """The answers of kinds.py: some of them are right, as what they change does not matter there."""
    return [
        Mutant(exercise, f"{name}: {change.says}", ((file, name, change.text),), is_made=True)
        for file, name in exercise.places
        for change in kinds(function_text(read(in_clone(file)), name))
    ]


def equivalent(lesson: int) -> set[tuple[str, str]]:
    """The exercise and the change of those that the lesson's file lists as equivalent."""
    return {(e["exercise"], e["change"]) for e in written(lesson).get("equivalent", [])}


def of_lesson(lesson: int, most: int = MADE) -> list[Mutant]:
    """All wrong answers of a lesson but for the equivalent ones."""
    listed = equivalent(lesson)
    machine_made = [m for e in exercises_of(lesson).values() for m in made(e, most)]
    return thought_of(lesson) + [m for m in machine_made if (m.exercise.name, m.says) not in listed]


# ---- trying them ----


def failures_of(mutants: Sequence[Mutant]) -> list[dict[str, str] | None]:
    """For each, what the first test that fails says: its "test", the "kind" of error, "where" it was raised,
    the "message"; else how its signature differs. None where all tests pass.

    Only the lesson on devices looks for them; jitted functions of other lessons are evaluated by NumPy."""
    on_devices = [NAMES[m.exercise.lesson] == "17_device" for m in mutants]
    found: dict[bool, Iterator[dict[str, str] | None]] = {}
    for needed in set(on_devices):
        found[needed] = iter(
            _tried([m for m, n in zip(mutants, on_devices) if n == needed], needed)
        )
    return [next(found[n]) or signature_failure(m) for m, n in zip(mutants, on_devices)]


def _tried(mutants: Sequence[Mutant], on_devices: bool) -> list[dict[str, str] | None]:
    """What a process says of them that has devices, or has none."""
    answers: list[dict[str, Any]] = [
        {"functions": m.functions, "tests": m.exercise.tests, "is_made": m.is_made} for m in mutants
    ]
    done = subprocess.run(
        [sys.executable, "-m", "wrong_answers.tried"],
        input=json.dumps(answers),
        env={
            **os.environ,
            **({} if on_devices else {"TINYJAX_OPENCL": "none"}),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "tests", ROOT / "tutorials"))),
        },
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    said = done.stdout.splitlines()
    if done.returncode or not said:
        raise RuntimeError(done.stdout + done.stderr)
    report = json.loads(said[-1])
    if report["errors"] or len(report["results"]) != len(answers):
        raise RuntimeError("\n".join([*report["errors"], done.stderr]))
    return report["results"]


def signature_failure(mutant: Mutant) -> dict[str, str] | None:
    """How a signature differs from the exercise's; the tests see only the code of a function."""
    for file, name, text in mutant.functions:
        wanted = functions_of(read(in_clone(file)))[name]
        (yours,) = functions_of(text).values()
        if lines := differences(wanted, yours):
            about = {"test": "", "kind": "signature", "where": "answer"}
            return about | {"message": " / ".join(lines)}
    return None


UNCLEAR = ("SyntaxError", "ImportError", "ModuleNotFoundError", "skipped")


def complaint(mutant: Mutant, failure: dict[str, str] | None) -> str:
    """What is not right about how an answer was found out, or that it was not; else an empty text.

    One that a person wrote must be rejected by an assertion of a test, by an error in the answer itself,
    or by one that tinyjax raises with a message: a crash somewhere inside teaches nothing."""
    about = f"{mutant.exercise.number} {mutant.exercise.name}: {mutant.says}"
    if failure is None:
        return f"not found out: {about}"
    crash = failure["where"] == "crash" or (failure["kind"], failure["where"]) == (
        "NameError",
        "answer",
    )
    poor = crash or failure["kind"] == "EndlessError"
    if failure["kind"] in UNCLEAR or poor and not mutant.is_made:
        said = f"{failure['kind']}: {failure['message']}"
        return (
            f"found out, but what is wrong is not said: {about}\n    {failure['test']}\n    {said}"
        )
    return ""
