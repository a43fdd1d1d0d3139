"""The lessons and their exercises, read from tutorials/exercises.toml."""

from __future__ import annotations

import functools
import re
import tomllib
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from tinyjax.studio.learn.functions import functions_of

PACKAGE = Path(__file__).parents[2]  # the installed tinyjax: the reference
COURSE = PACKAGE.parent / "tinyjax_course"  # tests/ and tutorials/ of an installed package
ROOT = COURSE if COURSE.is_dir() else PACKAGE.parent  # in a clone they are beside the package
PRACTICE = "practice"  # in tutorials/: toys of the lessons' pages, and programs that use tinyjax
STORY = "story.py"  # lesson 0's script, tutorials/00_story.py, as named in its work folder
PACKAGES = (PACKAGE.name, PRACTICE)  # copied into a work folder


class LearnError(Exception):
    """An error that the learner can fix; the message explains how."""


# ---- lessons ----

# Each lesson and its direct prerequisites.
LESSONS: dict[str, tuple[str, ...]] = {
    "00_story": (),
    "01_primitives": ("00_story",),
    "02_jvp": ("01_primitives",),
    "03_nesting": ("02_jvp",),
    "04_pytrees": ("02_jvp",),
    "05_vmap": ("03_nesting", "04_pytrees"),
    "06_jaxprs": ("01_primitives",),
    "07_linearize": ("02_jvp", "06_jaxprs"),
    "08_grad": ("07_linearize",),
    "09_custom_rules": ("05_vmap", "08_grad"),
    "10_jit": ("06_jaxprs",),
    "11_lowering": ("10_jit",),
    "11b_kernel_to_c": ("11_lowering",),
    "12_fusion": ("11b_kernel_to_c",),
    "13_cond_and_while": ("05_vmap", "08_grad", "10_jit"),
    "14_scan": ("13_cond_and_while",),
    "15_random": ("05_vmap",),
    "16_training": ("12_fusion", "14_scan", "15_random"),
    "17_device": ("12_fusion",),
    "18_devices": ("16_training",),
    "19_kernels": ("09_custom_rules", "12_fusion"),
}
NAMES = tuple(LESSONS)  # in order: the code numbers lessons by their index here


def label_of(lesson: int) -> str:
    """A lesson's label: "01", or "11b" for the second part of lesson 11. File names use it too, as it doesn't
    change when a lesson is inserted."""
    return NAMES[lesson].partition("_")[0]


def lesson_number(text: str) -> int:
    """The index of the lesson named "8", "08", "08_grad" or "11b". Raises LearnError if there is none."""
    label = text.partition("_")[0]
    for lesson in range(len(NAMES)):
        if label in (label_of(lesson), label_of(lesson).removeprefix("0")):
            return lesson
    raise LearnError(
        f"There is no lesson {text!r}: they are 00 to {label_of(len(NAMES) - 1)}; see `learn list`."
    )


# ---- exercises ----


@dataclass(frozen=True)
class Exercise:
    """One entry of exercises.toml; there, each field is explained."""

    lesson: int
    name: str
    grade: int
    functions: tuple[str, ...]
    goal: str
    hints: tuple[str, ...]
    tests: tuple[str, ...]
    number: str = ""  # as "02.1": the first exercise of lesson 2
    jax: tuple[str, ...] = ()

    @cached_property
    def places(self) -> list[tuple[str, str]]:
        """Each function's file within the package and its qualified name."""
        return [place_of(function) for function in self.functions]

    @property
    def stands_alone(self) -> bool:
        """Whether all its functions are in practice/ or in the story: tinyjax doesn't depend on them, and
        they may use functions that a later lesson empties."""
        return not any(file.startswith(f"{PACKAGE.name}/") for file, _ in self.places)

    def message(self, name: str) -> str:
        """The error message of an emptied function."""
        return f"exercise {self.number} ({self.name}): write {name}"


