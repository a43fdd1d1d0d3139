"""Where a shortcut may stand in for the plain way: `@with_shortcut`, on a handful of functions.

After this file you can say which code runs. A function with this decorator does what it says, unless a
file of tinyjax/fast has registered another by `@shortcut_for(function)`, which gives the same results in
less time. All of them are off under `TINYJAX_FAST=0`, within `jax.config.set("tinyjax_fast", False)`, and
where a debugger traces the thread: then a breakpoint in the plain way is hit. Builds on config.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from tinyjax.config import config


def are_on() -> bool:
    """Whether shortcuts are taken in this thread."""
    return config.tinyjax_fast and sys.gettrace() is None and not _is_monitored()


def _is_monitored() -> bool:
    """Whether a debugger is at work that needs no trace function (Python 3.12 and later)."""
    return _monitoring is not None and _monitoring.get_tool(_monitoring.DEBUGGER_ID) is not None


_monitoring: Any = getattr(sys, "monitoring", None)


def with_shortcut(plain: Callable) -> Any:
    """The function `plain`; while shortcuts are on, its shortcut if there is one."""

    @functools.wraps(plain)
    def function(*args: Any, **kwargs: Any) -> Any:
        if function.shortcut is not None and are_on():  # type: ignore[attr-defined]
            return function.shortcut(plain, *args, **kwargs)  # type: ignore[attr-defined]
        return plain(*args, **kwargs)

    function.shortcut = None  # type: ignore[attr-defined]
    return function


def shortcut_for(function: Any) -> Callable[[Callable], Callable]:
    """The decorated function gets (plain function, *its arguments), and gives what that would."""

    def register(shortcut: Callable) -> Callable:
        function.shortcut = shortcut
        return shortcut

    return register
