"""Matrices that a size alone gives: Hilbert's, Pascal's, Hadamard's, and others.

They are computed in double precision or in integers, and rounded once.
"""

from __future__ import annotations

import functools
from math import comb
from typing import Any

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.core import dtypes
from tinyjax.core.array import Array
from tinyjax.numpy.util import canonicalize_shape, user_dtype


def _floats(rows: Any, n: int) -> Array:
    """An n x n matrix of floats of the default size."""
    matrix = np.array(rows, np.float64).reshape(n, n)
    return jnp.asarray(matrix.astype(dtypes.canonicalize_dtype(np.float64)))


# ---- Hilbert ----


def hilbert(n: int) -> Array:
    """1 / (i + j + 1) at row i, column j: nearly singular. Raises TypeError for a negative size."""
    if canonicalize_shape((n,))[0] < 0:
        raise TypeError(f"hilbert: a matrix has no negative size, got {n}")
    i = np.arange(n)
    return _floats(1 / (i[:, None] + i + 1), n)


def invhilbert(n: int) -> Array:
    """Its inverse, whose elements are integers.

    Source: https://en.wikipedia.org/wiki/Hilbert_matrix#Properties"""
    size = range(n)

    def element(i: int, j: int) -> int:
        product = comb(n + i, n - j - 1) * comb(n + j, n - i - 1) * comb(i + j, i) ** 2
        return (-1) ** (i + j) * (i + j + 1) * product

    return _floats([[element(i, j) for j in size] for i in size], len(size))


# ---- Pascal ----

_KINDS = ("symmetric", "lower", "upper")


def _kind(kind: str | None) -> str:
    """Raises ValueError for another word."""
    if kind is not None and kind not in _KINDS:
        raise ValueError(f"Expected kind to be one of: {list(_KINDS)}; got {kind}")
    return kind or "symmetric"


def _pascal_lower(n: int) -> list[list[int]]:
    return [[comb(i, j) for j in range(n)] for i in range(n)]


def _by_kind(lower: list[list[int]], kind: str, symmetric: Any) -> Array:
    """A lower triangular matrix, its transpose, or what the function makes of these (Python ints)."""
    matrix = np.array(lower, object).reshape(len(lower), len(lower))
    if kind == "symmetric":
        matrix = symmetric(matrix, matrix.T)
    return _floats(matrix.T if kind == "upper" else matrix, len(lower))


def pascal(n: int, kind: str | None = None) -> Array:
    """Pascal's triangle: "lower" as the rows, "upper" as the columns, "symmetric" their product.

    Raises ValueError for another kind."""
    return _by_kind(_pascal_lower(n), _kind(kind), lambda lower, upper: lower @ upper)


def invpascal(n: int, kind: str | None = None) -> Array:
    """Its inverse: the signs of a triangle's elements alternate."""
    lower = [
        [(-1) ** (i + j) * x for j, x in enumerate(row)] for i, row in enumerate(_pascal_lower(n))
    ]
    return _by_kind(lower, _kind(kind), lambda lower, upper: upper @ lower)


# ---- orthogonal rows ----


def hadamard(n: int, dtype: Any = int) -> Array:
    """Of ones and minus ones, with orthogonal rows; Sylvester's construction.

    Raises ValueError unless n is a power of 2."""
    if n < 1 or n & (n - 1):
        raise ValueError(f"n must be a positive power of 2; got {n}.")
    doubled = np.array([[1, 1], [1, -1]])
    matrix = functools.reduce(np.kron, [doubled] * (n.bit_length() - 1), np.array([[1]]))
    return jnp.asarray(matrix, user_dtype(dtype, "hadamard"))


def helmert(n: int, full: bool = False) -> Array:
    """Orthonormal rows: row k compares element k with the mean of those before it. With `full`, a row
    of equal numbers is the first. Raises ValueError for n < 1."""
    if n < 1:
        raise ValueError(f"n must be a positive integer; got {n}.")
    rows = np.tril(np.ones((n, n)), -1) - np.diag(np.arange(n))
    rows[0] = 1
    matrix = _floats(rows / np.linalg.norm(rows, axis=1, keepdims=True), n)
    return matrix if full else matrix[1:]


def dft(n: int, scale: str | None = None, *, dtype: Any = None) -> Array:
    """The matrix of the discrete Fourier transform, times 1, 1 / sqrt(n) ("sqrtn") or 1 / n ("n").

    Raises ValueError for another scale, and a dtype that is not complex."""
    if scale not in (None, "sqrtn", "n"):
        raise ValueError(f"scale must be None, 'sqrtn', or 'n'; got {scale!r}.")
    out_dtype = (
        dtypes.canonicalize_dtype(np.complex128) if dtype is None else user_dtype(dtype, "dft")
    )
    if dtypes.kind(out_dtype) != "c":
        raise ValueError(f"dtype must be a complex floating-point type; got {out_dtype.name}.")
    turns = np.arange(n)[:, None] * np.arange(n) % max(n, 1)  # whole turns change nothing
    matrix = np.exp(-2j * np.pi * turns / max(n, 1))
    divisor = {None: 1, "sqrtn": np.sqrt(max(n, 1)), "n": max(n, 1)}[scale]
    return jnp.asarray((matrix / divisor).astype(out_dtype))