def in_clone(file: str) -> Path:
    """The path of a file such as "tinyjax/core/bind.py", "practice/tape.py" or "story.py"."""
    if file == STORY:
        return ROOT / "tutorials" / f"{NAMES[0]}.py"
    folders = {PACKAGE.name: PACKAGE.parent, PRACTICE: ROOT / "tutorials"}
    return folders.get(file.split("/")[0], ROOT) / file


def place_of(function: str, src: Path | None = None) -> tuple[str, str]:
    """The file and the qualified name of "tinyjax.module:qualified.name", in the clone or in a copy `src`."""
    module, _, name = function.partition(":")
    path = module.replace(".", "/")
    is_dir = (in_clone(path) if src is None else src / path).is_dir()
    return f"{path}/__init__.py" if is_dir else f"{path}.py", name


def load(path: Path = ROOT / "tutorials" / "exercises.toml") -> list[Exercise]:
    """All exercises in order. Raises LearnError if the file is missing or an entry is invalid."""
    if not path.exists():
        raise LearnError(
            "The exercises, their tests and the lessons are not installed: this tinyjax was built without "
            "them. Clone the repository and run `pip install -e .` in it."
        )
    return list(_load(path, path.stat().st_mtime_ns))


@functools.lru_cache
def _load(path: Path, saved: int) -> list[Exercise]:
    """`load` for a file's modification time `saved`; cached, as commands call it two dozen times."""
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8")).get("exercise", [])
    except tomllib.TOMLDecodeError as error:
        raise LearnError(f"{path} is not right: {error}") from None
    exercises: list[Exercise] = []
    expected = {field.name for field in fields(Exercise)} - {"number", "jax"}
    for entry in entries:
        if wrong := set(entry) - {"jax"} ^ expected:
            raise LearnError(
                f"{path}: exercise {entry.get('name')!r} lacks, or should not have: "
                f"{', '.join(sorted(wrong))}"
            )
        values: dict[str, Any] = {
            k: tuple(v) if isinstance(v, list) else v for k, v in entry.items()
        }
        lesson = values["lesson"] = lesson_number(str(entry["lesson"]))
        count = sum(e.lesson == lesson for e in exercises) + 1
        values["goal"] = " ".join(values["goal"].split())  # in one line
        exercises.append(Exercise(**values, number=f"{label_of(lesson)}.{count}"))
    return sorted(exercises, key=lambda e: e.lesson)  # those of a lesson stay in order


def complaints(exercise: Exercise) -> list[str]:
    """Mistakes in an exercise's entry that reading it can find."""
    found = []
    if exercise.grade not in (1, 2, 3):
        found.append(f"the grade is 1, 2 or 3, not {exercise.grade}")
    if len(exercise.hints) not in (2, 3):
        found.append(f"there must be two or three hints, not {len(exercise.hints)}")
    if not 1 <= len(exercise.tests) <= 20:
        found.append(f"there must be one to twenty tests, not {len(exercise.tests)}")
    for function, (file, name) in zip(exercise.functions, exercise.places):
        path = in_clone(file)
        if not path.exists() or name not in functions_of(path.read_text(encoding="utf-8")):
            found.append(f"there is no function {function}")
    for text in exercise.jax:
        if not re.fullmatch(r"jax/[\w/]+\.py: \w+(\.\w+)?", text):
            found.append(f"{text!r} is not of the form 'jax/_src/core.py: Primitive.bind'")
    for test in exercise.tests:
        file, _, name = test.partition("::")
        path = in_clone(file)
        plain = name.partition("[")[0].replace("::", ".")
        if not path.exists() or plain not in functions_of(path.read_text(encoding="utf-8")):
            found.append(f"there is no test {test}")
    return found


def find(exercises: list[Exercise], text: str) -> Exercise:
    """The exercise with this number ("02.1") or name. Raises LearnError if there is none."""
    for exercise in exercises:
        if text in (exercise.number, exercise.number.removeprefix("0"), exercise.name):
            return exercise
    known = ", ".join(e.number for e in exercises)
    raise LearnError(f"There is no exercise {text!r} here. There are: {known}")
