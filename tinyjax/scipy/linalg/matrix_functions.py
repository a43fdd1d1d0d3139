"""Functions of matrices by the Schur form: sqrtm and funm.

For a triangular matrix, apply the function to the diagonal; the elements above follow column by column, or
diagonal by diagonal.

Sources: A. Bjorck and S. Hammarling, "A Schur method for the square root of a matrix" (1983); Golub and Van
Loan, Matrix Computations, 9.1 (Parlett's recurrence)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core import dtypes
from tinyjax.core.array import Array
from tinyjax.lax import linalg
from tinyjax.lax.linalg.matrices import conj_transpose, eye, matmul, triu
from tinyjax.lax.linalg.spectra import diagonal
from tinyjax.numpy import reductions
from tinyjax.numpy.choosing import where
from tinyjax.numpy.creation import asarray
from tinyjax.numpy.linalg.norms_and_products import norm
from tinyjax.numpy.logic import isfinite
from tinyjax.numpy.promotion import promote_dtypes_inexact
from tinyjax.numpy.triangles import diag
from tinyjax.scipy.linalg.decompositions import schur
from tinyjax.transform.jit.api import jitted


def _solve_upper(a: Any, b: Any) -> Any:
    return linalg.triangular_solve(a, b, left_side=True)


# ---- sqrtm ----


def sqrtm(A: Any, blocksize: int = 1) -> Array:  # noqa: N803
    """The principal square root of a square matrix, complex: its product with itself is A.

    inf or NaN where there is none. No derivative. Raises ValueError if A is no square matrix,
    NotImplementedError for another blocksize than 1."""
    if blocksize > 1:
        raise NotImplementedError("sqrtm: Blocked version is not implemented yet; blocksize=1")
    (a,) = promote_dtypes_inexact(asarray(A))
    if a.ndim != 2:
        raise ValueError(f"sqrtm takes one matrix, and got an array of shape {a.shape}")
    return _sqrtm(a)


@jitted
def _sqrtm(a: Any) -> Any:
    t, z = schur(a, output="complex")
    return matmul(matmul(z, _sqrtm_triangular(t)), conj_transpose(z))


def _sqrtm_triangular(t: Any) -> Any:
    """Column j of R R = T: (R_above + R_jj I) r = T's column above the diagonal, a triangular system."""
    n = t.shape[0]
    places = lax.iota(np.int32, n)
    unit = eye(t)

    def column(j: Any, root: Any) -> Any:
        above = where(places < j, t[:, j], 0)
        found = _solve_upper(root + root[j, j] * unit, above[:, None])[:, 0]
        # 0 = 0 / 0 of eigenvalues 0 that have nothing to do with each other
        found = where(reductions.any(above != 0), found, 0)
        return root + where((places[None, :] == j) & (places[:, None] < j), found[:, None], 0)

    return lax.fori_loop(1, n, column, diag(lax.sqrt(diagonal(t))))


# ---- funm ----


def funm(
    A: Any,  # noqa: N803
    func: Callable[[Array], Array],
    disp: bool = True,
) -> Array | tuple[Array, Array]:
    """`func` of a square matrix, complex: what its Taylor series gives. `func` is given the eigenvalues.

    With disp=False also an estimate of the error; eigenvalues that are equal make it inaccurate. No
    derivative. Raises ValueError if A is no square matrix."""
    (a,) = promote_dtypes_inexact(asarray(A))
    if a.ndim != 2 or a.shape[0] != a.shape[1]:
        raise ValueError(f"expected square array_like input, got shape {a.shape}")
    t, z = schur(a, output="complex")
    f, smallest = _parlett(t, diag(func(diagonal(t))))
    out = matmul(matmul(z, f), conj_transpose(z))
    if disp:
        return out
    epsilon = float(dtypes.finfo(t.dtype).eps)
    smallest = where(smallest == 0, epsilon, smallest)
    error = lax.max(epsilon, epsilon / smallest * norm(triu(t, 1), 1))
    error = lax.min(error, lax.full_like(error, 1))
    return out, where(reductions.all(isfinite(out)), error, np.inf)


def _parlett(t: Any, f: Any) -> tuple[Any, Any]:
    """F from its diagonal: F T = T F says each further diagonal. Also the least |t_jj - t_ii| that it
    divided by, and |t_00| where that is less; equal ones don't divide."""
    n = t.shape[0]
    steps = lax.iota(np.int32, n)[None, :] - lax.iota(np.int32, n)[:, None]
    w = diagonal(t)
    gaps = w[None, :] - w[:, None]
    divisors = where(gaps == 0, 1, gaps)

    def further(p: Any, f: Any) -> Any:
        both = matmul(t, f) - matmul(f, t)
        return where(steps == p, both / divisors, f)

    smallest = reductions.min(where(steps > 0, lax.abs(gaps), lax.abs(w[0])))
    return lax.fori_loop(1, n, further, f), smallest
