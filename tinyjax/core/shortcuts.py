"""Faster replacements of a handful of functions, which have the decorator `@with_shortcut`.

A function with this decorator does what it says, unless a file of tinyjax/fast has registered another by
`@shortcut_for(function)`, which gives the same results in less time. All of them are off under
`TINYJAX_FAST=0`, in `with jax.config.set("tinyjax_fast", False):`, and where a debugger traces the thread: a
breakpoint in the plain way is hit.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from tinyjax.core.config import config

# Function, as module.qualname -> the module of its shortcut: tinyjax/fast fills it. Not imported yet.
shortcut_modules: dict[str, str] = {}


def are_on() -> bool:
    """Whether shortcuts are on in this thread."""
    return (
        config.tinyjax_fast
        and sys.gettrace() is None
        # Since Python 3.12 a debugger can work without a trace function.
        and (_monitoring is None or _monitoring.get_tool(_monitoring.DEBUGGER_ID) is None)
    )


_monitoring: Any = getattr(sys, "monitoring", None)


F = TypeVar("F", bound=Callable)


def with_shortcut(plain: F) -> F:
    """The function `plain`; while shortcuts are on, its shortcut if there is one."""
    name = f"{plain.__module__}.{plain.__qualname__}"

    def call(*args: Any, **kwargs: Any) -> Any:
        if are_on():
            if name in shortcut_modules:
                importlib.import_module(shortcut_modules.pop(name))
            if decorated.shortcut is not None:
                return decorated.shortcut(plain, *args, **kwargs)
        return plain(*args, **kwargs)

    decorated: Any = functools.wraps(plain)(call)
    decorated.shortcut = None
    return decorated


def shortcut_for(function: Any) -> Callable[[Callable], Callable]:
    """The decorated function gets (the plain function, *its arguments), and returns the plain function's
    result."""

    def register(shortcut: Callable) -> Callable:
        function.shortcut = shortcut
        return shortcut

    return register
