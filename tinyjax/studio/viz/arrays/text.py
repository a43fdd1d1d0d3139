"""Items of a tree as text: a line a leaf, with a histogram.

Trees with few leaves also show pictures, in shades of characters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from tinyjax.studio.viz.arrays.colours import Scale, scale_of
from tinyjax.studio.viz.arrays.elements import Elements, Summary, table_texts
from tinyjax.studio.viz.arrays.slices import Slice, Slices, slices_of
from tinyjax.studio.viz.arrays.tree import MAX_LEAVES, Item, difference, difference_text, types_text

MOST_PICTURES = 4  # maximal number of leaves that are drawn
MOST_NUMBERS, MOST_A_SIDE = 64, 8
MOST_ROWS, MOST_COLUMNS = 16, 64
_BARS = "▁▂▃▄▅▆▇█"
_POSITIVE, _NEGATIVE = "·░▒▓█", "·-=%#"
_COLOURS = {"positive": "\x1b[34m", "negative": "\x1b[33m", "strange": "\x1b[35m"}


@dataclass
class Printer:
    """Prints trees with the titles `names`, in lines of `width` characters or of one word."""

    names: Sequence[str]
    width: int = 80
    colours: bool = False
    leaves_left: int = MAX_LEAVES

    def tree(self, item: Item) -> str:
        self.draws = len(list(item.leaves())) <= MOST_PICTURES
        return "\n".join(self.lines(item, ""))

    def lines(self, item: Item, indent: str) -> Iterator[str]:
        if item.is_leaf:
            self.leaves_left -= 1
            for line in self.leaf(item, self.width - len(indent)):
                yield (indent + line).rstrip()
            return
        yield indent + "  ".join(
            filter(None, (item.key, item.kind, item.count_text() if item.children else ""))
        )
        for number, child in enumerate(item.children):
            if self.leaves_left <= 0:
                yield f"{indent}  and {len(item.children) - number:,} more"
                return
            yield from self.lines(child, indent + "  ")

    # ---- a leaf ----

    def leaf(self, item: Item, width: int) -> Iterator[str]:
        found = [x for x in item.elements if x is not None]
        if len(self.names) == 1:
            yield self.head([item.key], found[0])
            yield from self.picture(found[0], width)
        elif len(found) == 1:
            name = self.names[item.elements.index(found[0])]
            yield "  ".join(filter(None, (item.key, found[0].type, f"only in {name}")))
        else:
            a, b = found
            text = difference_text(a, b)
            if text == "equal":
                yield self.head([item.key, text], a)
                return
            yield "  ".join(filter(None, (item.key, types_text(a, b), text)))
            apart = difference(a, b)
            for name, x in zip(self.names, found):
                yield self.head([name], x)
                yield from self.picture(x, width)
            if apart is not None and apart.any():
                elements = Elements("", apart.shape, apart)
                yield self.head([" - ".join(self.names)], elements)
                yield from self.picture(elements, width)

    def head(self, words: list[str], elements: Elements) -> str:
        words += [elements.type, elements.text]
        if elements.summary is not None:
            words.append(bars(elements.summary))
        return "  ".join(filter(None, words))

    def picture(self, elements: Elements, width: int) -> Iterator[str]:
        """The slices side by side as far as there is room, and the meaning of the shades; empty if all
        elements are equal."""
        array, summary = elements.array, elements.summary
        if array is None or summary is None or not self.draws or summary.is_constant:
            return
        if array.size <= 1:
            return
        slices = slices_of(array, 4096, (MOST_ROWS, min(MOST_COLUMNS, width - 2)))
        scale = scale_of(s.cells for s in slices.shown)
        few = array.size <= MOST_NUMBERS and max(slices.shown[0].sizes) <= MOST_A_SIDE
        columns = slices.shown[0].cells.shape[1]
        across = 2 if 2 * columns <= width - 2 else 1
        draw = lambda s: _numbers(s, array.dtype) if few else self.shades(s, scale, across)  # noqa: E731
        blocks = [
            ([_caption(s, slices)] if _caption(s, slices) else []) + draw(s) for s in slices.shown
        ]
        if few:
            block_width = max(len(line) for block in blocks for line in block)
        else:
            block_width = max(across * columns, *(len(_caption(s, slices)) for s in slices.shown))
        fit = max(1, min(len(blocks), (width - 2) // (block_width + 2)))
        for row in zip_longest(*blocks[:fit], fillvalue=""):
            yield "  " + "  ".join(text + " " * (block_width - _seen(text)) for text in row)
        if not few:
            yield f"  {self.legend(scale)}"
        if fit < len(slices.shown) or slices.left_out:
            yield f"  the first {fit} of {slices.count:,} slices"
        if (block := slices.shown[0].block) != (1, 1):
            yield f"  each cell is the mean of {block[0]:,} x {block[1]:,} elements"

    def shades(self, s: Slice, scale: Scale, across: int) -> list[str]:
        return ["".join(self.shade(x) * across for x in row) for row in scale.of(s.cells)]

    def shade(self, scaled: float) -> str:
        """A character for -1 .. 1."""
        if not np.isfinite(scaled):
            return self.coloured("N" if np.isnan(scaled) else "∞", "strange")
        level = round(4 * abs(scaled))
        if self.colours:
            return self.coloured(_POSITIVE[level], "positive" if scaled >= 0 else "negative")
        return (_POSITIVE if scaled >= 0 else _NEGATIVE)[level]

    def coloured(self, text: str, kind: str) -> str:
        return f"{_COLOURS[kind]}{text}\x1b[0m" if self.colours else text

    def legend(self, scale: Scale) -> str:
        low, high = scale.ends
        shades = [self.shade(x) for x in np.linspace(-1, 1, 9)]
        shown = (
            shades if scale.low < 0 < scale.high else shades[4:] if scale.high > 0 else shades[:5]
        )
        return f"{low} {''.join(shown)} {high}"


def _seen(text: str) -> int:
    """The length of a text without colour codes."""
    for colour in (*_COLOURS.values(), "\x1b[0m"):
        text = text.replace(colour, "")
    return len(text)


def _caption(s: Slice, slices: Slices) -> str:
    return f"{s.part} {s.index}".strip() if len(slices.shown) > 1 else ""


def _numbers(s: Slice, dtype: np.dtype) -> list[str]:
    texts = table_texts(s.cells, dtype)
    width = max(len(text) for row in texts for text in row)
    return ["  ".join(text.rjust(width) for text in row) for row in texts]


def bars(summary: Summary) -> str:
    """The histogram as a row of 12 bars."""
    if not summary.bins:
        return ""
    counts = np.reshape(summary.bins, (-1, 2)).sum(1)
    return "".join(_BARS[round(7 * n / counts.max())] if n else " " for n in counts.tolist())
