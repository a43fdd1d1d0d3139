"""`viz.kernel` in a terminal: a table of each stage's loads and stores, and single steps as grids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tinyjax.studio.viz.accesses import CACHE_LINES, LINE_BYTES, Traffic
from tinyjax.studio.viz.kernel_stages import Grid, Stage

WIDTH = 100
_TITLE = 34
_HEADS = ("accesses", "steps", "loads", "stores", "redundant", "bytes", "fetched", "local", "reuse")
_MARKS = "0123456789abcdefghijklmnopqrstuvwxyz"


NOTES = f"""\
steps: accesses of the work-item that has most
redundant: loads of elements that were loaded before
fetched: bytes, with a cache of {CACHE_LINES} lines of {LINE_BYTES} bytes for each work-item, or group of them
local: elements of local memory
reuse: the median of how many other elements are touched before the same one is touched again"""


def played_text(kernels: Sequence[Sequence[Stage]]) -> str:
    """The table of all stages, and the first, middle and last step of the last stages."""
    return "\n\n".join([*map(_kernel_text, kernels), NOTES])


def _kernel_text(stages: Sequence[Stage]) -> str:
    steps = stages[-1].traffic.steps
    times = sorted({0, steps // 2, steps - 1}) if steps else []
    return "\n\n".join([stages_table(stages), *(frame(stages[-1], time) for time in times)])


def stages_table(stages: Sequence[Stage]) -> str:
    """A table with a line for each stage."""
    lines = [stages[0].kernel.name]
    lines.append(" " * _TITLE + _row(_HEADS))
    for stage in stages:
        title = stage.title if len(stage.title) < _TITLE else stage.title[: _TITLE - 2] + "…"
        lines.append(f"{title:{_TITLE}}" + _row(_numbers(stage.traffic)))
    return "\n".join(lines)


def _row(cells: Iterable[str]) -> str:
    widths = (max(len(head) + 2, 8) for head in _HEADS)
    return "".join(f"{cell:>{width}}" for cell, width in zip(cells, widths))


def _numbers(traffic: Traffic) -> Iterator[str]:
    counts = (traffic.accesses, traffic.steps, traffic.loads, traffic.stores, traffic.redundant)
    for count in (*counts, traffic.moved, traffic.fetched, traffic.local):
        yield f"{count:,}"
    yield "–" if traffic.reuse is None else f"{traffic.reuse:g}"


def frame(stage: Stage, time: int) -> str:
    """One step: the current lines, and the arrays. A digit is the work-item that accesses an element now; a
    dot is an element accessed before."""
    now = [access for access in stage.accesses if access.time == time]
    lines = str(stage.kernel).splitlines()
    running = {access.line: access for access in reversed(now)}
    head = [f"step {time + 1:,} of {stage.traffic.steps:,}"]
    for line, access in sorted(running.items()):
        at = ", ".join(f"{name}={value}" for name, value in access.loops.items())
        head.append(f"  {lines[line].strip()}" + (f"    # {at}" if at else ""))
    pictures = [list(_picture(stage, grid, time)) for grid in stage.grids]
    return "\n".join([*head, *_side_by_side(pictures)])


def _picture(stage: Stage, grid: Grid, time: int) -> Iterator[str]:
    marks = [" "] * grid.size
    for access in stage.accesses:
        if access.array == grid.name and access.time <= time:
            mark = _MARKS[access.item % len(_MARKS)] if access.time == time else "·"
            for position in access.elements:
                marks[position] = mark
    yield f"{grid.name}"
    for first in range(0, grid.size, grid.columns):
        row = "".join(marks[first : first + grid.columns])
        yield f"|{row:{grid.columns}}|"


def _side_by_side(pictures: Sequence[list[str]]) -> Iterator[str]:
    """Pictures side by side, in rows as wide as a terminal."""
    row: list[list[str]] = []
    for picture in pictures:
        if row and sum(max(map(len, p)) + 3 for p in [*row, picture]) > WIDTH:
            yield from _joined(row)
            row = []
        row.append(picture)
    yield from _joined(row)


def _joined(row: Sequence[list[str]]) -> Iterator[str]:
    widths = [max(map(len, picture)) for picture in row]
    for n in range(max(map(len, row), default=0)):
        cells = (p[n] if n < len(p) else "" for p in row)
        yield "   ".join(f"{cell:{width}}" for cell, width in zip(cells, widths)).rstrip()
