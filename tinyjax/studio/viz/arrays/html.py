"""Items of a tree as HTML: foldable, with pictures.

There are no inline styles, which the policy of a site may forbid."""

from __future__ import annotations

import base64
import html
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tinyjax.studio.viz.arrays.colours import Scale, png, scale_of
from tinyjax.studio.viz.arrays.elements import Elements, Summary, table_texts
from tinyjax.studio.viz.arrays.slices import Slice, Slices, slices_of
from tinyjax.studio.viz.arrays.tree import MAX_LEAVES, Item, difference, difference_text, types_text

MOST_NUMBERS, MOST_A_SIDE = 120, 12  # elements that are shown as numbers, in all and a side
_ALL_CELLS, _LEAF_CELLS, _FEWEST = (
    400_000,
    25_600,
    1_024,
)  # of all pictures; at most and at least of a leaf
_OPEN = 8  # leaves are open if there are at most this many
_MARKED = {"NaN": "nan", "inf": "inf", "−inf": "minus-inf"}  # what is no number, and its class
_ONE, _MANY = 336, 132  # pixels that a picture's longer side has: the only one, one of several


@dataclass(frozen=True)
class Drawn:
    """How leaves are drawn: names of the axes, cells for each picture, and whether they are open."""

    axes: Sequence[str]
    most_cells: int
    are_open: bool


