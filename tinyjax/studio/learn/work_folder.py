"""The learner's work folder: a copy of the package with a lesson's functions emptied.

learn/02_jvp/
    src/tinyjax/    the copy that the tests run: write here src/practice/   the same of tutorials/practice/:
    toys of the pages, and programs that use tinyjax tests/          those of the lesson's exercises, and what
    they import conftest.py     the grader (see grader.py) given.json      the files that were handed out
    otherwise than tinyjax has them lesson.json     the lesson's exercises, for the grader; hints asked for,
    exercises passed; what was
                    carried on from earlier lessons
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import importlib.util
import json
import shutil
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from tinyjax.studio.learn import exercises as catalogue
from tinyjax.studio.learn.atomic_files import (
    NEW,
    NOTES,
    begin_new,
    copy_tree,
    load_json,
    put_in_place,
    read,
    read_source,
    write,
)
from tinyjax.studio.learn.exercises import (
    NAMES,
    PACKAGES,
    ROOT,
    STORY,
    Exercise,
    LearnError,
    in_clone,
    label_of,
    lesson_number,
)
from tinyjax.studio.learn.functions import function_text, functions_of, is_empty_text
from tinyjax.studio.learn.handed_out import handed_out, of_lesson

GIVEN = "given.json"
GRADER = Path(__file__).with_name("grader.py")  # the conftest.py
PYTEST_INI = """\
[pytest]
testpaths = tests
pythonpath = src tests
addopts = -q --tb=short --import-mode=importlib
"""


class WorkFolder:
    """One lesson's folder: `path`, `lesson`, its `exercises`, and the `notes` kept in lesson.json."""

    def __init__(self, path: Path):
        self.path = path
        self.notes = load_json(path / NOTES)
        self.lesson = lesson_today(self.notes)
        self.exercises = of_folder(self.lesson, self.notes)

    def save(self) -> None:
        write(self.path / NOTES, json.dumps(self.notes, indent=1))

    def note_passed(self, names: list[str]) -> None:
        """Note which exercises pass, and in which state of the folder."""
        self.notes |= {"passed": names, "judged": self.state()}

    def state(self) -> str:
        """A text that changes whenever the learner's files or tinyjax change."""
        written = sorted(digests(self.path / "src").items())
        return hashlib.sha256(repr((self.notes["fingerprint"], written)).encode()).hexdigest()

    @cached_property
    def _given(self) -> dict[str, str]:
        return load_json(self.path / GIVEN)

    def given(self, file: str) -> str:
        """The original of a file of the package or of the tests."""
        return self._given.get(file) or read(in_clone(file))

    def source(self, file: str) -> str:
        """The learner's version of a file such as "tinyjax/core/bind.py". Raises SyntaxError if it isn't
        UTF-8."""
        return read_source(self.path / "src" / file)

    def line(self, file: str, name: str) -> int:
        """A function's first line; 1 if it can't be found."""
        try:
            return functions_of(self.source(file))[name].lineno
        except (SyntaxError, KeyError, OSError):
            return 1

    def text(self, file: str, name: str) -> str | None:
        """The learner's text of a function; None if the file doesn't parse or lacks it."""
        try:
            return function_text(self.source(file), name)
        except (SyntaxError, KeyError, OSError):
            return None

    @property
    def places(self) -> list[tuple[str, str]]:
        """The file and name of each function to write."""
        return [place for exercise in self.exercises for place in exercise.places]

    def is_empty(self, exercise: Exercise) -> bool:
        """Whether a function of the exercise is still empty."""
        return any(self.is_empty_function(*place) for place in exercise.places)

    def is_empty_function(self, file: str, name: str) -> bool:
        text = self.text(file, name)
        return text is not None and is_empty_text(text)

    def is_skipped(self, exercise: Exercise) -> bool:
        """Whether the functions of the exercise are still those of `learn skip`."""
        texts = self.notes.get("skipped", {}).get(exercise.name)
        return texts is not None and texts == [self.text(*place) for place in exercise.places]

    def forget_compiled(self) -> None:
        """Remove the compiled files of changed files: Python doesn't recompile a file that is saved twice
        within a second with the same length."""
        for file in self.changed_files():
            compiled = importlib.util.cache_from_source(str(self.path / "src" / file))
            with contextlib.suppress(OSError):  # there is none, or it can't be written either
                Path(compiled).unlink()

    def saved(self) -> dict[Path, float]:
        """The modification time of each relevant file."""
        paths = [*(self.path / "src").rglob("*.py"), *(self.path / "tests").rglob("*.py")]
        return {path: path.stat().st_mtime for path in paths if path.exists()}

    def changed_files(self) -> list[str]:
        """The files of the copy that were changed or deleted."""
        known: dict[str, str] = self.notes["files"]
        here = digests(self.path / "src")
        return sorted(
            file for file in known.keys() | here.keys() if known.get(file) != here.get(file)
        )


