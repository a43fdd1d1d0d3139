"""An array cut into pictures: a slice of two axes for each index of the others, in cells.

The cells of a large slice are means of blocks of elements: a picture has at most `MAX_SIDE` cells a side, and
the number of cells of all pictures of an array is limited.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

MAX_SIDE = 160  # cells
MAX_SLICES = 12


@dataclass(frozen=True)
class Slice:
    """A picture: `cells` has rows and columns, `index` is the slice, such as "[0, :, :]". Each cell is the
    mean of `block` elements; `axes` are the two axes of the picture, or None."""

    cells: np.ndarray
    index: str
    sizes: tuple[int, int]
    block: tuple[int, int]
    axes: tuple[int | None, int | None]
    part: str = ""  # "real" or "imag"


@dataclass(frozen=True)
class Slices:
    """The first slices of an array; it has `count` of them, of which `left_out` are not shown. A complex
    slice has two pictures."""

    shown: list[Slice]
    count: int
    left_out: int = 0


def slices_of(
    array: np.ndarray, most_cells: int, sides: tuple[int, int] = (MAX_SIDE, MAX_SIDE)
) -> Slices:
    """The slices of a result of `as_numbers`; `sides` are the maximal rows and columns of a picture."""
    if array.size == 0:
        return Slices([], 0)
    rows, columns = _picture_axes(array.shape)
    others = [axis for axis in range(array.ndim) if axis not in (rows, columns)]
    parts = ("real", "imag") if array.dtype.kind == "c" else ("",)
    count = math.prod(array.shape[axis] for axis in others)
    number = min(count, MAX_SLICES // len(parts))
    sizes = (
        1 if rows is None else array.shape[rows],
        1 if columns is None else array.shape[columns],
    )
    if rows is None:  # a strip
        sides = sides[0], 2 * sides[1]
    block = _block(sizes, most_cells // (number * len(parts)), sides)
    shown = []
    for place in _first(number, [array.shape[axis] for axis in others]):
        index: list[int | slice] = [slice(None)] * array.ndim
        for axis, at in zip(others, place):
            index[axis] = at
        whole = array[tuple(index)].reshape(sizes)
        text = ", ".join(":" if isinstance(at, slice) else str(at) for at in index)
        for part in parts:
            numbers = getattr(whole, part) if part else whole
            cells = _means(numbers, block)
            shown.append(Slice(cells, f"[{text}]", sizes, block, (rows, columns), part))
    return Slices(shown, count, count - number)


def _picture_axes(shape: Sequence[int]) -> tuple[int | None, int | None]:
    """The last two axes; or the two before a short last axis (such as an image's colours), if they are
    longer."""
    ndim = len(shape)
    if ndim < 2:
        return None, ndim - 1 if ndim else None
    if ndim > 2 and shape[-1] <= 4 < min(shape[-3], shape[-2]):
        return ndim - 3, ndim - 2
    return ndim - 2, ndim - 1


def _first(number: int, sizes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """The first indices of an array of these sizes, in order."""
    for n in range(number):
        yield tuple(int(at) for at in np.unravel_index(n, sizes)) if sizes else ()


def _block(sizes: Sequence[int], most_cells: int, sides: tuple[int, int]) -> tuple[int, int]:
    """The block size on each axis that leaves at most `most_cells` cells."""
    rows, columns = sizes
    side = max(1, math.isqrt(most_cells))
    tall = min(sides[0], max(side, most_cells // min(columns, side)))
    wide = min(sides[1], max(side, most_cells // min(rows, side)))
    return -(-rows // tall), -(-columns // wide)


def _means(numbers: np.ndarray, block: tuple[int, int]) -> np.ndarray:
    """The means of the blocks, which keep NaN and infinities."""
    if block == (1, 1):
        return numbers.astype(np.float64)
    with np.errstate(all="ignore"):
        for axis, length in enumerate(block):
            if length > 1:
                starts = np.arange(0, numbers.shape[axis], length)
                sums = np.add.reduceat(numbers, starts, axis=axis, dtype=np.float64)
                counts = np.diff(np.append(starts, numbers.shape[axis]))
                numbers = sums / np.expand_dims(counts, 1 - axis)
    return numbers.astype(np.float64)
