"""Runs the tests of a lesson's exercises in each state that a learner may have them in.

    python exercise_proof.py WORK_FOLDER < states.json

Runs in a fresh process, in a work folder whose functions are all empty. A state says which code each
function has; each runs in a fork of the process, in which tinyjax and the tests are imported already: the
functions are given other code objects. So a state costs what its tests cost, not an import.
"""

from __future__ import annotations

import gc
import json
import os
import pickle
import sys
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

State = dict[str, Any]  # {"sources": {file: source}, "functions": [(file, name)], "tests": [...]}


def codes_of(code: CodeType) -> dict[str, CodeType]:
    """The code of each function in a module's code, by qualified name."""
    found = {}
    for part in code.co_consts:
        if isinstance(part, CodeType):
            found[part.co_qualname] = part
            if not part.co_flags & 1:  # a class's body: functions are optimized
                found |= codes_of(part)
    return found


def living_functions() -> dict[tuple[str, str], list[FunctionType]]:
    """By file and qualified name, the functions that this process has."""
    found: dict[tuple[str, str], list[FunctionType]] = {}
    for thing in gc.get_objects():
        if isinstance(thing, FunctionType):
            key = thing.__code__.co_filename, thing.__code__.co_qualname
            found.setdefault(key, []).append(thing)
    return found


def enter(state: State, src: Path, living: dict[tuple[str, str], list[FunctionType]]) -> None:
    """Give the functions of a state the code that they have in its sources."""
    files = {file: str(src / file) for file, _ in state["functions"]}
    codes = {file: codes_of(compile(state["sources"][file], files[file], "exec")) for file in files}
    for file, name in state["functions"]:
        functions = living.get((files[file], name), [])
        assert functions, f"{name} of {file} is not what was imported"
        for function in functions:
            function.__code__ = codes[file][name]


class Prover:
    """The plugin: collects the tests once, and runs each state's in a fork."""

    def __init__(self, states: list[State], src: Path):
        self.states, self.src = states, src
        self.results: list[dict[str, str | None]] = []
        self.errors: list[str] = []

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.errors.append(str(report.longrepr))

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        living = living_functions()
        gc.freeze()  # what is there stays as it is in memory, which the forks share
        for state in self.states:
            wanted = set(state["tests"])
            items = [i for i in session.items if {i.nodeid, i.nodeid.partition("[")[0]} & wanted]
            self.results.append(in_a_fork(lambda: self.outcomes(state, items, living)))  # noqa: B023
        return True

    def outcomes(
        self, state: State, items: list[pytest.Item], living: dict
    ) -> dict[str, str | None]:
        """For each test None, or what it said when it failed."""
        enter(state, self.src, living)
        found: dict[str, str | None] = {}
        for item in items:
            found[item.nodeid] = None
            for report in runtestprotocol(item, log=False, nextitem=None):
                if not report.passed:
                    found[item.nodeid] = f"{report.outcome}: {report.longrepr}"[-1500:]
        return found


def in_a_fork(function: Any) -> Any:
    """The result of a function that is called in a copy of this process."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            answer = function()
        except BaseException as error:
            answer = {"proof": repr(error)}
        with os.fdopen(theirs, "wb") as pipe:
            pickle.dump(answer, pipe)
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours, "rb") as pipe:
        answer = pickle.load(pipe)
    os.waitpid(child, 0)
    return answer


def main(folder: Path) -> None:
    states = json.load(sys.stdin)
    prover = Prover(states, folder / "src")
    tests = sorted({test for state in states for test in state["tests"]})
    options = ["--tb=native", "-p", "no:cacheprovider"]
    pytest.main([*options, *(str(folder / test) for test in tests)], plugins=[prover])
    loaded = [m for m in sys.modules.values() if m.__name__.partition(".")[0] == "tinyjax"]
    files = [m.__file__ for m in loaded if m.__file__]
    report = {"files": files, "results": prover.results, "errors": prover.errors}
    print("\n" + json.dumps(report))  # the last line


if __name__ == "__main__":
    main(Path(sys.argv[1]))
