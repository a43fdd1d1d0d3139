"""Events as lines of text, for a terminal of any width.

A line has the event's number, indented by its depth, its stage and name, its operands and results, the traces
that a bind goes through, and the user's line.
"""

from __future__ import annotations

import inspect
import linecache
import os
import textwrap

from tinyjax.core.tracing import PACKAGE_FOLDER
from tinyjax.studio.viz.events import CodeLine, EventValue, RecordedEvent

# ANSI codes by stage.
COLOURS = {
    "bind": "1",
    "impl": "32",
    "abstract eval": "2",
    "jvp rule": "36",
    "batch rule": "36",
    "transpose rule": "36",
    "linearize rule": "36",
    "partial eval rule": "36",
    "equation": "33",
    "trace": "35",
    "compile": "34",
    "launch": "32",
}
ERROR_COLOUR = "31"
MAX_INDENT = 8  # indented levels: values need room too
MAX_LINES = 4  # of values
MAX_SOURCE = 20  # lines of a function


def event_text(
    event: RecordedEvent, depth: int, within: int, width: int, colours: bool = False
) -> str:
    """The event on one line if it fits, else on two. `within` is the number of its direct children."""
    indent = " " * (5 + 2 * min(depth, MAX_INDENT))
    what = f"{event.number:<4} {indent[5:]}{parts_text(event)}"
    where = f"[{' > '.join(reversed(event.trace))}]"
    if event.line is not None:
        where += f"  {place_text(event.line)}"
    if within:
        where += f"  ({within} within)"
    if len(what) + len(where) + 3 <= width:
        lines = [f"{what}   {where}"]
    else:
        indent = indent[: width // 2] + "  "
        lines = textwrap.wrap(
            what, width, subsequent_indent=indent, max_lines=MAX_LINES, placeholder=" ..."
        )
        lines += textwrap.wrap(where, width, initial_indent=indent, subsequent_indent=indent)
    text = "\n".join(lines)
    if colours:
        colour = ERROR_COLOUR if event.error is not None else COLOURS[event.stage]
        text = text.replace(event.stage, f"\033[{colour}m{event.stage}\033[0m", 1)
    return text


def parts_text(event: RecordedEvent) -> str:
    """Stage, name and values."""
    return f"{event.stage}  {event.name}  {_values_text(event)}".rstrip()


def _values_text(event: RecordedEvent) -> str:
    if event.error is not None:
        return f"raised {event.error}"
    if event.stage == "compile":
        return ", ".join(f"{name} {text}" for name, text in event.params.items())
    operands, results = (", ".join(map(value_text, vs)) for vs in (event.operands, event.results))
    return f"{operands} -> {results}".lstrip()


def value_text(value: EventValue) -> str:
    """3.0:f32[], with its role before it."""
    typed = f"{value.text}:{value.aval}" if value.text and value.aval else value.text or value.aval
    return typed if value.role in ("", "primal") else f"{value.role} {typed}"


def place_text(place: CodeLine) -> str:
    """A source line with a short file name."""
    return f"{short_file(place.file)}:{place.line}"


def short_file(file: str) -> str:
    """A file's path relative to the current folder or the package."""
    if file.startswith(PACKAGE_FOLDER):
        return "tinyjax/" + file.removeprefix(PACKAGE_FOLDER)
    below = os.path.relpath(file) if file.startswith(os.getcwd() + os.sep) else file
    return below


def changed_text(line: str) -> str:
    """A line of a pass's changes in colour: green if added, red if removed."""
    colour = {"+ ": 32, "- ": 31}.get(line[:2])
    return line if colour is None else f"\033[{colour}m{line}\033[0m"


def line_text(place: CodeLine, width: int) -> str:
    """A marked line of source among its neighbours."""
    return _source_text(place, range(place.line - 2, place.line + 3), place.line, width)


def function_text(place: CodeLine, at: int, width: int) -> str:
    """The function at a place with one line marked; of a long function, the lines around it."""
    lines = linecache.getlines(place.file)[place.line - 1 :]
    end = place.line + len(inspect.getblock(lines) if lines else ())
    first = place.line if end - place.line <= MAX_SOURCE else max(place.line, at - MAX_SOURCE // 2)
    return _source_text(place, range(first, min(end, first + MAX_SOURCE)), at, width)


def _source_text(place: CodeLine, numbers: range, at: int, width: int) -> str:
    lines = linecache.getlines(place.file)
    shown = [f"  {place_text(place)} in {place.function}"]
    for number in numbers:
        if 0 < number <= len(lines):
            text = f"{number:>6} {'->' if number == at else '  '} {lines[number - 1]}"
            shown.append(text.rstrip())
    return "\n".join(line if len(line) <= width else line[: width - 1] + "…" for line in shown)
