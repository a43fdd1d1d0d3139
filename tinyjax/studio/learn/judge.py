"""Run a lesson's tests on the learner's copy, and give a verdict on each exercise.

An exercise passes when all of its functions are written with the exercise's signatures, all of its tests have
passed, and the package that the tests ran is the learner's.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tinyjax.studio.learn.atomic_files import read
from tinyjax.studio.learn.changes import unreadable
from tinyjax.studio.learn.exercises import Exercise
from tinyjax.studio.learn.signature import changed_signatures
from tinyjax.studio.learn.work_folder import WorkFolder

SECONDS = 20  # a test's limit of processor time
LEAST_BYTES = 2**32  # a test's limit of memory is at least this, else half of the machine's
GUARD = "guard"  # the folder of guard.py, for judging others' answers
PRINTED = 8  # lines shown of a failed test's output
SECONDS_BETWEEN = 0.5  # between two reads of the report
Begun = Callable[[str], None]  # called when a test begins


@dataclass
class Run:
    """The outcomes of a lesson's tests."""

    broken: list[str] = field(default_factory=list)  # why no test could run, in lines
    passed: set[str] = field(default_factory=set)
    failures: dict[str, dict[str, Any]] = field(default_factory=dict)  # by test
    signatures: dict[str, list[str]] = field(default_factory=dict)  # changed ones, by exercise


@dataclass
class Verdict:
    """The state of an exercise: "passed", "empty", "skipped", "not run", or "failed" with the first failed
    test ("" if a signature is wrong)."""

    exercise: Exercise
    state: str
    passed: int = 0  # of its tests
    test: str = ""
    failure: dict[str, Any] = field(default_factory=dict)


def judge(folder: WorkFolder, begun: Begun = lambda test: None) -> tuple[Run, list[Verdict]]:
    """Run the lesson's tests; return the run and a verdict for each exercise. `begun` is called with each
    test that begins."""
    lines = unreadable(folder)
    run = Run(broken=lines) if lines else run_tests(folder, begun)
    verdicts = [verdict(folder, exercise, run) for exercise in folder.exercises]
    return run, verdicts


def verdict(folder: WorkFolder, exercise: Exercise, run: Run) -> Verdict:
    if folder.is_empty(exercise):
        return Verdict(exercise, "empty")
    if folder.is_skipped(exercise):
        return Verdict(exercise, "skipped")
    return verdict_of_written(exercise, run)


def verdict_of_written(exercise: Exercise, run: Run) -> Verdict:
    if run.broken:
        return Verdict(exercise, "not run")
    outcomes = {test: outcome(test, run) for test in exercise.tests}
    passed = sum(o == "passed" for o in outcomes.values())
    if changed := run.signatures.get(exercise.name):
        return Verdict(exercise, "failed", passed, failure={"message": changed})
    for test, found in outcomes.items():
        if found != "passed":
            return Verdict(exercise, "failed", passed, test, run.failures.get(found, {}))
    return Verdict(exercise, "passed", passed)


def outcome(test: str, run: Run) -> str:
    """ "passed", or the first failed test of this name (a parametrized test is several), or "not run"."""
    for failed in run.failures:
        if is_of(test, failed):
            return failed
    ran = any(is_of(test, name) for name in run.passed)
    return "passed" if ran else "not run"


def why(failure: dict[str, Any]) -> list[str]:
    """The most useful lines of a failure."""
    if failure.get("message", [""])[0].startswith("NotImplementedError: exercise "):
        return [f"needs another first: {failure['message'][0].partition(': ')[2]}"]
    lines = [failure.get("test", ""), failure.get("place", ""), *failure.get("message", [])]
    printed = [line for line in failure.get("printed", "").splitlines() if line.strip()]
    return [line for line in [*lines, *(f"printed: {line}" for line in printed[-PRINTED:])] if line]


def promise(test: str) -> str:
    """A test's name as a sentence."""
    name = test.rpartition("::")[2].partition("[")[0]
    return name.removeprefix("test_").replace("_", " ")


# ---- running the tests ----


def is_of(test: str, ran: str) -> bool:
    """Whether the test that ran is the named one, or one of its parameters."""
    return ran == test or ran.startswith(f"{test}[")


def run_tests(folder: WorkFolder, begun: Begun = lambda test: None) -> Run:
    """Run the tests of the functions that the learner has written."""
    folder.forget_compiled()
    written = [e for e in folder.exercises if not folder.is_empty(e) and not folder.is_skipped(e)]
    return run_exercises(folder.path, written, begun)


