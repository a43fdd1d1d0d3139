"""Runs the tests of a lesson's exercises in each state that a learner may have them in.

    python exercise_proof.py WORK_FOLDER < states.json

Runs in a fresh process, in a work folder whose functions are all empty. A state says which code each
function has; each runs in a fork of the process, in which tinyjax and the tests are imported already: the
functions are given other code objects. So a state costs what its tests cost, not an import. Devices are
not yet looked for: the driver's threads would be missing in the forks.
"""

from __future__ import annotations

import functools
import gc
import json
import os
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

Living = dict[tuple[str, str], list[FunctionType]]  # functions by file and qualified name
Codes = list[tuple[str, str, CodeType]]  # the code that a function is to have, by the same
State = dict[str, Any]  # {"sources": {file: source}, "functions": [(file, name)], "tests": [...]}


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
        if sys.modules["tinyjax.runtime.devices"].are_known():
            self.errors.append("a test looks for devices while it is imported: no fork can compute")
        living = living_functions()
        gc.freeze()  # what is there stays as it is in memory, which the forks share
        for state in self.states:
            wanted = set(state["tests"])
            items = [i for i in session.items if {i.nodeid, i.nodeid.partition("[")[0]} & wanted]
            codes = codes_for(state, self.src)
            self.results.append(in_a_fork(outcomes, codes, living, items))
        return True


def outcomes(codes: Codes, living: Living, items: list[pytest.Item]) -> dict[str, str | None]:
    """With these codes: for each test None, or what it said when it failed."""
    enter(codes, living)
    found: dict[str, str | None] = {}
    for item in items:
        found[item.nodeid] = None
        for report in runtestprotocol(item, log=False, nextitem=None):
            if not report.passed:
                found[item.nodeid] = f"{report.outcome}: {report.longrepr}"[-1500:]
    return found


def in_a_fork(function: Callable[..., Any], *args: Any) -> Any:
    """The result of a function that is called in a copy of this process."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            answer = function(*args)
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
