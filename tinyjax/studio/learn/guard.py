"""A pytest plugin that watches a process while it runs somebody else's answers.

It is copied beside the judged copy of tinyjax, and imports nothing of tinyjax. Python tells an audit hook of
each file that is opened and each process that is started, whoever does it and by whichever name; a hook can't
be removed (PEP 578). After each test the functions that judge must be those of before.
"""

from __future__ import annotations

import builtins
import json
import math
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.testing
import pytest

HERE = Path(__file__).resolve().parent
FORBIDDEN = tuple(json.loads((HERE / "forbidden.json").read_text(encoding="utf-8")))
REPORT = os.environ.get("TINYJAX_LEARN_REPORT", "")
STARTS = (
    "os.system",
    "os.exec",
    "os.spawn",
    "os.posix_spawn",
    "os.fork",
    "subprocess.Popen",
    "socket.connect",
)
JUDGES = (builtins, math, np, numpy.testing, np.linalg, pytest)
AT_FIRST = [dict(vars(module)) for module in JUDGES]
_found: list[str] = []


def watch(event: str, arguments: tuple[Any, ...]) -> None:
    """Raises PermissionError for what an answer must not do."""
    if event == "open" and isinstance(arguments[0], str | bytes | os.PathLike):
        path = os.path.realpath(os.fsdecode(arguments[0]))
        if path.startswith(FORBIDDEN):
            refuse(f"opens {path}")
        elif path == REPORT and not is_called_by_the_grader():
            refuse("opens the report of the tests")
    elif event in STARTS:
        refuse(f"starts another program ({event})")


def is_called_by_the_grader() -> bool:
    caller = Path(sys._getframe(2).f_code.co_filename)
    return caller in (HERE / "guard.py", HERE.parent / "conftest.py")


def refuse(what: str) -> None:
    _found.append(what)
    raise PermissionError(f"an answer {what}")


def replaced() -> Iterator[str]:
    """What judges, and is not what it was."""
    for module, before in zip(JUDGES, AT_FIRST):
        now = vars(module)
        for name, value in before.items():
            if now.get(name) is not value and name != "_":  # the interpreter's last result
                yield f"replaces {module.__name__}.{name}"


def pytest_configure(config: pytest.Config) -> None:
    sys.addaudithook(watch)


@pytest.hookimpl(trylast=True)
def pytest_runtest_logfinish(nodeid: str, location: tuple) -> None:
    if refused := [*_found, *replaced()]:
        with open(REPORT, "a", encoding="utf-8") as file:
            file.write(json.dumps({"broken": [f"refused: an answer {refused[0]}"]}) + "\n")
        os._exit(1)