def tree_html(item: Item, names: Sequence[str], axes: Sequence[str] = ()) -> str:
    """The item and all below it; `names` are those of the two trees, or of the one."""
    leaves = list(item.leaves())
    number = max(1, len(leaves) * len(names))
    most_cells = max(_FEWEST, min(_LEAF_CELLS, _ALL_CELLS // number))
    drawn = Drawn(axes, most_cells, len(leaves) <= _OPEN)
    left = [MAX_LEAVES]
    return f'<div class="tinyjax-show">{"".join(_item(item, names, drawn, left))}</div>'


def _item(item: Item, names: Sequence[str], drawn: Drawn, left: list[int]) -> Iterator[str]:
    if item.is_leaf:
        left[0] -= 1
        yield _leaf(item, names, drawn)
        return
    head = f"{_path(item)}<span class=type>{html.escape(item.kind)}</span>"
    if not item.children:
        yield f"<div class=leaf><div class=head>{head}</div></div>"
        return
    head += f"<span class=stats>{item.count_text()}</span>"
    yield f"<details class=node open><summary>{head}</summary><div class=inside>"
    for number, child in enumerate(item.children):
        if left[0] <= 0:
            yield f"<p class=note>and {len(item.children) - number:,} more</p>"
            break
        yield from _item(child, names, drawn, left)
    yield "</div></details>"


def _path(item: Item) -> str:
    """The key; a click copies the path from the root."""
    if not item.key:
        return ""
    path = html.escape(item.path, quote=True)
    key = html.escape(item.key)
    return f'<button type=button class=path data-path="{path}" title="copy {path}">{key}</button>'


# ---- a leaf ----


def _leaf(item: Item, names: Sequence[str], drawn: Drawn) -> str:
    if len(names) == 1:
        (only,) = item.elements
        assert only is not None
        head = f"{_path(item)}<span class=type>{html.escape(only.type)}</span>{stats_html(only)}"
        body = _body(only, drawn)
    else:
        head, body = _pair(item, names, drawn)
    if not body:
        return f"<div class=leaf><div class=head>{head}</div></div>"
    state = " open" if drawn.are_open else ""
    return f"<details class=leaf{state}><summary>{head}</summary>{body}</details>"


def stats_html(elements: Elements) -> str:
    """The summary of a leaf, with its histogram; of a number, the number."""
    text = _signed(html.escape(elements.text))
    if elements.summary is None:
        return f"<span class=stats>{text}</span>"
    if elements.summary.size == 1:
        return f"<span class=number>{text}</span>"
    for word, name in _MARKED.items():
        text = text.replace(f" {word}", f" <b class={name}>{word}</b>")
    return f"<span class=stats>{text}</span>{histogram_svg(elements.summary)}"


def _pair(item: Item, names: Sequence[str], drawn: Drawn) -> tuple[str, str]:
    """The head and the body of two leaves: both on one scale, and their difference."""
    a, b = item.elements
    if a is None or b is None:
        text, types = f"only in {names[0] if b is None else names[1]}", (a or b).type  # type: ignore[union-attr]
    else:
        text = difference_text(a, b)
        types = types_text(a, b)
    head = f"{_path(item)}<span class=type>{html.escape(types)}</span>"
    head += f"<span class=stats>{_signed(html.escape(text))}</span>"
    if a is None or b is None:
        return head, ""
    if text == "equal":
        return head, f"<div class=pair>{_column('both', a, drawn)}</div>"
    pictures = [slices_of(x.array, drawn.most_cells) for x in (a, b) if x.array is not None]
    scale = scale_of(s.cells for slices in pictures for s in slices.shown)
    columns = [_column(name, x, drawn, scale) for name, x in zip(names, (a, b))]
    apart = difference(a, b)
    if apart is not None and apart.any():
        title = "where they differ" if apart.dtype.kind == "b" else " − ".join(names)
        columns.append(_column(title, Elements("", apart.shape, apart), drawn))
    return head, f"<div class=pair>{''.join(columns)}</div>"


def _body(elements: Elements, drawn: Drawn, scale: Scale | None = None) -> str:
    """The pictures; of one number many times, none but a table."""
    array, summary = elements.array, elements.summary
    if array is None or summary is None or summary.is_constant and array.size > MOST_NUMBERS:
        return ""
    return array_html(array, drawn.axes, drawn.most_cells, scale)


def _column(title: str, elements: Elements, drawn: Drawn, scale: Scale | None = None) -> str:
    head = f"<div class=head><h4>{html.escape(title)}</h4>{stats_html(elements)}</div>"
    return f"<section>{head}{_body(elements, drawn, scale)}</section>"


# ---- pictures ----


def array_html(
    array: np.ndarray,
    axes: Sequence[str] = (),
    most_cells: int = _LEAF_CELLS,
    scale: Scale | None = None,
) -> str:
    """The slices of an array side by side, as numbers or colours; of a number nothing."""
    slices = slices_of(array, most_cells)
    if not slices.shown or array.ndim == 0:
        return ""
    scale = scale or scale_of(s.cells for s in slices.shown)
    is_small = array.size <= MOST_NUMBERS and max(slices.shown[0].sizes) <= MOST_A_SIDE
    if is_small and not slices.left_out:
        figures = [_numbers(s, scale, array.dtype, axes) for s in slices.shown]
        return f"<div class=slices>{''.join(figures)}</div>"
    longest = _ONE if len(slices.shown) == 1 else _MANY
    figures = [_image(s, scale, axes, longest) for s in slices.shown]
    notes = []
    if slices.left_out:
        notes.append(f"the first {slices.count - slices.left_out} of {slices.count:,} slices")
    if (block := slices.shown[0].block) != (1, 1):
        size = f"{block[0]:,} × {block[1]:,}" if array.ndim > 1 else f"{block[1]:,}"
        notes.append(f"each cell is the mean of {size} elements")
    legend = _legend(scale, slices, array.dtype.kind == "b", notes)
    return f"<div class=slices>{''.join(figures)}</div>{legend}"


def _signed(text: str) -> str:
    """Numbers with the minus sign of mathematics."""
    return re.sub(r"-(?=\d|inf)", "−", text)


def _caption(s: Slice) -> str:
    """Which slice it is, if there can be others."""
    text = f"{s.part} {s.index}" if re.search(r"\d", s.index) else s.part
    return f"<figcaption>{text.strip()}</figcaption>" if text else ""


def _axis(s: Slice, which: int, axes: Sequence[str]) -> str:
    """The name and the size of an axis of the picture."""
    axis = s.axes[which]
    if axis is None:
        return ""
    name = axes[axis] if axis < len(axes) else f"axis {axis}"
    return (
        f"<span class={('rows', 'columns')[which]}>{html.escape(name)} · {s.sizes[which]:,}</span>"
    )


def _numbers(s: Slice, scale: Scale, dtype: np.dtype, axes: Sequence[str]) -> str:
    """A slice as a table, its cells tinted."""
    rows = []
    for texts, shades in zip(table_texts(s.cells, dtype), scale.of(s.cells)):
        cells = [f"<td class={_tint(x)}>{_signed(text)}</td>" for text, x in zip(texts, shades)]
        rows.append(f"<tr>{''.join(cells)}</tr>")
    frame = f"{_axis(s, 0, axes)}<table>{''.join(rows)}</table>{_axis(s, 1, axes)}"
    return f"<figure>{_caption(s)}<div class=frame>{frame}</div></figure>"


def _tint(shade: float) -> str:
    if not np.isfinite(shade):
        return "nan" if np.isnan(shade) else "inf" if shade > 0 else "minus-inf"
    level = round(5 * abs(shade))
    return f"{'p' if shade > 0 else 'n'}{level}" if level else "z"


def _image(s: Slice, scale: Scale, axes: Sequence[str], target: int) -> str:
    """A slice as a picture; show.js reads its numbers when the pointer is over it."""
    rows, columns = s.cells.shape
    step = max(1, min(16, target // max(rows, columns)))
    tall, wide = (max(step, 24 // n) for n in (rows, columns))  # pixels of a cell
    common = math.gcd(tall, wide)
    pixels = scale.of(s.cells).repeat(tall // common, axis=0).repeat(wide // common, axis=1)
    numbers = s.cells.astype("<f4")
    exact = bool(np.array_equal(numbers, s.cells, equal_nan=True)) or s.block != (1, 1)
    data = numbers if exact else s.cells.astype("<f8")
    values = base64.b64encode(np.ascontiguousarray(data).tobytes()).decode()
    sizes = f"{s.sizes[0]},{s.sizes[1]},{s.block[0]},{s.block[1]},{rows},{columns}"
    label = f"{s.part} {s.index}".strip()
    image = (
        f'<img alt="heat map of {label}" src="{png(pixels)}" width={columns * wide} height={rows * tall} '
        f'data-index="{label}" data-sizes="{sizes}" data-values="{values}">'
    )
    frame = f"{_axis(s, 0, axes)}{image}{_axis(s, 1, axes)}"
    return f"<figure>{_caption(s)}<div class=frame>{frame}</div></figure>"


def _legend(scale: Scale, slices: Slices, is_bool: bool, notes: Sequence[str]) -> str:
    """What the colours mean: a bar with its ends, and NaN and infinities if there are any."""
    low, high = ("False", "True") if is_bool else map(_signed, scale.ends)
    count = 2 if is_bool and slices.shown[0].block == (1, 1) else 120
    bar = png(scale.of(np.linspace(scale.low, scale.high, count)[None]))
    parts = [
        f'<span>{low}</span><img class=bar alt="to" src="{bar}" width=120 height=10><span>{high}</span>'
    ]
    strange = np.concatenate([s.cells[~np.isfinite(s.cells)] for s in slices.shown])
    for is_there, word in zip((np.isnan(strange), strange == np.inf, strange == -np.inf), _MARKED):
        if is_there.any():
            parts.append(f"<b class={_MARKED[word]}>{word}</b>")
    parts += [f"<span class=note>{note}</span>" for note in notes]
    return f"<div class=legend>{''.join(parts)}</div>"


def histogram_svg(summary: Summary) -> str:
    """How many elements are about how large; those below 0 in their own colour."""
    if not summary.bins or summary.low is None or summary.high is None:
        return ""
    most, count = max(summary.bins), len(summary.bins)
    width = (summary.high - summary.low) / count
    paths = {"neg": "", "pos": ""}
    for n, amount in enumerate(summary.bins):
        if amount:
            side = "neg" if summary.low + (n + 0.5) * width < 0 else "pos"
            height = max(1, round(18 * amount / most))
            paths[side] += f"M{4 * n} 18v-{height}h3v{height}z"
    drawn = "".join(f'<path class={side} d="{d}"/>' for side, d in paths.items() if d)
    attributes = f'viewBox="0 0 {4 * count} 18" width={4 * count} height=18 role=img'
    return f"<svg class=histogram {attributes}><title>histogram</title>{drawn}</svg>"
