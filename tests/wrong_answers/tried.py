"""Runs wrong answers to exercises against the exercises' tests, until one fails.

    python -m wrong_answers.tried < answers.json

Each answer is the text of some functions, and the tests to be tried on it. It is tried in a fork of this
process, in which tinyjax and all tests are imported already, as in exercise_proof.py, from which the parts
are. All that is not part of the answer is the reference.
"""

from __future__ import annotations

import ast
import functools
import io
import json
import linecache
import re
import resource
import signal
import sys
import traceback
from collections import Counter
from pathlib import Path
from types import CodeType
from typing import Any, NoReturn

import pytest
from _pytest.runner import runtestprotocol
from exercise_proof import Codes, InForks, Living, codes_of, enter

from tinyjax.studio.learn.exercises import in_clone
from tinyjax.studio.learn.functions import Function, functions_of, with_function
from tinyjax.studio.learn.handed_out import module_name

ROOT = Path(__file__).parents[2]
SECONDS = 2  # of the processor's time, for a test
SECONDS_OF_ALL = 60  # and for all tests of an answer
MEMORY = 2 << 30  # that it may take beyond what this process has

# {"functions": [[file, name, text], ...], "tests": [...], "is_made": whether tests may run in any order}
Answer = dict[str, Any]


class EndlessError(Exception):
    """A test took too long."""


class Prover(InForks):
    """Runs the tests of each answer until one fails."""

    def __init__(self, answers: list[Answer]):
        # Modules of the answers that load lazily; and the compiler, which is the reference's.
        files = sorted({file for answer in answers for file, _, _ in answer["functions"]})
        modules = [module_name(file) for file in files if file.startswith("tinyjax/")]
        super().__init__(answers, [*modules, "pyopencl", "tinyjax.runtime.executable"])
        for answer in answers:  # in a fork, the compiler would need memory that is not there yet
            answer["codes"] = codes_for(answer)
        self.found: Counter[str] = Counter()  # how many answers a test has found out
        self.own: set[tuple[str, str]] = set()  # the functions of the answer that is tried
        self.failure: dict[str, str] | None = None

    def in_order(self, answer: Answer, items: list[pytest.Item]) -> list[pytest.Item]:
        """For those made by a machine, first the tests that have found out most others."""
        if self.results and self.results[-1]:
            self.found[self.results[-1]["test"]] += 1
        if answer["is_made"]:
            return sorted(items, key=lambda item: -self.found[item.nodeid])
        return items

    def tried(
        self, answer: Answer, living: Living, items: list[pytest.Item]
    ) -> dict[str, str] | None:
        """What the first test that fails says; None if all pass."""
        limit_memory()
        codes = answer["codes"]
        if isinstance(codes, SyntaxError):
            return {"test": "", "kind": "SyntaxError", "where": "", "message": str(codes)}
        self.own = {(file, name) for file, name, _ in codes}
        enter(codes, living)
        for item in items:
            limit_time()
            reports = runtestprotocol(item, log=False, nextitem=None)
            if self.failure:
                return self.failure | {"test": item.nodeid}
            if not all(report.passed for report in reports):
                return {"test": item.nodeid, "kind": "skipped", "where": "", "message": "skipped"}
        return None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo) -> Any:
        report = yield
        if call.excinfo is not None and report.failed and not self.failure:
            error = call.excinfo.value
            lines = [line for line in str(error).splitlines() if line.strip()]
            self.failure = {
                "kind": type(error).__name__,
                "where": self.where(error),
                "message": " / ".join(lines[:4])[:400],
            }
        return report

    def where(self, error: BaseException) -> str:
        """Where it comes from: raised in the "answer", or in the "test" after the answer has returned; a
        "refusal", which tinyjax raised with a message; or a "crash" of tinyjax."""
        frames = list(traceback.walk_tb(error.__traceback__))
        for frame, line in reversed(frames):
            code = frame.f_code
            name = code.co_qualname.partition(".<locals>")[0]
            if (code.co_filename, name) in self.own:
                return "answer"
            if Path(code.co_filename).is_relative_to(ROOT / "tinyjax"):
                said = linecache.getline(code.co_filename, line).strip()
                told = isinstance(error, RecursionError) or re.search(
                    r"missing \d+ req", str(error)
                )
                return "refusal" if told or said.startswith("raise ") else "crash"
        return "test"


def codes_for(answer: Answer) -> Codes | SyntaxError:
    """The code that each function of the answer must have; or what is no Python in it."""
    try:
        return [
            (str(in_clone(file)), name, code_of(file, name, text))
            for file, name, text in answer["functions"]
        ]
    except SyntaxError as error:
        return error


def code_of(file: str, name: str, text: str) -> CodeType:
    """The code of a function that has this text. Of its file, only the class that it is in, or whichever
    statement of the module, is compiled, where it stands."""
    source = in_clone(file).read_text(encoding="utf-8")
    first, end = statement_of(source, name)
    alone = "\n" * first + "".join(io.StringIO(source).readlines()[first:end])
    with_text = with_function(alone, name, text)
    return codes_of(compile(with_text, str(in_clone(file)), "exec"))[name]


@functools.cache
def statement_of(source: str, name: str) -> tuple[int, int]:
    """The lines, from and up to, of the module's statement in which a function is."""
    line = functions_of(source)[name].lineno
    for node in ast.parse(source).body:
        decorators = node.decorator_list if isinstance(node, Function | ast.ClassDef) else []
        if node.lineno <= line <= (node.end_lineno or line):
            return min([node.lineno, *(d.lineno for d in decorators)]) - 1, node.end_lineno or line
    raise KeyError(name)


def limit_time() -> None:
    """From here on: an error after SECONDS, and again each second, as an error may be caught."""
    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS, 1)
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS_OF_ALL, SECONDS_OF_ALL))


def limit_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0]) if Path("/proc").exists() else 0
    if pages:
        most = pages * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def stop(*_: Any) -> NoReturn:
    raise EndlessError(f"did not end within {SECONDS} seconds")


def main() -> None:
    answers = json.load(sys.stdin)
    prover = Prover(answers)
    files = sorted({test.partition("::")[0] for answer in answers for test in answer["tests"]})
    options = [
        "-o",
        "addopts=",
        "--import-mode=importlib",
        "-q",
        "--tb=no",
        "-p",
        "no:cacheprovider",
    ]
    pytest.main([*options, *(str(ROOT / file) for file in files)], plugins=[prover])
    print("\n" + json.dumps({"results": prover.results, "errors": prover.errors}))  # the last line


if __name__ == "__main__":
    main()
