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


BELOW = "(Above are all frames. Below, tinyjax's own are left out.)"

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
            members = e.exceptions if isinstance(e, BaseExceptionGroup) else ()
            pending += [e.__context__, e.__cause__, *members]
    return found


def show_filtered(
    error: BaseException | None,
    tb: TracebackType | None,
    show: Callable[[TracebackType | None], Any],
    note: Callable[[str], Any],
) -> None:
    """Calls `show` with the traceback that should be printed, and `note` with an extra line.

    Meanwhile the error and its causes have such tracebacks as well. An error that doesn't come from the
    user's program keeps all of its frames."""
    mode = config.jax_traceback_filtering
    if error is None:
        return show(tb)
    errors = all_errors(error)
    before = [e.__traceback__ for e in errors]
    tracebacks = [tb, *before[1:]]
    are_users = [is_users(entry.tb_frame) for t in tracebacks for entry in entries(t)]
    try:
        error.__traceback__ = tb
        if mode == "off" or all(are_users) or users_part(tb) is None:
            return show(tb)
        if mode == "tracebackhide":
            for t in tracebacks:
                hide_frames(t)
            return show(tb)
        if mode == "remove_frames":
            show(tb)
            note(BELOW)
        for e, t in zip(errors, tracebacks):
            e.__traceback__ = users_part(t)
        show(error.__traceback__)
        if mode != "remove_frames":
            note(NOTE)
    finally:
        for e, t in zip(errors, before):
            e.__traceback__ = t


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


def _to_stderr(line: str) -> None:
    if sys.stderr is not None:  # a program without a console has none
        print(line, file=sys.stderr)


def _excepthook(
    print_error: Callable[..., Any], kind: type, error: BaseException, tb: TracebackType | None
) -> None:
    show_filtered(error, tb, lambda tb: print_error(kind, error, tb), _to_stderr)


def _thread_excepthook(print_error: Callable[..., Any], args: Any) -> None:
    def show(tb: TracebackType | None) -> None:
        print_error(threading.ExceptHookArgs((args.exc_type, args.exc_value, tb, args.thread)))

    show_filtered(args.exc_value, args.exc_traceback, show, _to_stderr)


def _structured_traceback(
    format_error: Callable[..., list[str]],
    kind: type,
    error: BaseException,
    tb: TracebackType | None,
    *args: Any,
    **options: Any,
) -> list[str]:
    lines: list[str] = []

    def show(tb: TracebackType | None) -> None:
        lines.extend(format_error(kind, error, tb, *args, **options))

    show_filtered(error, tb, show, lines.append)
    return lines
