"""svd: a matrix as U diag(s) V^H, of orthonormal columns and singular values.

With U^H dA V, the singular values move by its diagonal, and the vectors as those of eigh of A A^H and A^H A,
whose eigenvalues are s squared. Where U or V is not square its columns move out of their span too.

Sources: J. Townsend, "Differentiating the singular value decomposition" (2016),
https://j-towns.github.io/papers/svd-derivative.pdf; for complex matrices Z. Wan and S. Zhang,
"Automatic differentiation for complex valued SVD", https://arxiv.org/abs/1909.02659
"""

from __future__ import annotations

import enum
import functools
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core.array import Array, ShapedArray
from tinyjax.core.bind import Primitive
from tinyjax.core.primitives import mul, shape_of
from tinyjax.lax.elementwise import constant, real_dtype
from tinyjax.lax.linalg import matrices
from tinyjax.lax.linalg.spectra import diagonal


class SvdAlgorithm(enum.Enum):
    """Which algorithm to use; on a CPU LAPACK's QR and divide-and-conquer, which is the default."""

    DEFAULT = "default"
    QR = "QR"
    JACOBI = "Jacobi"
    POLAR = "polar"
    DIVIDE_AND_CONQUER = "divide_and_conquer"


svd_p = Primitive("svd", multiple_results=True, axes="matrices 2", makes_nan=True)
_matmul = functools.partial(matrices.typed_matmul, precision=lax.Precision.HIGHEST)


def _svd_impl(
    x: np.ndarray, *, full_matrices: bool, compute_uv: bool, algorithm: Any, **_: Any
) -> list[np.ndarray]:
    kind = "" if not compute_uv else "_f" if full_matrices else "_s"
    older = "m" if x.shape[-2] < x.shape[-1] else "n"
    x = np.where(np.isinf(x), np.nan, x)  # with inf, LAPACK may never end
    outs = matrices.by_numpy(f"svd{kind} svd_{older}{kind}", x)
    return [outs[1], outs[0], outs[2]] if compute_uv else [outs]


def _svd_aval(
    x: ShapedArray,
    *,
    full_matrices: bool,
    compute_uv: bool,
    subset_by_index: tuple[int, int] | None,
    algorithm: SvdAlgorithm | None,
) -> list[ShapedArray]:
    matrices.check_operands("svd", x)
    *batch, m, n = x.shape
    k = min(m, n)
    if subset_by_index is not None:
        if full_matrices and subset_by_index != (0, k):
            raise ValueError("svd: full_matrices and subset_by_index cannot both be set")
        if subset_by_index != (0, k):
            raise NotImplementedError("svd: subset_by_index is not supported on CPUs")
    if algorithm in (SvdAlgorithm.JACOBI, SvdAlgorithm.POLAR):
        raise NotImplementedError(
            f"svd: the {algorithm.name} algorithm is not implemented on CPUs; use None"
        )
    values = ShapedArray((*batch, k), real_dtype(x.dtype))
    if not compute_uv:
        return [values]
    u = ShapedArray((*batch, m, m if full_matrices else k), x.dtype)
    return [values, u, ShapedArray((*batch, n if full_matrices else k, n), x.dtype)]


def _svd_jvp(
    primals: Any, tangents: Any, *, full_matrices: bool, compute_uv: bool, **params: Any
) -> Any:
    (a,), (a_dot,) = primals, tangents
    m, n = shape_of(a)[-2:]
    if compute_uv and full_matrices and m != n:
        raise NotImplementedError(
            "Singular value decomposition JVP not implemented for full matrices: the columns that A does "
            "not need could move in any way; full_matrices=False"
        )
    s, u, vh = svd_p.bind(a, full_matrices=False, compute_uv=True, **params)
    uh, v = matrices.conj_transpose(u), matrices.conj_transpose(vh)
    ndim = len(shape_of(a))
    row = lax.expand_dims(s, (ndim - 2,))
    moved = _matmul(_matmul(uh, a_dot), v)
    s_dot = diagonal(lax.real(moved) if moved.dtype.kind == "c" else moved)
    if not compute_uv:
        return [s], [s_dot]
    row = lax.convert_element_type(row, a.dtype)
    u_turn, v_turn = _turns(row, moved)
    u_dot, v_dot = _matmul(u, u_turn), _matmul(v, v_turn)
    if m > n:
        u_dot = lax.add(u_dot, lax.div(_outside(u, uh, _matmul(a_dot, v)), _as_wide(row, u)))
    if n > m:
        toward = _matmul(matrices.conj_transpose(a_dot), u)
        v_dot = lax.add(v_dot, lax.div(_outside(v, vh, toward), _as_wide(row, v)))
    return [s, u, vh], [s_dot, u_dot, matrices.conj_transpose(v_dot)]


def _turns(row: Any, moved: Any) -> tuple[Any, Any]:
    """U^H dU and V^H dV, both skew. The free phases of complex vectors are all put into U's.

    `row` has the singular values, with an axis of size 1 for the rows."""
    ndim = len(shape_of(row))
    square = shape_of(moved)
    values = lax.broadcast_in_dim(row, square, range(ndim))
    column = lax.transpose(values, (*range(ndim - 2), ndim - 1, ndim - 2))
    unit = lax.broadcast_in_dim(matrices.eye(moved), square, (ndim - 2, ndim - 1))
    one = constant(moved, 1)
    gaps = mul(lax.add(values, column), lax.sub(values, column))
    factors = lax.sub(lax.div(one, lax.add(gaps, unit)), unit)

    def hermitian(x: Any) -> Any:
        return lax.add(x, matrices.conj_transpose(x))

    zeros = lax.convert_element_type(lax.eq(values, constant(moved, 0)), moved.dtype)
    inverse = lax.sub(lax.div(one, lax.add(values, zeros)), zeros)
    phases = mul(mul(constant(moved, 0.5), lax.sub(moved, matrices.conj_transpose(moved))), inverse)
    u_turn = lax.add(mul(factors, hermitian(mul(values, moved))), mul(phases, unit))
    return u_turn, mul(factors, hermitian(mul(column, moved)))


def _outside(u: Any, uh: Any, x: Any) -> Any:
    """The part of x that is not in the span of u's columns."""
    return lax.sub(x, _matmul(u, _matmul(uh, x)))


def _as_wide(row: Any, like: Any) -> Any:
    return lax.broadcast_in_dim(row, shape_of(like), range(len(shape_of(row))))


matrices.on_matrices(svd_p, _svd_impl, _svd_aval, _svd_jvp)


def svd(
    x: Any,
    *,
    full_matrices: bool = True,
    compute_uv: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    algorithm: SvdAlgorithm | None = None,
) -> Array | tuple[Array, Array, Array]:
    """(u, s, vh) with u diag(s) vh = x and s descending; s alone without compute_uv.

    x has shape (..., m, n), s (..., k) with k = min(m, n), u (..., m, k) and vh (..., k, n); with
    full_matrices both are square. Where LAPACK fails (NaN, inf), all is NaN. There is a derivative
    without full_matrices, or if m = n; the derivative of u and vh is infinite where singular values are
    equal. Raises TypeError if x is no matrix, NotImplementedError for options that CPUs don't have."""
    x = matrices.as_inexact(x)
    s, *uv = svd_p.bind(
        x,
        full_matrices=full_matrices,
        compute_uv=compute_uv,
        subset_by_index=subset_by_index,
        algorithm=algorithm,
    )
    return (uv[0], s, uv[1]) if uv else s
