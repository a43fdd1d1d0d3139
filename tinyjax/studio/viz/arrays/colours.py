"""Colours of numbers: orange below 0, blue above, and what is 0 lets the page shine through.

So one picture serves light and dark pages. It is a PNG with a palette, whose colours have the opacity of the
number's size; NaN and infinities have colours of their own.

Source: https://www.w3.org/TR/png/
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tinyjax.studio.viz.arrays.elements import number_text

POSITIVE, NEGATIVE = (11, 92, 173), (196, 70, 1)
NAN, INF, MINUS_INF = (214, 0, 136), (110, 140, 0), (70, 74, 80)
_STEPS = 120  # colours on either side of 0
_NAN, _INF, _MINUS_INF = range(2 * _STEPS + 1, 2 * _STEPS + 4)


@dataclass(frozen=True)
class Scale:
    """What has no colour, and what has all of it: `centre` and centre ± `reach`."""

    centre: float
    reach: float
    low: float
    high: float
    is_cut: bool = False  # there are numbers beyond

    def of(self, cells: np.ndarray) -> np.ndarray:
        """The numbers as -1 .. 1; NaN and infinities stay."""
        with np.errstate(all="ignore"):
            scaled = (cells - self.centre) / (self.reach or 1.0)
            return np.where(np.isinf(cells), cells, np.clip(scaled, -1, 1))

    @property
    def ends(self) -> tuple[str, str]:
        """What the two ends of the colours stand for."""
        signs = ("≤ ", "≥ ") if self.is_cut else ("", "")
        low, high = number_text(self.low), number_text(self.high)
        return (signs[0] if self.low < 0 else "") + low, (signs[1] if self.high > 0 else "") + high


def scale_of(pictures: Iterable[np.ndarray]) -> Scale:
    """One scale for several pictures. It is symmetric about 0, but for numbers of one sign that differ by
    little; and if a few are far larger than all others, these end it."""
    cells = np.concatenate([cells.reshape(-1) for cells in pictures] or [np.zeros(0)])
    cells = cells[np.isfinite(cells)]
    if cells.size == 0:
        return Scale(0.0, 1.0, 0.0, 1.0)
    low, high = float(cells.min()), float(cells.max())
    reach = max(-low, high)
    if low * high > 0 and 0 < high - low < reach / 4:
        return Scale(low, high - low, low, high)
    usual = float(np.percentile(np.abs(cells), 99))
    is_cut = cells.size > 200 and 0 < 4 * usual < reach
    reach = usual if is_cut else reach
    return Scale(0.0, reach, min(0.0, max(low, -reach)), max(0.0, min(high, reach)), is_cut)


def png(scaled: np.ndarray) -> str:
    """A picture of numbers that a Scale made -1 .. 1, as a data URI."""
    numbers = np.full(scaled.shape, _NAN, np.uint8)
    finite = np.isfinite(scaled)
    numbers[finite] = np.rint(scaled[finite] * _STEPS).astype(np.int64) + _STEPS
    numbers[np.isposinf(scaled)] = _INF
    numbers[np.isneginf(scaled)] = _MINUS_INF
    height, width = len(numbers), len(numbers[0])
    used, places = np.unique(numbers, return_inverse=True)
    rows = np.zeros((height, 1 + width), np.uint8)  # each begins with 0: no filter
    rows[:, 1:] = places.reshape(height, width)
    palette = _PALETTE[used]
    file = b"\x89PNG\r\n\x1a\n" + b"".join(
        [
            _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
            _chunk(b"PLTE", palette[:, :3].tobytes()),
            _chunk(b"tRNS", palette[:, 3].tobytes()),
            _chunk(b"IDAT", zlib.compress(rows.tobytes(), 6)),
            _chunk(b"IEND", b""),
        ]
    )
    return f"data:image/png;base64,{base64.b64encode(file).decode()}"


def _palette() -> np.ndarray:
    """Red, green, blue and opacity of each number; -inf is pale, as it is often a mask."""
    sides = [NEGATIVE] * _STEPS + [POSITIVE] * (_STEPS + 1)
    shades = [round(255 * abs(n - _STEPS) / _STEPS) for n in range(2 * _STEPS + 1)]
    strange = [(*NAN, 255), (*INF, 255), (*MINUS_INF, 140)]
    return np.array([(*c, shade) for c, shade in zip(sides, shades)] + strange, np.uint8)


_PALETTE = _palette()


def _chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