# ---- making it ----


def lesson_today(notes: Mapping[str, Any]) -> int:
    """The current lesson of a folder, found by exercise names: lessons may have been renumbered."""
    names = {e["name"] for e in notes["exercises"]}
    lessons = Counter(e.lesson for e in catalogue.load() if e.name in names)
    return lessons.most_common(1)[0][0] if lessons else lesson_number(str(notes["lesson"]))


def of_folder(lesson: int, notes: Mapping[str, Any]) -> list[Exercise]:
    """The exercises of a lesson in a folder with these notes: those of an assignment, or all."""
    assignment = notes.get("assignment")
    return [e for e in of_lesson(lesson) if not assignment or e.name in assignment["exercises"]]


def check_place(lesson: int, path: Path) -> None:
    """Raises LearnError if a folder can't be made there, or if the lesson has no exercises."""
    if (path / NOTES).exists():
        raise LearnError(
            f"{path} is a work folder already: go on with `learn test`, or begin again with `learn reset`. "
            f"`learn start {label_of(lesson)} --keep` brings what you have fixed in earlier lessons."
        )
    if path.exists() and (not path.is_dir() or {p.name for p in path.iterdir()} - {NEW}):
        raise LearnError(
            f"There is something in {path}: name another folder, as in `learn start {label_of(lesson)} DIR`."
        )
    if not of_lesson(lesson):
        raise LearnError(f"Lesson {NAMES[lesson]} has no exercises.")


def start(
    lesson: int,
    path: Path,
    kept: Mapping[str, str] | None = None,
    kept_exercises: Iterable[Exercise] = (),
    assignment: Mapping[str, Any] | None = None,
) -> WorkFolder:
    """Make the folder; `kept` are the files with the learner's own functions of these exercises. `assignment`
    has a "title", and the names of the "exercises" to write. Raises LearnError if `path` isn't empty, or if
    the lesson has no exercises yet."""
    check_place(lesson, path)
    notes: dict[str, Any] = {"assignment": assignment} if assignment else {}
    notes["kept"] = [{"name": e.name, "functions": e.functions} for e in kept_exercises]
    make(path, lesson, notes, handed_out(lesson, kept, of_folder(lesson, notes)))
    return WorkFolder(path)


def make(path: Path, *contents: Any) -> Path | None:
    """Fill a folder completely or leave it unchanged: `contents` are the arguments of `fill`. Returns the
    folder of the replaced files."""
    try:
        fill(begin_new(path), *contents)
    except OSError:
        shutil.rmtree(path / NEW, ignore_errors=True)  # the disk may be full
        raise
    return put_in_place(path)


def fill(
    path: Path,
    lesson: int,
    notes: Mapping[str, Any] | None = None,
    given: Mapping[str, str] | None = None,
    own: Mapping[str, str] | None = None,
) -> None:
    """Write fresh copies of everything, with the lesson's functions emptied.

    `given` are the files that differ from tinyjax's, and `own` those with the learner's functions.
    lesson.json comes last."""
    exercises = of_folder(lesson, notes or {})
    files = write_copy(path, handed_out(lesson) if given is None else given)
    for file, source in (own or {}).items():
        write(path / "src" / file, source)
    kept = [function for e in (notes or {}).get("kept", []) for function in e["functions"]]
    write(path / "README.md", readme(lesson, exercises, kept, (notes or {}).get("assignment")))
    write_judges(path, lesson, exercises, {**(notes or {}), "files": files})


def write_copy(path: Path, given: Mapping[str, str]) -> dict[str, str]:
    """Copy the packages with these files replaced; return the digests of all files."""
    for package in PACKAGES:
        copy_tree(in_clone(package), path / "src" / package)
    for file, source in given.items():
        (path / "src" / file).parent.mkdir(parents=True, exist_ok=True)
        write(path / "src" / file, source)
    write(path / GIVEN, json.dumps(given))
    return digests(path / "src")


def write_judges(
    path: Path, lesson: int, exercises: list[Exercise], notes: Mapping[str, Any]
) -> None:
    """Write the tests and the grader of these exercises, and the notes."""
    copy_tests(path, exercises)
    write(path / "conftest.py", read(GRADER))
    write(path / "pytest.ini", PYTEST_INI)
    noted = [
        {"number": e.number, "name": e.name, "functions": e.functions, "tests": e.tests}
        for e in exercises
    ]
    of_today = {
        "lesson": label_of(lesson),
        "fingerprint": fingerprint(exercises),
        "exercises": noted,
    }
    everything = {"hints": {}, "passed": [], "kept": [], **notes, **of_today}
    write(path / NOTES, json.dumps(everything, indent=1))


