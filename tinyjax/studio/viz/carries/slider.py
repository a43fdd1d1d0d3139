"""`viz.iterations`: the carries of loops, with a slider over the iterations.

viz.iterations(train, params, batches)
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tinyjax.compile.explain import python_text
from tinyjax.studio.viz.arrays.colours import Scale, scale_of
from tinyjax.studio.viz.arrays.elements import Elements
from tinyjax.studio.viz.arrays.html import array_html, stats_html
from tinyjax.studio.viz.arrays.picture import Picture
from tinyjax.studio.viz.arrays.slices import slices_of
from tinyjax.studio.viz.carries.recorded import RecordedLoop, recording_loops

MAX_LOOPS = 8
_CELLS, _FEWEST = 300_000, 400  # of all pictures of a loop; a picture has at least this many
_LINES = 6  # iterations of a loop shown as text
_WIDTH, _HEIGHT = 240, 28  # of a curve


class Iterations(Picture):
    """The first loops of a function's run, in order, and the number of all."""

    title = "iterations"

    def __init__(self, loops: Sequence[RecordedLoop]):
        self.loops, self.count = loops[:MAX_LOOPS], len(loops)

    @property
    def fragment(self) -> str:
        loops = "".join(map(_loop_html, self.loops))
        return f'<div class="tinyjax-show">{loops}<p class=note>{self._note()}</p></div>'

    def text(self, colours: bool = False) -> str:
        return "\n".join(
            [line for loop in self.loops for line in _loop_lines(loop)] + [self._note()]
        )

    def _note(self) -> str:
        if not self.count:
            return "No loop ran: neither lax.scan nor lax.while_loop or fori_loop."
        more = f"{self.count - len(self.loops):,} later loops are left out. "
        how = "The function ran eagerly, jitted parts too. Loops within loops are not shown."
        return (more if self.count > len(self.loops) else "") + how


def iterations(f: Callable[..., Any], *args: Any) -> Iterations:
    """Run `f`, and show the carry of each of its loops (lax.scan, while_loop, fori_loop) by iteration.

    Nothing is compiled: jitted functions run equation by equation too. Long loops keep some iterations. Not
    in JAX.

    Raises what `f` raises."""
    with recording_loops() as loops:
        f(*args)
    return Iterations(loops)


def _title(loop: RecordedLoop) -> str:
    return f"{loop.kind} of {loop.count:,} {'iteration' if loop.count == 1 else 'iterations'}"


# ---- as HTML ----


def _loop_html(loop: RecordedLoop) -> str:
    frames = loop.all_frames()
    last = len(frames) - 1
    numbers = ",".join(map(str, frames))
    controls = (
        "<div class=controls><button type=button class=play>Play</button>"
        f'<input type=range min=0 max={last} value={last} aria-label="iteration">'
        f"<output>after {loop.count:,} of {loop.count:,}</output></div>"
    )
    carries = "".join(
        _carry_html(f"carry {n}", [carry[n] for carry in frames.values()], len(loop.last))
        for n in range(len(loop.last))
    )
    place = html.escape(python_text(loop.line))
    head = f"<div class=head><h4>{_title(loop)}</h4><span class=stats>{place}</span></div>"
    return f'<section class=loop data-frames="{numbers}">{head}{controls}{carries}</section>'


def _carry_html(name: str, values: Sequence[Elements], carries: int) -> str:
    """One array of the carry: a curve over the iterations, and a picture for each, all on one scale."""
    most = max(_FEWEST, _CELLS // (len(values) * carries))
    slices = [slices_of(x.array, most).shown for x in values if x.array is not None]
    scale = scale_of(s.cells for each in slices for s in each)
    frames = "".join(
        f"<div data-frame={n}{'' if n == len(values) - 1 else ' hidden'}>{_frame(x, most, scale)}</div>"
        for n, x in enumerate(values)
    )
    head = f"<b>{name}</b><span class=type>{html.escape(values[-1].type)}</span>{curve_svg(values)}"
    return f"<div class=carry><div class=head>{head}</div>{frames}</div>"


def _frame(x: Elements, most: int, scale: Scale) -> str:
    picture = "" if x.array is None else array_html(x.array, (), most, scale)
    return f"<div class=head>{stats_html(x)}</div>{picture}"


def curve_svg(values: Sequence[Elements]) -> str:
    """The mean at each iteration as a line, in a band from the least element to the greatest."""
    found = [x.summary for x in values]
    points = [
        (n, s.low, s.mean, s.high)
        for n, s in enumerate(found)
        if s is not None and s.low is not None and s.mean is not None and s.high is not None
    ]
    if len(points) < 2:
        return ""
    low, high = min(p[1] for p in points), max(p[3] for p in points)
    across, up = _WIDTH / (len(values) - 1), (_HEIGHT - 2) / ((high - low) or 1.0)

    def place(n: int, value: float) -> str:
        return f"{n * across:.1f} {_HEIGHT - 1 - (value - low) * up:.1f}"

    band = [place(n, top) for n, _, _, top in points]
    band += [place(n, bottom) for n, bottom, _, _ in reversed(points)]
    line = [place(n, mean) for n, _, mean, _ in points]
    size = f'viewBox="0 0 {_WIDTH} {_HEIGHT}" width={_WIDTH} height={_HEIGHT}'
    return (
        f'<svg class=curve {size} role=img aria-label="mean by iteration">'
        f'<path class=band d="M{"L".join(band)}z"/>'
        f'<path class=mean d="M{"L".join(line)}"/>'
        f"<line class=at x1={_WIDTH} x2={_WIDTH} y1=0 y2={_HEIGHT} /></svg>"
    )


# ---- as text ----


def _loop_lines(loop: RecordedLoop) -> Iterator[str]:
    yield f"{_title(loop)}  {python_text(loop.line)}".rstrip()
    frames = list(loop.all_frames().items())
    chosen = sorted({round(n * (len(frames) - 1) / (_LINES - 1)) for n in range(_LINES)})
    width = len(f"{loop.count:,}")
    for number in range(len(loop.last)):
        yield f"  carry {number}  {loop.last[number].type}"
        for at in chosen:
            count, carry = frames[at]
            yield f"    after {count:{width},}  {carry[number].text}"
