"""cholesky: a positive definite matrix as the product of a lower triangular one and its transpose.

From A = L L^T comes L^-1 dA L^-T = S + S^T with S = L^-1 dL, and S is lower triangular, so it is the lower
half of the left side, with half of the diagonal.

Source: I. Murray, "Differentiation of the Cholesky decomposition", https://arxiv.org/abs/1602.07527
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core.array import Array, ShapedArray
from tinyjax.core.bind import Primitive
from tinyjax.lax.linalg import matrices
from tinyjax.lax.linalg.triangular_solve import triangular_solve

SMALL = 64  # up to this many rows, LAPACK takes less time than the Python call

cholesky_p = Primitive("cholesky", axes="matrices 2", makes_nan=True)


def _cholesky_impl(x: np.ndarray) -> np.ndarray:
    """By LAPACK's potrf, of large matrices in the memory of the result; NaN where a matrix is not positive
    definite."""
    if x.size == 0:
        return x
    if x.shape[-1] <= SMALL:
        return matrices.by_numpy("cholesky_lo", x)
    potrf = matrices.scipy_lapack("potrf", x.dtype)
    out = np.array(x, order="C")
    for each in out.reshape(-1, *x.shape[-2:]):
        # LAPACK sees the transpose, whose upper factor is our lower one (its conjugate for complex
        # matrices).
        _, info = potrf(each.T, lower=False, clean=True, overwrite_a=True)
        if info:
            each[...] = np.nan
    return out


def _cholesky_aval(x: ShapedArray) -> ShapedArray:
    matrices.check_operands("cholesky", x)
    matrices.check_square("cholesky", x)
    return x


def _of_lower_triangle(x: Any) -> Any:
    """The Hermitian matrix with this lower triangle, the only part of its operand that cholesky reads."""
    if x.dtype.kind != "c":
        return lax.add(matrices.tril(x), matrices.matrix_transpose(matrices.tril(x, -1)))
    re, im = lax.real(x), lax.imag(x)
    re = lax.add(matrices.tril(re), matrices.matrix_transpose(matrices.tril(re, -1)))
    return lax.complex(
        re, lax.sub(matrices.tril(im, -1), matrices.matrix_transpose(matrices.tril(im, -1)))
    )


def _cholesky_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    (x,), (x_dot,) = primals, tangents
    x_dot = _of_lower_triangle(x_dot)
    factor = matrices.tril(cholesky_p.bind(x))
    right = triangular_solve(factor, x_dot, lower=True, transpose_a=True, conjugate_a=True)
    both = triangular_solve(factor, right, left_side=True, lower=True)
    half = matrices.tril(both)
    divisor = lax.add(np.array(1, both.dtype), matrices.eye(x))
    divisor = lax.expand_dims(divisor, tuple(range(both.ndim - 2)))
    return factor, matrices.matmul(factor, lax.div(half, divisor))


matrices.on_matrices(cholesky_p, _cholesky_impl, _cholesky_aval, _cholesky_jvp)


def cholesky(x: Any, *, symmetrize_input: bool = True) -> Array:
    """The lower triangular L with L L^H = x, for positive definite matrices; NaN for all others.

    With `symmetrize_input`, of (x + x^H) / 2; without, only the lower triangle of x is read, and
    derivatives take x to be symmetric. Raises ValueError where x is no matrix, or not square."""
    x = matrices.as_inexact(x)
    matrices.check_matrices("The input to linalg.cholesky", x)
    if symmetrize_input:
        x = matrices.symmetrized(x)
    return matrices.tril(cholesky_p.bind(x))
