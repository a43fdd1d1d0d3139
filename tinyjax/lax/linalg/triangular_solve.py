"""triangular_solve: the solution of a linear system whose matrix is triangular.

The derivative is one more such solve: A dX = dB - dA X. It is linear in B, and the transpose of a solve is
the solve with the transpose.

Source: M. Giles, "An extended collection of matrix derivative results for forward and reverse mode
algorithmic differentiation", 2.3.1, https://people.maths.ox.ac.uk/gilesm/files/NA-08-01.pdf
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core import dtypes
from tinyjax.core.array import Array, ShapedArray
from tinyjax.core.bind import Primitive, as_array
from tinyjax.core.primitives import shape_of
from tinyjax.lax.linalg import batched_small, matrices
from tinyjax.transform.batching import batch_rules, bdim_at_front, moveaxis, not_mapped
from tinyjax.transform.jvp import Zero, defjvp2
from tinyjax.transform.transposition import require_known, transpose_rules

# Parameters: those of the function triangular_solve.
triangular_solve_p = Primitive("triangular_solve", makes_nan=True)


def _impl(
    a: np.ndarray, b: np.ndarray, *, left_side: bool, lower: bool, transpose_a: bool,
    conjugate_a: bool, unit_diagonal: bool,
) -> np.ndarray:  # fmt: skip
    """Uses BLAS's trsm, which takes matrices column by column. Ours are stored row by row, so it sees
    their transposes: left and right are swapped, and so are lower and upper. A zero on the diagonal
    divides, and gives inf or NaN."""
    if b.size == 0:
        return b
    dtype = b.dtype
    if dtype.char not in "fdFD":
        a, b = a.astype(np.float32), b.astype(np.float32)
    if conjugate_a:
        a = np.conj(a)
    if batched_small.is_worth_it(a) and max(b.shape[-2:]) <= 16:
        return _many(a, b, left_side, lower, transpose_a, unit_diagonal).astype(dtype, copy=False)
    from scipy.linalg import get_blas_funcs

    trsv, trsm = get_blas_funcs(("trsv", "trsm"), (a, b))
    a, out = np.ascontiguousarray(a), np.array(b, order="C")
    stacks = (x.reshape(-1, *x.shape[-2:]) for x in (a, out))
    is_vector = b.shape[-1 if left_side else -2] == 1
    for matrix, solution in zip(*stacks):
        if is_vector:
            is_transposed = left_side != transpose_a
            trsv(
                matrix.T, solution.reshape(-1), lower=not lower, trans=is_transposed,
                diag=unit_diagonal, overwrite_x=True,
            )  # fmt: skip
        else:
            trsm(
                1, matrix.T, solution.T, side=left_side, lower=not lower, trans_a=transpose_a,
                diag=unit_diagonal, overwrite_b=True,
            )  # fmt: skip
    return out.astype(dtype, copy=False)


def _many(
    a: np.ndarray, b: np.ndarray, left_side: bool, lower: bool, transpose_a: bool, unit: bool
) -> np.ndarray:
    """X op(A) = B is op(A)^T X^T = B^T, and the transpose of a lower matrix is an upper one."""
    if left_side == transpose_a:
        a, lower = np.swapaxes(a, -1, -2), not lower
    columns = b if left_side else np.swapaxes(b, -1, -2)
    flat_a, flat_b = (x.reshape(-1, *x.shape[-2:]) for x in (a, columns))
    x = batched_small.triangular_solve(flat_a, flat_b, lower, unit).reshape(columns.shape)
    return x if left_side else np.swapaxes(x, -1, -2)


def _aval(a: ShapedArray, b: ShapedArray, *, left_side: bool, **_: Any) -> ShapedArray:
    matrices.check_operands("triangular_solve", a, b, halves=True)
    if a.ndim != b.ndim:
        raise TypeError(
            "All inputs to triangular_solve must have the same number of batch dimensions, but got "
            f"{a.ndim - 2} and {b.ndim - 2}"
        )
    matrices.check_square("triangular_solve", a)
    if a.shape[:-2] != b.shape[:-2] or a.shape[-1] != b.shape[-2 if left_side else -1]:
        raise ValueError(
            f"Incompatible shapes for arguments to triangular_solve: {a.shape} and {b.shape}. With "
            f"left_side={left_side} the {'rows' if left_side else 'columns'} of b are as many as a's"
        )
    return b.update(weak_type=a.weak_type and b.weak_type)


def _jvp_a(a_dot: Any, x: Any, a: Any, b: Any, **params: Any) -> Any:
    """-A^-1 dA X, or -X dA A^-1, in the cheaper order, which solves for fewer numbers."""
    part = matrices.tril if params["lower"] else matrices.triu
    diagonal = -1 if params["lower"] else 1
    moved = lax.neg(part(a_dot, diagonal if params["unit_diagonal"] else 0))
    if params["transpose_a"]:
        moved = matrices.matrix_transpose(moved)
    if params["conjugate_a"]:
        moved = lax.conj(moved)
    solve = functools.partial(triangular_solve_p.bind, a, **params)
    rows, columns = shape_of(b)[-2:]
    if params["left_side"]:
        return (
            solve(matrices.matmul(moved, x)) if columns < rows else matrices.matmul(solve(moved), x)
        )
    return solve(matrices.matmul(x, moved)) if rows < columns else matrices.matmul(x, solve(moved))


def _jvp_b(b_dot: Any, x: Any, a: Any, b: Any, **params: Any) -> Any:
    return triangular_solve_p.bind(a, b_dot, **params)


def _transpose(ct: Any, a: Any, b: Any, *, transpose_a: bool, **params: Any) -> list[Any]:
    require_known(triangular_solve_p, a)
    if type(ct) is Zero:
        return [None, Zero(b.aval)]
    return [None, triangular_solve_p.bind(a, ct, transpose_a=not transpose_a, **params)]


def _batch(vals: Any, dims: Any, *, left_side: bool, **params: Any) -> Any:
    """If all right-hand sides share one matrix, they are put side by side in one solve."""
    (a, b), (a_dim, b_dim) = vals, dims
    if a_dim is not_mapped and len(shape_of(a)) == 2:
        return _solve_side_by_side(a, moveaxis(b, b_dim, -1 if left_side else 0), left_side, params)
    size = shape_of(a)[a_dim] if a_dim is not not_mapped else shape_of(b)[b_dim]
    a, b = bdim_at_front(a, a_dim, size), bdim_at_front(b, b_dim, size)
    return triangular_solve_p.bind(a, b, left_side=left_side, **params), 0


def _solve_side_by_side(a: Any, b: Any, left_side: bool, params: Any) -> tuple[Any, int]:
    """b is (n, columns, batch), or (rows, batch, n) after its batch axis has gone behind its rows."""
    if left_side:
        flat = (shape_of(b)[0], shape_of(b)[1] * shape_of(b)[2])
    else:
        b = moveaxis(b, 0, 1)
        flat = (shape_of(b)[0] * shape_of(b)[1], shape_of(b)[2])
    x = triangular_solve_p.bind(a, lax.reshape(b, flat), left_side=left_side, **params)
    return lax.reshape(x, shape_of(b)), 2 if left_side else 1


matrices.on_matrices(triangular_solve_p, _impl, _aval)
defjvp2(triangular_solve_p, _jvp_a, _jvp_b)
transpose_rules[triangular_solve_p] = _transpose
batch_rules[triangular_solve_p] = _batch  # merges many solves into one if possible


def triangular_solve(
    a: Any, b: Any, *, left_side: bool = False, lower: bool = False, transpose_a: bool = False,
    conjugate_a: bool = False, unit_diagonal: bool = False,
) -> Array:  # fmt: skip
    """X with op(A) X = B if `left_side`, else X op(A) = B; only one triangle of A is read.

    `a` has shape (..., n, n), `b` (..., n, m) or (..., m, n), and the result has b's; a vector b is one
    column (or row). op transposes and conjugates as the flags say; with `unit_diagonal` A's diagonal is
    assumed to be ones. A zero on it gives inf or NaN. Raises TypeError for other ranks, dtypes that
    differ, and integers; ValueError where sizes differ."""
    a, b = as_array(a), as_array(b)
    is_vector = len(shape_of(b)) == len(shape_of(a)) - 1
    if is_vector:
        b = lax.expand_dims(b, (-1 if left_side else -2,))
    out = triangular_solve_p.bind(
        a,
        b,
        left_side=left_side,
        lower=lower,
        transpose_a=transpose_a,
        conjugate_a=conjugate_a and dtypes.kind(dtypes.dtype(a)) == "c",
        unit_diagonal=unit_diagonal,
    )
    return lax.squeeze(out, (-1 if left_side else -2,)) if is_vector else out
