"""Runs the tests of a lesson's exercises in each state that a learner may have them in.

    python exercise_proof.py WORK_FOLDER < states.json

Runs in a fresh process, in a work folder whose functions are all empty. A state has the code of each
function; each runs in a fork of the process, in which tinyjax and the tests are imported already: the
functions are given other code objects. So a state costs what its tests cost, not an import. Devices are
not yet looked for: the driver's threads would be missing in the forks.

The functions of later lessons are empty too, where a state says so.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import itertools
import json
import os
import pickle
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

Living = dict[tuple[str, str], list[FunctionType]]  # functions by file and qualified name
Codes = list[tuple[str, str, CodeType]]  # the code that a function must have, by the same
# {"sources": {file: source}, "functions": [(file, name)], "tests": [...], "is_later_empty": bool}
State = dict[str, Any]


@functools.cache
def codes_in(source: str, file: str) -> dict[str, CodeType]:
    """The code of each function in a file with this source."""
    return codes_of(compile(source, file, "exec"))


def codes_of(code: CodeType) -> dict[str, CodeType]:
    """The code of each function in a module's code, by qualified name."""
    found = {}
    for part in code.co_consts:
        if isinstance(part, CodeType):
            found[part.co_qualname] = part
            if not part.co_flags & 1:  # a class's body: functions are optimized
                found |= codes_of(part)
    return found


def living_functions() -> Living:
    """The functions that this process has."""
    found: Living = {}
    gc.unfreeze()  # what conftest.py froze: the collector lists no frozen objects
    for thing in gc.get_objects():
        if isinstance(thing, FunctionType):
            key = thing.__code__.co_filename, thing.__code__.co_qualname
            found.setdefault(key, []).append(thing)
    return found


def codes_for(state: State, src: Path) -> Codes:
    """The code that each function has in the sources of a state."""
    return [
        (str(src / file), name, codes_in(state["sources"][file], str(src / file))[name])
        for file, name in state["functions"]
    ]


def enter(codes: Codes, living: Living) -> None:
    """Give each function its code."""
    for file, name, code in codes:
        assert (file, name) in living, f"{name} of {file} is not what was imported"
        for function in living[file, name]:
            function.__code__ = code


class InForks:
    """A plugin of pytest that collects all tests once, and runs those of each trial in a fork.

    What a fork imports is then imported for the forks after it, which would take as long as most tests."""

    def __init__(self, trials: list[dict[str, Any]], modules: Sequence[str] = ("pyopencl",)):
        self.trials = trials
        self.modules = modules  # imported before the first fork
        self.results: list[Any] = []
        self.errors: list[str] = []

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.errors.append(str(report.longrepr))

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if sys.modules["tinyjax.runtime.devices"].are_known():
            self.errors.append("a test looks for devices while it is imported: no fork can compute")
        import_all(self.modules)
        living = living_functions()
        by_name: dict[str, list[pytest.Item]] = {}
        for item in session.items:
            _ = item.location  # computed once for all forks
            for name in {item.nodeid, item.nodeid.partition("[")[0]}:
                by_name.setdefault(name, []).append(item)
        for trial in self.trials:
            self.errors += [f"there is no {test}" for test in trial["tests"] if test not in by_name]
            items = [item for test in trial["tests"] for item in by_name.get(test, [])]
            items = self.in_order(trial, list(dict.fromkeys(items)))
            gc.freeze()  # what is there stays as it is in memory, which the forks share
            result, imported = in_a_fork(self.tried, trial, living, items)
            self.results.append(result)
            import_all(imported)
        return True

    def in_order(self, trial: dict[str, Any], items: list[pytest.Item]) -> list[pytest.Item]:
        """The tests of a trial, which is the next one, in the order in which they are run."""
        return items

    def tried(self, trial: dict[str, Any], living: Living, items: list[pytest.Item]) -> Any:
        """What comes out of a trial with these tests."""
        raise NotImplementedError


class Prover(InForks):
    """Runs all tests of each state. `later` has the functions of later lessons, and sources in which these
    are empty."""

    def __init__(self, states: list[State], later: State, src: Path):
        files = dict.fromkeys(file for file, _ in later["functions"])
        modules = [file.removesuffix(".py").replace("/", ".") for file in files]
        super().__init__(states, [*modules, "pyopencl"])
        self.later = later
        self.src = src

    def tried(
        self, state: State, living: Living, items: list[pytest.Item]
    ) -> dict[str, str | None]:
        """For each test None, or what it said when it failed."""
        if state["is_later_empty"]:
            enter(codes_for(self.later, self.src), living)
        enter(codes_for(state, self.src), living)
        found: dict[str, str | None] = {}
        for item in items:
            found[item.nodeid] = None
            for report in runtestprotocol(item, log=False, nextitem=None):
                if not report.passed:
                    found[item.nodeid] = f"{report.outcome}: {report.longrepr}"[-1500:]
        return found


def import_all(modules: Sequence[str]) -> None:
    for name in modules:
        with contextlib.suppress(Exception):  # pyopencl is not everywhere, and functions are empty
            importlib.import_module(name)


def imported_since(count: int) -> list[str]:
    """The modules after the first `count`, of packages that are among these.

    No name of the first is looked at: a fork that counts a reference to it copies the page that it is on."""
    new = dict.fromkeys(itertools.islice(reversed(sys.modules), max(0, len(sys.modules) - count)))
    return [m for m in reversed(new) if m.partition(".")[0] not in new]


def in_a_fork(function: Callable[..., Any], *args: Any) -> tuple[Any, list[str]]:
    """The result of a function that is called in a copy of this process, and the modules imported there."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        before = len(sys.modules)
        try:
            answer = function(*args)
        except BaseException as error:
            answer = {"proof": repr(error)}
        with os.fdopen(theirs, "wb") as pipe:
            pickle.dump((answer, imported_since(before)), pipe)
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours, "rb") as pipe:
        answer = pickle.load(pipe)
    os.waitpid(child, 0)
    return answer


def main(folder: Path) -> None:
    states, later = json.load(sys.stdin)
    prover = Prover(states, later, folder / "src")
    tests = sorted({test for state in states for test in state["tests"]})
    options = ["--tb=native", "--assert=plain", "-p", "no:cacheprovider"]
    pytest.main([*options, *(str(folder / test) for test in tests)], plugins=[prover])
    loaded = [m for m in sys.modules.values() if m.__name__.partition(".")[0] == "tinyjax"]
    files = [m.__file__ for m in loaded if m.__file__]
    report = {"files": files, "results": prover.results, "errors": prover.errors}
    print("\n" + json.dumps(report))  # the last line


if __name__ == "__main__":
    main(Path(sys.argv[1]))
