"""Shared by eigh, svd and eig: diagonals, and distances of eigenvalues."""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core.primitives import shape_of
from tinyjax.lax.linalg import matrices


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
