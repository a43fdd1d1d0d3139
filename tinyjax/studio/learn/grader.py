"""The conftest.py of a work folder: reports which exercises pass, and the first failure.

`learn` copies this file. It doesn't import tinyjax, as the learner's copy may be broken. Plain pytest runs
the lesson's tests and prints a line about a failing import of the package. Under `learn test` this file also
writes a line of JSON for each test, and limits each test's time and memory.
"""

from __future__ import annotations

import collections
import faulthandler
import hashlib
import itertools
import json
import os
import re
import signal
import sys
import traceback
from importlib.util import find_spec
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, NoReturn

import pytest

try:
    import resource
except ImportError:  # Windows has none
    resource = None  # type: ignore[assignment]

FOLDER = Path(__file__).parent
SRC = FOLDER / "src"
LESSON = json.loads((FOLDER / "lesson.json").read_text(encoding="utf-8"))
REPORT = os.environ.get("TINYJAX_LEARN_REPORT")  # a file, under `learn test`
STACK = open(f"{REPORT}.stack", "w", encoding="utf-8") if REPORT else sys.stderr  # noqa: SIM115
# The limit of a test's processor time, which a busy machine doesn't change; ten times as long by the clock,
# for a test that waits. 0: no limit.
SECONDS = int(os.environ.get("TINYJAX_LEARN_SECONDS", "20"))
BYTES = int(os.environ.get("TINYJAX_LEARN_BYTES", "0"))  # limit of a test's memory; 0: none
sys.path.insert(0, str(SRC))
# the tests run the code of the lesson, without shortcuts
os.environ.setdefault("TINYJAX_FAST", "0")


def tell(**what: Any) -> None:
    """Write a line for `learn test`."""
    if REPORT:
        with open(REPORT, "a", encoding="utf-8") as file:
            file.write(json.dumps(what) + "\n")


# ---- what went wrong, and where ----


def place(frame: traceback.FrameSummary) -> str:
    """A place such as "src/tinyjax/core/bind.py:12, in bind: the line", which many terminals make a link."""
    inside = "" if frame.name.startswith(("<", "test_")) else f", in {frame.name}"
    return f"{Path(frame.filename).relative_to(FOLDER).as_posix()}:{frame.lineno}{inside}: {frame.line}"


def frames(tb: TracebackType | None, folder: Path) -> list[traceback.FrameSummary]:
    """A traceback's frames in files of the folder, the innermost last."""
    return [f for f in traceback.extract_tb(tb) if Path(f.filename).is_relative_to(folder)]


def is_changed(file: str) -> bool:
    """Whether the learner has changed this file of the package."""
    path = Path(file)
    known = LESSON["files"].get(path.relative_to(SRC).as_posix())
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16] != known


def why_no_import(error: BaseException) -> list[str]:
    """Why the package can't be imported: the place and the error."""
    if isinstance(error, SyntaxError) and error.filename:
        path = Path(error.filename)
        name = path.relative_to(FOLDER).as_posix() if path.is_relative_to(FOLDER) else path.name
        kind = type(error).__name__  # IndentationError is one
        return [f"{name}:{error.lineno}: {(error.text or '').strip()}", f"{kind}: {error.msg}"]
    there = frames(error.__traceback__, SRC)
    theirs = [f for f in there if is_changed(f.filename)] or there
    where = [place(f) for f in theirs[-1:]]
    message = [re.sub(r" \(/.*\.py\)$", "", first_lines(error, 1)[0])]  # ImportError adds its file
    if "circular import" in message[0] or "partially initialized" in message[0]:
        message = [
            "This import goes round in a circle: what is imported here imports this file itself, which "
            "is not there yet. Import it within the function that needs it."
        ]
    return where + message


def first_lines(error: BaseException, most: int = 3) -> list[str]:
    """The class of an error and the first non-empty lines of its message."""
    lines = [line.rstrip() for line in str(error).splitlines() if line.strip()]
    lines = [line for line in lines if not line.strip().startswith("Use -v ")]
    shown = what_differs(lines) or lines[:most]
    if isinstance(error, AssertionError):
        return [short(line) for line in shown] or ["an assertion failed"]
    kind = type(error).__name__
    if isinstance(error, MemoryError) and not shown:
        shown = ["the test needs too much memory: is there a list that grows without an end?"]
    return [short(f"{kind}: {shown[0]}" if shown else kind), *map(short, shown[1:])]


def what_differs(lines: list[str], most: int = 8) -> list[str]:
    """For a failed comparison of two arrays: the test's message and both arrays, or one element of each if
    they are large."""
    begin = [i for i, line in enumerate(lines) if line.startswith(" ACTUAL:")]
    if not begin:
        return []
    said = list(itertools.takewhile(lambda line: "ismatch" not in line, lines[1 : begin[0]]))
    arrays = lines[begin[0] :]
    if len(arrays) <= most:
        return said + arrays
    return said + [line for line in lines if "ismatch" in line or "(ACTUAL)" in line][:3]


def short(line: str, most: int = 160) -> str:
    return line if len(line) <= most else line[: most - 3] + "..."


def frames_of_exercises(tb: TracebackType | None) -> list[traceback.FrameSummary]:
    """The frames of functions that the lesson asks for, the innermost last."""
    known = functions_of_exercises()
    codes = [frame.f_code for frame, _ in traceback.walk_tb(tb)]
    names = [(c.co_filename, c.co_qualname.partition(".<locals>")[0]) for c in codes]
    return [f for name, f in zip(names, traceback.extract_tb(tb)) if name in known]


