"""Updates of existing matrices: symmetric_product, and cholesky_update, for one more row of data.

A factor of A + w w^T comes from a factor of A by one rotation a row. As in JAX, neither has derivatives.

Source: G. Golub and C. Van Loan, "Matrix Computations", 6.5.4
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core import dtypes
from tinyjax.core.array import Array, ShapedArray
from tinyjax.core.bind import Primitive, as_array, no_rule_reasons
from tinyjax.lax.elementwise import in_float32
from tinyjax.lax.linalg import matrices


def _check_floats(name: str, *avals: ShapedArray) -> None:
    for position, aval in enumerate(avals):
        if dtypes.kind(aval.dtype) != "f":
            raise TypeError(
                f"{name} does not accept dtype {aval.dtype.name} at position {position}: it takes floats"
            )


# ---- cholesky_update ----

cholesky_update_p = Primitive("cholesky_update", axes="unclear", makes_nan=True)


def _cholesky_update_impl(r: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Rotates row k of R and w so that w[k] becomes 0."""
    r = r.copy()
    for k in range(w.shape[-1]):
        row, to_keep, to_remove = r[..., k, :], r[..., k, k], w[..., k]
        length = np.hypot(to_keep, to_remove)
        divisor = np.where(length == 0, 1, length)
        cos = (np.where(length == 0, 1, to_keep) / divisor)[..., None]
        sin = (to_remove / divisor)[..., None]
        r[..., k, :], w = cos * row + sin * w, cos * w - sin * row
    return r


def _cholesky_update_aval(r: ShapedArray, w: ShapedArray) -> ShapedArray:
    _check_floats("cholesky_update", r, w)
    if r.shape != (*w.shape, *w.shape[-1:]):
        raise ValueError(
            "cholesky_update takes a square matrix and a vector of the same size. Got shapes "
            f"{r.shape} and {w.shape}"
        )
    return r


matrices.on_matrices(
    cholesky_update_p,
    in_float32(_cholesky_update_impl),
    _cholesky_update_aval,
    reason="each rotation works on what the one before it has left",
)
no_rule_reasons[cholesky_update_p, "jvp"] = "nor has JAX; cholesky of the updated matrix has it"


def cholesky_update(r_matrix: Any, w_vector: Any) -> Array:
    """The upper triangular factor of R^T R + w w^T, for an upper triangular R (n, n) and w (n,).

    Raises TypeError for other ranks or dtypes that are no floats, ValueError where sizes differ."""
    r, w = as_array(r_matrix), as_array(w_vector)
    for position, (x, rank) in enumerate(((r, 2), (w, 1))):
        if x.ndim != rank:
            raise TypeError(
                f"Input {position} to cholesky_update must have a rank of exactly {rank}, but got "
                f"shape={x.shape}"
            )
    return cholesky_update_p.bind(r, w)


# ---- symmetric_product ----

# Parameters: alpha, beta, Python floats.
symmetric_product_p = Primitive("symmetric_product", axes="matrices 2 2", makes_nan=True)


def _symmetric_product_impl(
    a: np.ndarray, c: np.ndarray, *, alpha: float, beta: float
) -> np.ndarray:
    return alpha * (a @ np.swapaxes(a, -1, -2)) + beta * c


def _symmetric_product_aval(a: ShapedArray, c: ShapedArray, **_: float) -> ShapedArray:
    _check_floats("symmetric_product", a, c)
    if a.ndim < 2 or c.shape != (*a.shape[:-1], a.shape[-2]):
        raise ValueError(
            "symmetric_product takes a matrix (n, m) and a square matrix (n, n). Got shapes "
            f"{a.shape} and {c.shape}"
        )
    return c


matrices.on_matrices(
    symmetric_product_p,
    in_float32(_symmetric_product_impl),
    _symmetric_product_aval,
    reason="BLAS computes it",
)
no_rule_reasons[symmetric_product_p, "jvp"] = "nor has JAX; alpha * a @ a.T + beta * c has it"


def symmetric_product(
    a_matrix: Any,
    c_matrix: Any,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
    symmetrize_output: bool = False,
) -> Array:
    """alpha A A^T + beta C, for A (..., n, m) and C (..., n, n).

    With `symmetrize_output` the lower triangle is copied to the upper one. Raises TypeError for operands
    that are no matrices of floats, ValueError where sizes differ."""
    a, c = as_array(a_matrix), as_array(c_matrix)
    out = symmetric_product_p.bind(a, c, alpha=alpha, beta=beta)
    if not symmetrize_output:
        return out
    mirrored = matrices.matrix_transpose(matrices.tril(out, -1))
    return lax.add(matrices.tril(out), mirrored)
