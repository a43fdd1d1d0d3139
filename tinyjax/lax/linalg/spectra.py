"""Shared by eigh, svd and eig: NaN if LAPACK fails, diagonals, and distances of eigenvalues."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core.primitives import shape_of
from tinyjax.lax.linalg import matrices


def nan_where_it_fails(decompose: Callable[[np.ndarray], Any], x: np.ndarray) -> Any:
    """`decompose` of a stack of matrices. If that fails, `decompose` of each matrix, with NaN for those
    that fail."""
    try:
        return decompose(x)
    except np.linalg.LinAlgError:
        if x.ndim > 2:
            return matrices.for_each_matrix(lambda matrix: nan_where_it_fails(decompose, matrix), x)
    outs = decompose(np.zeros_like(x))  # of the right shapes
    if isinstance(outs, tuple):
        return tuple(np.full_like(out, np.nan) for out in outs)
    return np.full_like(outs, np.nan)


def diagonal(x: Any) -> Any:
    """The diagonals of square matrices."""
    i = lax.iota(np.int32, shape_of(x)[-1])
    return x[..., i, i]


def one_over_gaps(w: Any) -> Any:
    """1 / (w_j - w_i) at row i and column j; 0 on the diagonal. Infinite for equal eigenvalues."""
    ndim = len(shape_of(w))
    unit = matrices.eye(w)
    gaps = lax.expand_dims(w, (ndim - 1,)) - lax.expand_dims(w, (ndim,))
    return lax.integer_pow(gaps + unit, -1) - unit
