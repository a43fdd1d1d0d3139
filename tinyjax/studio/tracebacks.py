"""Tracebacks that end at the user's line: Python prints errors without tinyjax's own frames.

JAX wraps each public function to remove its frames from an exception that passes. A wrapper adds a frame to
every call that a debugger steps through, and hides frames from the debugger too. Here exceptions stay whole,
and the hooks that print them (`sys.excepthook`, `threading.excepthook`, IPython's `structured_traceback`)
print a shorter traceback. Each hook calls the one that was installed before it. Debuggers see all frames, and
so do pytest, `logging` and the `traceback` module, which print by themselves.

The flag jax_traceback_filtering:

- "quiet_remove_frames", and "auto": only the user's frames, and a note on how to see all of them
- "remove_frames": the same, after a traceback with all frames
- "tracebackhide": frames are marked for IPython, which prints how many it skips, and the innermost frame
- "off": all frames

Source: https://docs.jax.dev/en/latest/config_options.html (jax_traceback_filtering)
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType, TracebackType
from typing import Any

from tinyjax._src.traceback_util import include_frame
from tinyjax.core.config import config
from tinyjax.core.tracing import PACKAGE_FOLDER

NOTE = (
    "(tinyjax's own frames are left out. To see them, set JAX_TRACEBACK_FILTERING=off, or call "
    'jax.config.update("jax_traceback_filtering", "off").)'
)


class UnfilteredStackTrace(Exception):
    """The error with all of its frames, in the mode "remove_frames"."""


# ---- frames ----


def is_users(frame: FrameType) -> bool:
    """Whether a frame is neither tinyjax's nor that of Python's machinery for imports and scripts."""
    machinery = (PACKAGE_FOLDER, "<frozen ", importlib.__file__)
    return not frame.f_code.co_filename.startswith(machinery) and include_frame(frame)


def entries(tb: TracebackType | None) -> Iterator[TracebackType]:
    """The entries of a traceback, the outermost first."""
    while tb is not None:
        yield tb
        tb = tb.tb_next


def users_part(tb: TracebackType | None) -> TracebackType | None:
    """The traceback with only the user's frames; None if there are none."""
    short = None
    for entry in reversed([t for t in entries(tb) if is_users(t.tb_frame)]):
        short = TracebackType(short, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return short


def all_errors(error: BaseException) -> list[BaseException]:
    """The error, its causes and contexts, and the members of groups, each once."""
    found: list[BaseException] = []
    pending: list[BaseException | None] = [error]
    while pending:
        e = pending.pop()
        if e is not None and not any(e is other for other in found):
            found.append(e)
            pending += [e.__context__, e.__cause__, *getattr(e, "exceptions", ())]
    return found


@contextlib.contextmanager
def filtered(error: BaseException) -> Iterator[None]:
    """Within the block, the error and its causes have the tracebacks that should be printed.

    An error that doesn't come from the user's program keeps all of its frames."""
    mode = config.jax_traceback_filtering
    errors = all_errors(error)
    tracebacks = [e.__traceback__ for e in errors]
    are_users = [is_users(t.tb_frame) for tb in tracebacks for t in entries(tb)]
    if mode == "off" or all(are_users) or users_part(tracebacks[0]) is None:
        yield
        return
    if mode == "tracebackhide":
        for tb in tracebacks:
            hide_frames(tb)
        yield
        return
    attributes = vars(error).copy()  # notes are among them
    cause, suppress_context = error.__cause__, error.__suppress_context__
    try:
        for e, tb in zip(errors, tracebacks):
            e.__traceback__ = users_part(tb)
        if mode == "remove_frames":
            error.__cause__ = UnfilteredStackTrace("all frames").with_traceback(tracebacks[0])
        else:
            error.__notes__ = [*getattr(error, "__notes__", ()), NOTE]
        yield
    finally:
        for e, tb in zip(errors, tracebacks):
            e.__traceback__ = tb
        vars(error).clear()
        vars(error).update(attributes)
        error.__cause__, error.__suppress_context__ = cause, suppress_context


def hide_frames(tb: TracebackType | None) -> None:
    """Sets the variable in tinyjax's frames by which IPython and its debugger skip them."""
    for entry in entries(tb):
        if not is_users(entry.tb_frame):
            entry.tb_frame.f_locals["__tracebackhide__"] = True


# ---- hooks ----


def install() -> None:
    """Filters what the current hooks of Python, of its threads and of IPython print."""
    sys.excepthook = functools.partial(_excepthook, sys.excepthook)
    threading.excepthook = functools.partial(_thread_excepthook, threading.excepthook)
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is not None:
        tb = shell.InteractiveTB
        tb.structured_traceback = functools.partial(_structured_traceback, tb.structured_traceback)


def _excepthook(
    print_error: Callable[..., Any], kind: type, error: BaseException, tb: TracebackType | None
) -> None:
    with filtered(error):
        print_error(kind, error, error.__traceback__)


def _thread_excepthook(print_error: Callable[..., Any], args: Any) -> None:
    with filtered(args.exc_value):
        tb = args.exc_value.__traceback__
        print_error(threading.ExceptHookArgs((args.exc_type, args.exc_value, tb, args.thread)))


def _structured_traceback(
    format_error: Callable[..., Any],
    kind: type,
    error: BaseException,
    tb: Any,
    *args: Any,
    **options: Any,
) -> list[str]:
    with filtered(error):
        return format_error(kind, error, error.__traceback__, *args, **options)
