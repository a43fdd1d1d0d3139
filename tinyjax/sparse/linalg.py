"""Linear systems of sparse matrices: SciPy solves them on the host.

SciPy computes the solution; custom_linear_solve needs only products with the matrix for its derivatives.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.core.structs import ShapeDtypeStruct
from tinyjax.lax.callback import pure_callback
from tinyjax.sparse.bcsr import BCSR


def spsolve(
    data: Any, indices: Any, indptr: Any, b: Any, tol: float = 1e-6, reorder: int = 1
) -> Any:
    """x of A x = b, for a vector b and the square matrix A = BCSR((data, indices, indptr)).

    `tol` and `reorder` are for JAX's solver on GPUs. A singular matrix gives NaN or infinity."""
    data, b = jnp.asarray(data), jnp.asarray(b)
    if b.ndim != 1 or len(b) != len(indptr) - 1:
        raise ValueError(
            f"spsolve takes a vector of {len(indptr) - 1} elements, got shape {b.shape}"
        )
    matrix = BCSR((data, indices, indptr), shape=(len(b), len(b)))

    def solve(transposed: bool) -> Any:
        def on_host(data: Any, indices: Any, indptr: Any, b: Any) -> Any:
            from scipy.sparse import csr_matrix
            from scipy.sparse.linalg import spsolve

            parts = (np.asarray(data), np.asarray(indices), np.asarray(indptr))
            mat = csr_matrix(parts, shape=(len(b), len(b)))
            mat = mat.T if transposed else mat
            return spsolve(mat.tocsc(), np.asarray(b)).astype(b.dtype)

        return lambda _, b: pure_callback(
            on_host,
            ShapeDtypeStruct(b.shape, b.dtype),
            *(data, matrix.indices, matrix.indptr, b),
            vmap_method="sequential",
        )

    return lax.custom_linear_solve(
        lambda x: matrix @ x, b, solve=solve(False), transpose_solve=solve(True)
    )
