"""A chart of memory as SVG: a column for each step, and bars stacked as high as their bytes."""

from __future__ import annotations

import html
from collections.abc import Iterator

from tinyjax.studio.viz.arrays.tree import bytes_text
from tinyjax.studio.viz.memory_use.lifetimes import Bar, Chart

HEIGHT, HEAD, FOOT = 260, 18, 18  # pixels: height of the bars, margins above and below
_WIDE, _NARROW = 84, 5  # of a column
_ROOM = 720  # width of all columns, if that leaves them wide enough


def chart_svg(chart: Chart, most: int) -> str:
    """The chart; its height is `most` bytes."""
    steps = len(chart.labels)
    width = max(_NARROW, min(_WIDE, _ROOM // steps))
    scale = HEIGHT / max(most, 1)
    parts = [
        *_columns(chart, width),
        *_bars(chart, width, scale),
        *_measured(chart, width, scale),
        *_peak(chart, width, scale),
    ]
    size = f'width="{width * steps + 2}" height="{HEAD + HEIGHT + FOOT}" '
    size += f'viewBox="0 0 {width * steps + 2} {HEAD + HEIGHT + FOOT}"'
    return f'<svg class=memory {size} role=img aria-label="bytes by step">{"".join(parts)}</svg>'


def _columns(chart: Chart, width: int) -> Iterator[str]:
    """The steps' numbers, as many as fit, and a description of each."""
    every = -(-30 // width)
    for step, label in enumerate(chart.labels):
        x = step * width + 1
        text = html.escape(f"step {step}: {label}" if step < len(chart.labels) - 1 else label)
        yield (
            f"<rect class=column x={x} y={HEAD} width={width} height={HEIGHT + FOOT} "
            f'data-text="{text}: {bytes_text(chart.live[step])}"/>'
        )
        is_last = step == len(chart.labels) - 1
        if step % every == 0 and not is_last or is_last and width >= 40:
            yield (
                f"<text x={x + width / 2:g} y={HEAD + HEIGHT + 13} text-anchor=middle>"
                f"{'end' if is_last else step}</text>"
            )


def _bars(chart: Chart, width: int, scale: float) -> Iterator[str]:
    """Stack each bar on the earlier ones; when one of these ends, the bar moves down."""
    for number, bar in enumerate(chart.bars):
        below = [
            sum(b.nbytes for b in chart.bars[:number] if b.lives_at(step))
            for step in range(bar.first, bar.last + 1)
        ]
        bottoms = [HEAD + HEIGHT - scale * height for height in below]
        left = bar.first * width + 1
        path = [f"M{left} {bottoms[0]:.1f}"]
        for n, y in enumerate(bottoms):
            path.append(f"V{y:.1f}H{left + (n + 1) * width}")
        for n, y in reversed(list(enumerate(bottoms))):
            path.append(f"V{y - scale * bar.nbytes:.1f}H{left + n * width}")
        text = html.escape(f"{bar.name} {bar.type} {bytes_text(bar.nbytes)}: {bar.why}")
        gap = f"stroke-width={min(1, scale * bar.nbytes / 4):.2f}"  # between bars
        yield f'<path class="bar {bar.kind}" {gap} d="{"".join(path)}z" data-text="{text}"/>'
        level = next((n for n, y in enumerate(bottoms) if y != bottoms[0]), len(bottoms))
        yield from _label(bar, level * width, left, bottoms[0], scale)


def _label(bar: Bar, room: int, left: float, bottom: float, scale: float) -> Iterator[str]:
    """The name, if the bar has room for it before it moves."""
    height = scale * bar.nbytes
    if height >= 13 and 7 * len(bar.name) <= room - 8:
        y = bottom - height / 2 + 4
        yield f"<text class=name x={left + 5} y={y:.1f}>{html.escape(bar.name)}</text>"


def _measured(chart: Chart, width: int, scale: float) -> Iterator[str]:
    """A line at a run's measured bytes, where they are known and differ from the plan."""
    for step, (planned, found) in enumerate(zip(chart.live, chart.measured)):
        if found is not None and found != planned:
            y = HEAD + HEIGHT - scale * found
            yield f"<path class=measured d='M{step * width + 1} {y:.1f}h{width}'/>"


def _peak(chart: Chart, width: int, scale: float) -> Iterator[str]:
    step = chart.peak_step
    x, y = step * width + 1, HEAD + HEIGHT - scale * chart.peak
    right = x + width / 2 < len(chart.labels) * width / 2
    anchor = f"x={x} text-anchor=start" if right else f"x={x + width} text-anchor=end"
    yield f'<path class=peak d="M{x} {HEAD + HEIGHT}V{y:.1f}h{width}V{HEAD + HEIGHT}"/>'
    yield f"<text class=peak {anchor} y={y - 5:.1f}>peak {bytes_text(chart.peak)}</text>"
