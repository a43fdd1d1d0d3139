"""LU decompositions and triangular solves of many small matrices at once, in NumPy.

A thousand calls of LAPACK for 3 x 3 matrices are slow: nearly all of the time goes to the calls. Here a step
of the algorithm is one NumPy call for all matrices.

Source: G. Golub and C. Van Loan, "Matrix Computations", 3.1 and 3.4
"""

from __future__ import annotations

import math

import numpy as np


def is_worth_it(x: np.ndarray) -> bool:
    """Whether these are many small matrices: more matrices than the algorithm has steps, each with few
    elements."""
    *batch, rows, columns = x.shape
    return x.size > 0 and math.prod(batch) > 4 * min(rows, columns) and max(rows, columns) <= 16


def lu(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """L and U in one matrix, pivots and permutation, of matrices (count, m, n). As with LAPACK, a NaN is a
    pivot only where it is first, and rows are not divided by it; inf / inf is 0."""
    lu = x.copy()
    count, rows, columns = x.shape
    each, steps = np.arange(count), min(rows, columns)
    pivots = np.zeros((count, steps), np.int32)
    order = np.tile(np.arange(rows, dtype=np.int32), (count, 1))
    for k in range(steps):
        below = lu[:, k:, k]
        size = abs(below.real) + abs(below.imag)  # LAPACK's measure
        size[np.isnan(size[:, 0]), 0] = np.inf
        pivot = k + np.argmax(np.where(size >= 0, size, -1), axis=1)
        pivots[:, k] = pivot
        for exchanged in lu, order:
            exchanged[each, k], exchanged[each, pivot] = exchanged[each, pivot], exchanged[each, k]
        divisor = lu[:, k, k, None]
        factors = lu[:, k + 1 :, k] / np.where(abs(divisor) > 0, divisor, 1)
        factors = np.where(np.isinf(divisor), 0, factors)
        lu[:, k + 1 :, k] = factors
        lu[:, k + 1 :, k + 1 :] -= factors[:, :, None] * lu[:, k, None, k + 1 :]
    return lu, pivots, order


def triangular_solve(a: np.ndarray, b: np.ndarray, lower: bool, unit_diagonal: bool) -> np.ndarray:
    """X with A X = B, for A (count, n, n) and B (count, n, m): row by row, as each row needs the rows
    before it."""
    x = b.copy()
    size = a.shape[-1]
    for i in range(size) if lower else reversed(range(size)):
        known = slice(0, i) if lower else slice(i + 1, size)
        x[:, i] -= np.einsum("ck,ckm->cm", a[:, i, known], x[:, known])
        if not unit_diagonal:
            x[:, i] /= a[:, i, i, None]
    return x
