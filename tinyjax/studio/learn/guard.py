"""A pytest plugin that supervises a process while it runs untrusted answers.

It is copied beside the judged copy of tinyjax, and imports nothing of tinyjax. Python calls an audit hook for
each opened file and each started process, whichever code causes it; a hook can't be removed (PEP 578). After
each test, the functions that judge must be unchanged.
"""

from __future__ import annotations

import builtins
import json
import math
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.testing
import pytest

HERE = Path(__file__).resolve().parent
COPY = str(HERE.parent) + os.sep
BESIDE = str(HERE.parent.parent) + os.sep  # other students' copies
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
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
JUDGES = (builtins, math, np, numpy.testing, np.linalg, pytest)
_compare_arrays = numpy.testing._private.utils.assert_array_compare
_found: list[str] = []
# name, current function, original function
_at_first: list[tuple[str, Mapping[str, Any], dict[str, Any]]] = []


def compare_arrays(comparison: Any, x: Any, y: Any, *args: Any, **options: Any) -> Any:
    """Called by NumPy's assertions. These accept an empty or masked array as equal to any number."""
    if np.ma.isMaskedArray(x) or (np.size(x) == 0) != (np.size(y) == 0):
        raise AssertionError(f"an empty or masked array is no answer: {x!r}")
    return _compare_arrays(comparison, x, y, *args, **options)


def watch(event: str, arguments: tuple[Any, ...]) -> None:
    """The audit hook: raises PermissionError for an action that answers must not take."""
    if event == "open" and isinstance(arguments[0], str | bytes | os.PathLike):
        path = os.path.realpath(os.fsdecode(arguments[0]))
        in_copy = path.startswith(COPY)
        if path.startswith(FORBIDDEN) or path.startswith(BESIDE) and not in_copy:
            refuse(f"opens {path}")
        elif path == REPORT and not is_called_by("/guard/guard.py", COPY + "conftest.py"):
            refuse("opens the report of the tests")
        elif in_copy and arguments[2] & WRITES and not is_called_by(*COMPILERS):
            refuse(f"writes to {path}")
    elif event in STARTS:
        refuse(f"starts another program ({event})")


# Python's importer and pytest write compiled files into the copy.
COMPILERS = ("<frozen importlib._bootstrap_external>", "_pytest/assertion/rewrite.py")


def is_called_by(*files: str) -> bool:
    """Whether the audited action was called from a file with this suffix."""
    return Path(sys._getframe(2).f_code.co_filename).as_posix().endswith(files)


def refuse(what: str) -> None:
    _found.append(what)
    raise PermissionError(f"an answer {what}")


def remember_judges() -> None:
    """Remember the functions that judge: those of NumPy, pytest and the copy."""
    for module in JUDGES:
        _at_first.append((module.__name__, vars(module), dict(vars(module))))
    for module in list(sys.modules.values()):
        if (getattr(module, "__file__", None) or "").startswith(COPY):
            functions = {k: v for k, v in vars(module).items() if callable(v)}
            _at_first.append((module.__name__, vars(module), functions))
            for name, value in list(vars(module).items()):
                if isinstance(value, type) and value.__module__ == module.__name__:
                    _at_first.append((f"{module.__name__}.{name}", vars(value), methods_of(value)))


def methods_of(cls: type) -> dict[str, Any]:
    """The methods defined in the class body: features may add others later."""
    return {
        name: method
        for name, method in vars(cls).items()
        if getattr(method, "__qualname__", "") == f"{cls.__qualname__}.{name}"
    }


def replaced() -> Iterator[str]:
    """The judging functions that have been replaced."""
    for name, now, before in _at_first:
        for key, value in before.items():
            if now.get(key) is not value and key != "_":  # the interpreter's last value
                yield f"replaces {name}.{key}"


def pytest_configure(config: pytest.Config) -> None:
    numpy.testing._private.utils.assert_array_compare = compare_arrays
    sys.addaudithook(watch)


def pytest_collection_finish(session: pytest.Session) -> None:
    remember_judges()


@pytest.hookimpl(trylast=True)
def pytest_runtest_logfinish(nodeid: str, location: tuple) -> None:
    if refused := [*_found, *replaced()]:
        with open(REPORT, "a", encoding="utf-8") as file:
            file.write(json.dumps({"broken": [f"refused: an answer {refused[0]}"]}) + "\n")
        os._exit(1)
