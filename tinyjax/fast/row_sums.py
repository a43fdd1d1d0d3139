"""Add many rows at given places: a sum over a graph's edges, the gradient of an embedding.

It saves: 50,000 rows of 16 float32s are added in 0.5 ms instead of 14 by `np.add.at`, and 10,000 rows of 64
in 0.3 instead of 10.

A sum over a graph's edges is a product with a sparse matrix: it has a column for each update, with a single 1
in the row where the update goes. SciPy's product goes through the columns in order, so that the sums are
those of one update after the other.

Source: https://docs.scipy.org/doc/scipy/reference/generated/scipy.sparse.csc_array.html
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

from tinyjax.core.shortcuts import shortcut_for
from tinyjax.lax.scattering import combine_at

WORTH_IT = 50_000  # elements of updates
# np.add.at adds this many in the time of importing scipy.sparse.
IMPORT_ELEMENTS = 20_000_000


@shortcut_for(combine_at)
def combine_rows_at(
    plain: Callable, combine: np.ufunc, target: np.ndarray, index: tuple, updates: np.ndarray
) -> None:
    """Add rows by add_rows if there are many."""
    if combine is np.add and are_many_rows(target, index, updates) and pays_off(updates.size):
        add_rows(target, index, updates)
    else:
        plain(combine, target, index, updates)


def are_many_rows(target: np.ndarray, index: tuple[np.ndarray, ...], updates: np.ndarray) -> bool:
    """Whether `add_rows` does what `np.add.at(target, index, updates)` does, in less time."""
    return (
        updates.size >= WORTH_IT
        and updates.ndim > 1
        and target.flags.c_contiguous
        and target.dtype == updates.dtype
        and target.dtype in (np.float32, np.float64, np.complex64, np.complex128)
        and all(places.ndim == 1 for places in index)
    )


_elements = 0  # added so far


def pays_off(size: int) -> bool:
    """Whether scipy.sparse is imported, or enough was added to import it; counts `size` more elements."""
    global _elements
    _elements += size
    return "scipy.sparse" in sys.modules or _elements > IMPORT_ELEMENTS


def add_rows(target: np.ndarray, index: tuple[np.ndarray, ...], updates: np.ndarray) -> None:
    """target[index] += updates, even if a place occurs several times.

    target: [*places, *row], contiguous; index: for each axis of places an array [n]; updates: [n, *row]."""
    from scipy.sparse import csc_array

    shape = target.shape[: len(index)]
    rows = target.reshape(int(np.prod(shape)), -1)
    places = np.ravel_multi_index(index, shape)
    # Each sum begins with the row itself.
    places = np.concatenate([np.arange(len(rows)), places])
    added = np.concatenate([rows, updates.reshape(len(updates), -1)])
    ones, columns = np.ones(len(added), target.dtype), np.arange(len(added) + 1)
    rows[...] = csc_array((ones, places, columns), shape=(len(rows), len(added))) @ added