def run_exercises(
    path: Path, written: list[Exercise], begun: Begun = lambda test: None, guarded: bool = False
) -> Run:
    """Run the tests of these exercises in a separate process; after a test that ends the process, in a new
    one. `guarded`: under guard.py, which is then in the folder."""
    run = Run(signatures=changed_signatures(path / "src", written))
    tests = list(dict.fromkeys(test for e in written for test in e.tests))
    while tests:
        ended_in = run_once(path, tests, run, begun, guarded)
        at = [i for i, test in enumerate(tests) if is_of(test, ended_in)]
        tests = tests[at[0] + 1 :] if at and not run.broken else []
        # Skip the other tests of an exercise whose test did not end: they would take as long again.
        left = [e for e in written if not any(is_of(test, ended_in) for test in e.tests)]
        tests = [test for test in tests if any(test in e.tests for e in left)]
    return run


def run_once(
    path: Path, tests: list[str], run: Run, begun: Begun = lambda test: None, guarded: bool = False
) -> str:
    """Run these tests and add their outcomes to `run`. Returns the test in which the process ended, or ""."""
    with tempfile.TemporaryDirectory() as temporary:
        report, stack = Path(temporary, "report"), Path(temporary, "report.stack")
        report.touch()
        settings = {"TINYJAX_LEARN_REPORT": str(report), "TINYJAX_LEARN_SECONDS": str(SECONDS)}
        settings |= {"TINYJAX_LEARN_BYTES": str(memory_limit())}
        settings |= {"PYTHONPATH": str(path / "src"), "PYTHONOPTIMIZE": ""}  # asserts must stay on
        settings["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # starts twice as fast
        options = ["--tb=native", "-p", "no:cacheprovider"]
        if guarded:
            settings["PYTHONPATH"] += os.pathsep + str(path / GUARD)
            options += ["-p", "guard"]
        environment = {**os.environ, **settings}
        command = [sys.executable, "-m", "pytest", *options, *tests]
        process = subprocess.Popen(
            command,
            cwd=path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )
        printed = "".join(watched(process, report, begun))
        lines = reported(report)
        where = innermost(read(stack), path / "src") if stack.exists() else ""
    under_way, finished = note(lines, run)
    if run.broken or finished and not under_way:
        return ""
    what = (
        f"did not end within {SECONDS} seconds: is there a loop, or a call of itself, without an end?"
        if where
        else f"Python itself stopped (exit status {process.returncode})"
    )
    failure = {"message": [what], "place": where, "test": "", "kind": ""}
    if under_way:
        run.failures[under_way] = failure
    else:
        said = [line for line in printed.splitlines() if "ERROR" in line]
        run.broken = [f"importing tinyjax {what}", where] if where or not said else said[:2]
    return under_way


def memory_limit() -> int:
    """A test's limit of bytes: enough for OpenCL and its compiler."""
    try:
        half = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (AttributeError, ValueError):  # Windows has no sysconf
        return LEAST_BYTES
    return max(half, LEAST_BYTES)


def watched(process: subprocess.Popen, report: Path, begun: Begun) -> tuple[str, str]:
    """Wait for a process and return its output; `begun` is called for new tests in its report."""
    printed, told = None, 0
    with process:
        try:
            while printed is None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    printed = process.communicate(timeout=SECONDS_BETWEEN)
                tests = [line["begun"] for line in reported(report) if "begun" in line]
                for test in tests[told:]:
                    begun(test)
                told = len(tests)
        except BaseException:  # such as Ctrl-C
            process.kill()
            raise
    return printed


def reported(report: Path) -> list[dict[str, Any]]:
    """The grader's report so far, without an incomplete last line."""
    return [json.loads(line) for line in read(report).splitlines(keepends=True) if line[-1] == "\n"]


def note(report: list[dict[str, Any]], run: Run) -> tuple[str, bool]:
    """Add the grader's report to `run`. Returns the test that has not ended, and whether all have."""
    under_way, finished = "", False
    for line in report:
        if "broken" in line:
            run.broken = line["broken"]
        elif "begun" in line:
            under_way = line["begun"]
        elif "failed" in line:
            run.failures.setdefault(line["failed"], line)
        elif "passed" in line:
            run.passed.add(line["passed"])
        elif "ended" in line:
            under_way = ""
        finished = finished or "finished" in line
    return under_way, finished


def innermost(stack: str, src: Path) -> str:
    """The innermost line in the learner's package, from faulthandler's stack."""
    for file, line, name in re.findall(r'File "(.*)", line (\d+) in (.*)', stack):
        if Path(file).is_relative_to(src):
            return f"src/{Path(file).relative_to(src).as_posix()}:{line}, in {name}"
    return ""
