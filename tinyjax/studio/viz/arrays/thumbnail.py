"""An array as one small picture, for a list of values."""

from __future__ import annotations

import numpy as np

from tinyjax.studio.viz.arrays.colours import png, scale_of
from tinyjax.studio.viz.arrays.elements import as_numbers, summary_of
from tinyjax.studio.viz.arrays.slices import slices_of

SIDES = (24, 48)  # rows and columns
MOST_SLICES = 4
MAX_SIZE = 2**22  # elements; larger ones take too long


def thumbnail(array: np.ndarray) -> tuple[str, str]:
    """A PNG as a data URI with slices side by side, and a summary in words.

    Both are "" for an array that is too large, empty, or holds random keys."""
    if not 0 < array.size <= MAX_SIZE or array.dtype.names:
        return "", ""
    array = as_numbers(array)
    summary = summary_of(array)
    text = summary.text("|x|" if array.dtype.kind == "c" else "")
    if summary.is_constant:
        return "", text
    pictures = [s.cells for s in slices_of(array, 1024, SIDES).shown[:MOST_SLICES]]
    scale = scale_of(pictures)
    gap = np.zeros((len(pictures[0]), 1))
    row = [part for cells in pictures for part in (scale.of(cells), gap)][:-1]
    return png(np.concatenate(row, axis=1)), text
