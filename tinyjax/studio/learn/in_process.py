"""Judge an exercise in this process, for environments without subprocesses, such as a browser.

The copy of the package with the learner's functions is imported instead of this one, the exercise's tests
run, and then all modules are restored. The tests, the grader and the verdict are those of `learn test`. A
test that doesn't end keeps the process busy: the caller must be able to end it.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import io
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tinyjax.studio.learn.atomic_files import read, write
from tinyjax.studio.learn.changes import unreadable
from tinyjax.studio.learn.exercises import PACKAGES, ROOT, Exercise, find, in_clone, label_of, load
from tinyjax.studio.learn.functions import functions_of, lines_of, with_function
from tinyjax.studio.learn.handed_out import empty_sources
from tinyjax.studio.learn.judge import Run, note, outcome, verdict, why
from tinyjax.studio.learn.signature import changed_signatures
from tinyjax.studio.learn.work_folder import WorkFolder, start

ELSEWHERE = "On your own machine all tests run: python -m tinyjax learn start"


def judge_text(number: str, texts: Mapping[str, str]) -> dict[str, Any]:
    """The verdict on the exercise `number`, such as "02.1", with these texts of its functions, by their names
    in exercises.toml; a missing one stays as it was given.

    `state` is "passed", "failed", "empty" or "not run"; `passed` of its `of` tests pass; `lines`
    describe the first failure, with line numbers within the text. Tests that can't run here are skipped and
    listed. Raises LearnError if there is no such exercise."""
    exercise = find(load(), number)
    folder = _folder(exercise.lesson)
    first_lines = _write(folder, exercise, texts)
    run = Run(broken=unreadable(folder))
    if not run.broken and not folder.is_empty(exercise):
        run = _run(folder, exercise)
    skipped = {test: f for test, f in run.failures.items() if f.get("skipped")}
    run.failures = {test: f for test, f in run.failures.items() if test not in skipped}
    counts = {"passed": sum(outcome(test, run) == "passed" for test in exercise.tests)}
    counts["of"] = len(exercise.tests)
    run.passed.update(skipped)
    found = verdict(folder, exercise, run)
    lines = run.broken if found.state == "not run" else why(found.failure)
    lines = [_in_function(line, exercise, texts, first_lines) for line in lines]
    if found.state == "passed" and skipped:
        reasons = dict.fromkeys(line for failure in skipped.values() for line in failure["message"])
        lines = [*(f"A test {reason}." for reason in reasons), ELSEWHERE]
    state = "not run" if found.state == "passed" and not counts["passed"] else found.state
    return {"state": state, **counts, "lines": lines}


@functools.cache
def _folder(lesson: int) -> WorkFolder:
    """A folder of the lesson, for as long as the process lives."""
    return start(lesson, Path(tempfile.mkdtemp(), f"lesson_{label_of(lesson)}"))


def _write(
    folder: WorkFolder, exercise: Exercise, texts: Mapping[str, str]
) -> dict[tuple[str, str], int]:
    """Write the texts into the files, which have the answers to the lesson's other exercises; return each
    function's first line."""
    first_lines: dict[tuple[str, str], int] = {}
    sources = {file: read(in_clone(file)) for file, _ in folder.places} | empty_sources([exercise])
    for function, (file, name) in zip(exercise.functions, exercise.places):
        if function in texts:
            # After a syntax error, functions further down can't be found; the error is reported later.
            with contextlib.suppress(SyntaxError, KeyError):
                first_lines[file, name] = _first_line(sources[file], name)
                sources[file] = with_function(sources[file], name, texts[function])
    for file, name in first_lines:  # texts above may have moved it
        with contextlib.suppress(SyntaxError, KeyError):
            first_lines[file, name] = _first_line(sources[file], name)
    for file, source in sources.items():
        path = folder.path / "src" / file
        if read(path) != source:
            write(path, source)
            Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)
    return first_lines


def _first_line(source: str, name: str) -> int:
    return lines_of(functions_of(source)[name]).start + 1


def _in_function(
    line: str,
    exercise: Exercise,
    texts: Mapping[str, str],
    first_lines: Mapping[tuple[str, str], int],
) -> str:
    """The line of a verdict, with a place in a file replaced by the line number within the text."""
    found = re.match(r"src/(?P<file>\S+?\.py):(?P<number>\d+)(, in [\w.<>]+)?", line)
    for function, place in zip(exercise.functions, exercise.places):
        if found and found["file"] == place[0] and place in first_lines:
            number = int(found["number"]) - first_lines[place] + 1
            if 1 <= number <= len(texts[function].splitlines()):
                return f"{place[1]}, line {number}{line[found.end() :]}"
    return line


def _run(folder: WorkFolder, exercise: Exercise) -> Run:
    """Run the tests of the exercise by pytest with the grader's plugin."""
    run = Run(signatures=changed_signatures(folder.path / "src", [exercise]))
    report = folder.path / "report"
    report.write_text("")
    settings = {"TINYJAX_LEARN_REPORT": str(report), "TINYJAX_LEARN_SECONDS": "0"}
    plugins = ["no:cacheprovider", "no:faulthandler"]  # a browser has no files for these
    options = ["--tb=native", "--capture=sys", *(f"-p{name}" for name in plugins)]
    said = io.StringIO()
    with _its_modules(folder, settings), contextlib.redirect_stdout(said):
        status = pytest.main([*options, f"--rootdir={folder.path}", *exercise.tests])
    begun, finished = note([json.loads(line) for line in read(report).splitlines()], run)
    if not run.broken and (begun or not finished):
        lines = [line for line in said.getvalue().splitlines() if "ERROR" in line]
        run.broken = lines[:2] or [f"pytest ended with status {int(status)}"]
    return run


@contextlib.contextmanager
def _its_modules(folder: WorkFolder, settings: Mapping[str, str]) -> Iterator[None]:
    """Within the block, tinyjax is the folder's copy; afterwards, all modules are restored."""
    modules, path, environment = dict(sys.modules), list(sys.path), dict(os.environ)
    place, recursion = os.getcwd(), sys.getrecursionlimit()
    for name in [name for name, module in modules.items() if _is_ours(name, module)]:
        del sys.modules[name]
    sys.path[:0] = [str(folder.path / "src"), str(folder.path / "tests")]
    os.environ.update(settings)
    os.chdir(folder.path)
    try:
        yield
    finally:
        os.chdir(place)
        for name, module in list(sys.modules.items()):
            if name not in modules and _is_of(module, folder.path) or _is_ours(name, module):
                del sys.modules[name]
        sys.modules.update({n: module for n, module in modules.items() if _is_ours(n, module)})
        sys.path[:] = path
        os.environ.clear()
        os.environ.update(environment)
        sys.setrecursionlimit(recursion)


def _is_ours(name: str, module: Any) -> bool:
    """Whether a work folder may have its own version of this module: tinyjax under any name, practice, and
    the tests' helpers."""
    known = name.partition(".")[0] in (*PACKAGES, "jax", "jaxlib", "conftest")
    return known or _is_of(module, ROOT / "tests")


def _is_of(module: Any, folder: Path) -> bool:
    file = getattr(module, "__file__", None)
    return file is not None and Path(file).is_relative_to(folder)