def failure(error: BaseException) -> dict[str, Any]:
    """The failure: the line of the test; the innermost line of an exercise's function, or else of a file that
    the learner has changed; and the message."""
    tests = frames(error.__traceback__, FOLDER / "tests")
    tests = [
        f for f in tests if Path(f.filename).name != "conftest.py"
    ]  # its hooks are around the test
    mine = frames_of_exercises(error.__traceback__)
    message = first_lines(error)
    if isinstance(error, RecursionError) and mine:
        [(name, _)] = collections.Counter(f.name for f in mine).most_common(1)
        mine = [f for f in mine if f.name == name][:1]
        message.append(f"What {name} calls ends up in {name} again, without an end.")
    mine = mine or [f for f in frames(error.__traceback__, SRC) if is_changed(f.filename)]
    return {
        "kind": type(error).__name__,
        "test": place(tests[0]) if tests else "",
        "place": place(mine[-1]) if mine else "",
        "message": message,
    }


# ---- which exercises a test is about ----


def functions_of_exercises() -> dict[tuple[str, str], str]:
    """The exercise of each function to write, by its file and its qualified name."""
    found = {}
    for exercise in LESSON["exercises"]:
        for function in exercise["functions"]:
            module, _, name = function.partition(":")
            path = SRC.joinpath(*module.split("."))
            file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
            found[str(file), name] = exercise["name"]
    return found


def called_by(test: Any) -> list[str]:
    """The exercises whose functions the test calls: runs the test again with a profiling hook."""
    known = functions_of_exercises()
    called: dict[str, None] = {}

    def look(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            name = frame.f_code.co_qualname.partition(".<locals>")[0]
            if exercise := known.get((frame.f_code.co_filename, name)):
                called[exercise] = None

    sys.setprofile(look)
    try:
        test()
    except BaseException:  # it failed before
        pass
    finally:
        sys.setprofile(None)
    return list(called)


# ---- pytest's hooks ----


def pytest_configure(config: pytest.Config) -> None:
    watch_over(max(SECONDS, 20))
    try:
        import tinyjax  # noqa: F401
    except (Exception, SystemExit) as error:
        stop("tinyjax cannot be imported.", *why_no_import(error))
    check_that_the_copy_ran()


def check_that_the_copy_ran() -> None:
    """Stop if a module of tinyjax isn't from the learner's copy: an installed package, for example, can
    replace a lost file."""
    for name, module in sorted(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file and name.partition(".")[0] == "tinyjax" and not Path(file).is_relative_to(SRC):
            here = Path("src", *name.split("."))
            stop(f"{name} was imported from {file}, not from the copy here: is {here}.py gone?")


def stop(*lines: str) -> NoReturn:
    """Count no test; pytest prints the lines and exits."""
    tell(broken=lines)
    raise pytest.UsageError("\n".join(lines)) from None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without arguments, pytest runs only the lesson's tests of their files."""
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        wanted = {test for exercise in LESSON["exercises"] for test in exercise["tests"]}
        items[:] = [i for i in items if {i.nodeid, i.nodeid.partition("[")[0]} & wanted]


def pytest_exception_interact(call: pytest.CallInfo, report: Any) -> None:
    """For a test file that can't be imported: usually because of the learner's file that it imports."""
    if isinstance(report, pytest.CollectReport) and call.excinfo:
        error = call.excinfo.value.__cause__ or call.excinfo.value  # pytest wraps an ImportError
        tell(broken=[f"{report.nodeid} cannot be read.", *why_no_import(error)])


def pytest_runtest_logstart(nodeid: str, location: tuple) -> None:
    watch_over(SECONDS)
    tell(begun=nodeid)


def pytest_runtest_logfinish(nodeid: str, location: tuple) -> None:
    tell(ended=nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    check_that_the_copy_ran()
    tell(finished=True)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo) -> Any:
    report = yield
    if call.excinfo is not None and lacks_small_dtypes(call.excinfo.value):
        tell(failed=item.nodeid, message=[f"was skipped: {call.excinfo.value}"], skipped=True)
    elif call.excinfo is not None and report.failed:
        # Not for a test at its limit of time or memory: a second run would exceed it.
        is_cheap = call.duration < 1 and not isinstance(call.excinfo.value, MemoryError)
        again = REPORT and call.when == "call" and is_cheap
        called = called_by(item.runtest) if again else []
        what = failure(call.excinfo.value)
        tell(failed=item.nodeid, printed=report.capstdout, called=called, **what)
    elif report.skipped:
        message = [f"was skipped: {call.excinfo and call.excinfo.value}"]
        tell(failed=item.nodeid, message=message, skipped=call.when == "setup")
    elif call.when == "call":
        tell(passed=item.nodeid)
    return report


def lacks_small_dtypes(error: BaseException) -> bool:
    """Whether a test needs bfloat16 in a browser, where ml_dtypes is missing."""
    return find_spec("ml_dtypes") is None and "need the package ml_dtypes" in str(error)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Any:
    try:
        return (yield)
    except MemoryError:
        # the failed test's data is still in memory, and the report needs memory too
        limit_memory(False)
        raise


def watch_over(seconds: int) -> None:
    """Limit the time and the memory from here on. After the time limit, Python writes its stack and exits;
    too much memory raises MemoryError."""
    if REPORT and SECONDS:
        limit_memory(True)
        faulthandler.dump_traceback_later(10 * seconds, exit=True, file=STACK)
        if hasattr(signal, "setitimer"):  # Windows has none
            # then the signal ends the process
            faulthandler.register(signal.SIGPROF, STACK, chain=True)
            signal.setitimer(signal.ITIMER_PROF, seconds)


def limit_memory(is_limited: bool) -> None:
    """Limit this process's memory, or lift the limit; do nothing on systems without such limits."""
    if BYTES and resource is not None:
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (BYTES if is_limited else hard, hard))
