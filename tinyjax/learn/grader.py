"""The conftest.py of a work folder: says of each exercise whether it passes, and what fails first.

`learn` copies this file; it stands alone, as the tinyjax beside it may not import. Plain `pytest` runs the
lesson's tests and says in a line what keeps the package from importing; under `learn test` it also writes
down what happened to each test, a line of JSON each, and ends a test that does not end by itself.
"""

from __future__ import annotations

import faulthandler
import hashlib
import json
import os
import sys
import traceback
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

FOLDER = Path(__file__).parent
SRC = FOLDER / "src"
LESSON = json.loads((FOLDER / "lesson.json").read_text(encoding="utf-8"))
REPORT = os.environ.get("TINYJAX_LEARN_REPORT")  # a file, under `learn test`
SECONDS = float(os.environ.get("TINYJAX_LEARN_SECONDS", "20"))  # that a test may take
sys.path.insert(0, str(SRC))


def tell(**what: Any) -> None:
    """Writes a line for `learn test`."""
    if REPORT:
        with open(REPORT, "a", encoding="utf-8") as file:
            file.write(json.dumps(what) + "\n")


# ---- what went wrong, and where ----


def place(frame: traceback.FrameSummary) -> str:
    """As "tinyjax/core.py, line 12, in bind"."""
    path = Path(frame.filename)
    root = SRC if path.is_relative_to(SRC) else FOLDER
    inside = "" if frame.name.startswith("<") else f", in {frame.name}"
    return f"{path.relative_to(root).as_posix()}, line {frame.lineno}{inside}"


def frames(tb: TracebackType | None, folder: Path) -> list[traceback.FrameSummary]:
    """The frames of a traceback that are in files of the folder, the innermost last."""
    return [f for f in traceback.extract_tb(tb) if Path(f.filename).is_relative_to(folder)]


def is_changed(file: str) -> bool:
    """Whether the learner has changed this file of the package."""
    path = Path(file)
    known = LESSON["files"].get(path.relative_to(SRC).as_posix())
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16] != known


def why_no_import(error: BaseException) -> list[str]:
    """What keeps the package from importing, in a line or two."""
    if isinstance(error, SyntaxError) and error.filename:
        path = Path(error.filename)
        name = path.relative_to(SRC).as_posix() if path.is_relative_to(SRC) else path.name
        kind = type(error).__name__
        return [
            f"{name}, line {error.lineno}: {kind}: {error.msg}",
            f"    {(error.text or '').strip()}",
        ]
    there = frames(error.__traceback__, SRC)
    theirs = [f for f in there if is_changed(f.filename)] or there
    message = first_lines(error)[0]
    if not theirs:
        return [f"tinyjax cannot be imported: {message}"]
    line = f"    {theirs[-1].line}"
    if "circular import" in message or "partially initialized" in message:
        return [
            f"{place(theirs[-1])}: a circular import: what is imported here imports this file, which is "
            "not there yet. Import it in the function that needs it, or not at all.",
            line,
        ]
    return [f"{place(theirs[-1])}: {message}", line]


def first_lines(error: BaseException, most: int = 3) -> list[str]:
    """The kind of an error and the first lines of its message which say something."""
    text = str(error)
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    shown = [line for line in lines if "ACTUAL:" in line or "DESIRED:" in line] or lines[:most]
    if isinstance(error, AssertionError):
        return [short(line) for line in shown] or ["an assertion failed"]
    kind = type(error).__name__
    return [short(f"{kind}: {shown[0]}" if shown else kind), *map(short, shown[1:])]


def short(line: str, most: int = 160) -> str:
    return line if len(line) <= most else line[: most - 3] + "..."


def failure(error: BaseException) -> dict[str, Any]:
    """What failed: the line of the test, the learner's line if it was in the package, and the message."""
    tests = frames(error.__traceback__, FOLDER / "tests")
    package = frames(error.__traceback__, SRC)
    mine = [f for f in package if is_changed(f.filename)]
    inner = (mine or package)[-1:]
    return {
        "kind": type(error).__name__,
        "test": f"{place(tests[0])}: {tests[0].line}" if tests else "",
        "place": f"{place(inner[0])}: {inner[0].line}" if inner else "",
        "message": first_lines(error),
    }


# ---- pytest's hooks ----


def pytest_configure(config: pytest.Config) -> None:
    watch_over("importing tinyjax")
    try:
        import tinyjax
    except BaseException as error:
        lines = why_no_import(error)
        tell(broken=lines)
        raise pytest.UsageError("tinyjax cannot be imported.\n" + "\n".join(lines)) from None
    found = Path(tinyjax.__file__ or "")
    if not found.is_relative_to(SRC):
        lines = [f"The tests would run {found.parent}, not the copy in {SRC}."]
        tell(broken=lines)
        raise pytest.UsageError(lines[0])
    tell(package=str(found))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without arguments, pytest runs the lesson's tests, and nothing else of their files."""
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        wanted = {test for exercise in LESSON["exercises"] for test in exercise["tests"]}
        items[:] = [i for i in items if {i.nodeid, i.nodeid.partition("[")[0]} & wanted]


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed and report.nodeid:
        lines = [line[2:].strip() for line in str(report.longrepr).splitlines() if line[:2] == "E "]
        tell(
            broken=[
                f"{report.nodeid} cannot be read: {short(lines[0])}" if lines else report.nodeid
            ]
        )


def pytest_runtest_logstart(nodeid: str, location: tuple) -> None:
    watch_over(nodeid)
    tell(begun=nodeid)


def pytest_runtest_logfinish(nodeid: str, location: tuple) -> None:
    tell(ended=nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    tell(finished=True)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo) -> Any:
    report = yield
    if call.excinfo is not None and report.failed:
        tell(failed=item.nodeid, printed=report.capstdout, **failure(call.excinfo.value))
    elif report.skipped:
        tell(failed=item.nodeid, message=[f"was skipped: {call.excinfo and call.excinfo.value}"])
    elif call.when == "call":
        tell(passed=item.nodeid)
    return report


def watch_over(what: str) -> None:
    """From here on, `what` may take SECONDS; then Python writes where it is, and ends."""
    if REPORT:
        stacks = open(f"{REPORT}.stack", "w", encoding="utf-8")  # noqa: SIM115  (kept for the dump)
        faulthandler.dump_traceback_later(SECONDS, exit=True, file=stacks)
        watch_over.file = stacks  # type: ignore[attr-defined]