def copy_tests(path: Path, exercises: Iterable[Exercise]) -> None:
    """Copy the tests of the exercises into a folder, with everything that they need."""
    for file in test_files(exercises):
        (path / file).parent.mkdir(parents=True, exist_ok=True)
        if in_clone(file).is_dir():
            shutil.copytree(in_clone(file), path / file, dirs_exist_ok=True)
        else:
            shutil.copy(in_clone(file), path / file)


def test_files(exercises: Iterable[Exercise]) -> list[str]:
    """The files and folders in tests/ that the exercises' tests import or read."""
    needed = {"tests/conftest.py"}
    todo = {test.partition("::")[0] for e in exercises for test in e.tests}
    while todo:
        file = todo.pop()
        needed.add(file)
        paths = (
            sorted(in_clone(file).rglob("*.py")) if in_clone(file).is_dir() else [in_clone(file)]
        )
        sources = [read(path) for path in paths]
        names = {name for source in sources for name in imported(source)}
        if any('"golden"' in source for source in sources):
            names.add("golden")
        for name in names:
            for found in (f"tests/{name}.py", f"tests/{name}"):
                a_room = any((ROOT / found).glob("test_*.py"))  # tests/numpy is no module
                if (ROOT / found).exists() and found not in needed and not a_room:
                    todo.add(found)
    return sorted(needed)


@lru_cache
def imported(source: str) -> frozenset[str]:
    """The modules that a file imports, by the first part of their names."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return frozenset(found)


def readme(
    lesson: int,
    exercises: list[Exercise],
    kept: list[str],
    assignment: Mapping[str, Any] | None = None,
) -> str:
    """The README of the folder."""
    name = NAMES[lesson]
    of_class = f"{assignment['title']}: " if assignment else ""
    lines = [
        f"# {of_class}Exercises of lesson {name}\n",
        f"The lesson: {ROOT / 'tutorials' / 'rendered' / f'{name}.md'}\n",
        "Write the functions below in `src`, in this order. Their docstrings say what they must do. The rest",
        "of the copy is tinyjax as it is: read whatever you like. (What you will write in later lessons is",
        "hidden, in the folders `later` of `src/tinyjax` and `src/practice`.)\n",
    ]
    if kept:
        names = ", ".join(f"`{function.partition(':')[2]}`" for function in kept)
        lines.append(textwrap.fill(f"Yours already, from earlier lessons: {names}.", 100) + "\n")
    for e in exercises:
        lines.append(f"## {e.number} {e.name} ({'*' * e.grade})\n\n{textwrap.fill(e.goal, 100)}\n")
        lines += [f"- write `{function}` in `src/{file}`" for file, function in e.places]
        lines += [f"- judged by `{test}`" for test in e.tests] + [""]
    lines += [
        "## Commands\n",
        "In this folder:\n",
        "    python -m tinyjax learn test     # which exercises pass, and what fails first",
        "    python -m tinyjax learn watch    # the same after each save",
        "    python -m tinyjax learn hint     # one more each time",
        *["    python -m tinyjax learn skip     # take the reference for one"] * (not assignment),
        "    python -m tinyjax learn submit   # write what you have to one file, for your teacher"
        if assignment
        else "    python -m tinyjax learn diff     # yours beside the reference, once it passes",
        *["    python -m tinyjax learn more     # other right answers, and JAX's"]
        * (not assignment),
        "    python -m tinyjax learn reset    # begin again",
        "    python -m tinyjax learn next     # what to do next\n",
        "`python -m pytest` runs the same tests, with `--pdb` it stops where one fails, and an editor that",
        "knows pytest finds them too. To try something: `PYTHONPATH=src python`.",
    ]
    return "\n".join(lines) + "\n"


# ---- files ----


def fingerprint(exercises: Iterable[Exercise]) -> str:
    """A text that changes whenever the package, the exercises or their tests change."""
    digest = hashlib.sha256(repr((exercises, sorted(digests().items()))).encode())
    for file in test_files(exercises):
        if in_clone(file).is_file():
            digest.update(in_clone(file).read_bytes())
    return digest.hexdigest()


def digests(src: Path | None = None) -> dict[str, str]:
    """A digest of each Python file of the packages and the story, in the clone or in a copy."""
    found = {}
    for package in PACKAGES:
        root = in_clone(package) if src is None else src / package
        for path in root.rglob("*.py"):
            found[f"{package}/{path.relative_to(root).as_posix()}"] = _digest_of(path)
    story = in_clone(STORY) if src is None else src / STORY
    if story.exists():
        found[STORY] = _digest_of(story)
    return found


def _digest_of(path: Path) -> str:
    saved = path.stat()
    return _digest(path, saved.st_mtime_ns, saved.st_size)


@lru_cache(None)
def _digest(path: Path, saved: int, size: int) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
