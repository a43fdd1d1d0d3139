"""qr: a matrix as the product of one with orthonormal columns and an upper triangular one.

Householder's reflections, one a column, make zeros below the diagonal; `geqrf` gives the reflections, and
`householder_product` multiplies them. For the derivative: Q^H dQ is skew and dR R^-1 upper triangular, so
that the lower half of Q^H dA R^-1 determines both.

Sources: Golub and Van Loan, Matrix Computations, 5.2 (Householder QR); S. Walter and L. Lehmann,
"Algorithmic differentiation of linear algebra functions", https://arxiv.org/abs/1009.6112
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core.array import Array, ShapedArray
from tinyjax.core.bind import Primitive, as_array, no_rule_reasons
from tinyjax.core.primitives import mul, shape_of
from tinyjax.lax.gathering import gather_along_axis
from tinyjax.lax.linalg import matrices
from tinyjax.lax.linalg.triangular_solve import triangular_solve
from tinyjax.transform.jvp import zero_tangent

# ---- qr ----

# Parameters: pivoting, full_matrices; use_magma chooses among GPU libraries in JAX.
qr_p = Primitive("qr", multiple_results=True, axes="matrices 2", makes_nan=True)
SMALL = 16  # up to this many rows and columns, NumPy takes less time for a stack than SciPy
BLOCK = 32  # columns that LAPACK takes together


def _is_small_stack(a: np.ndarray) -> bool:
    return a.ndim > 2 and max(a.shape[-2:]) <= SMALL


def _qr_impl(
    a: np.ndarray, *, pivoting: bool, full_matrices: bool, use_magma: None
) -> list[np.ndarray]:
    if not pivoting:
        *_, m, n = a.shape
        if not a.size or _is_small_stack(a):
            return list(np.linalg.qr(a, "complete" if full_matrices else "reduced"))
        k = m if full_matrices else min(m, n)
        reflections, taus = _geqrf_impl(a)
        columns = reflections[..., :k]
        if k > n:
            columns = np.concatenate([columns, np.zeros((*a.shape[:-1], k - n), a.dtype)], -1)
        return [_householder_impl(columns, taus), np.triu(reflections[..., :k, :])]
    import scipy.linalg

    mode = "full" if full_matrices else "economic"

    def of_one(x: np.ndarray) -> tuple[np.ndarray, ...]:
        return scipy.linalg.qr(x, mode=mode, pivoting=True, check_finite=False)

    return list(matrices.for_each_matrix(of_one, a))


def _qr_aval(
    a: ShapedArray, *, pivoting: bool, full_matrices: bool, use_magma: None
) -> list[ShapedArray]:
    matrices.check_operands("qr", a)
    *batch, m, n = a.shape
    k = m if full_matrices else min(m, n)
    outs = [ShapedArray((*batch, m, k), a.dtype), ShapedArray((*batch, k, n), a.dtype)]
    return [*outs, ShapedArray((*batch, n), np.dtype(np.int32))] if pivoting else outs


def _qr_jvp(
    primals: Any, tangents: Any, *, pivoting: bool, full_matrices: bool, use_magma: None
) -> Any:
    """With S = Q^H dA R^-1 = Q^H dQ + dR R^-1: below its diagonal is the skew part's lower half."""
    (x,), (x_dot,) = primals, tangents
    params = {"pivoting": pivoting, "full_matrices": full_matrices, "use_magma": use_magma}
    q, r, *p = qr_p.bind(x, **params)
    if pivoting:
        x_dot = gather_along_axis(x_dot, lax.expand_dims(p[0], (-2,)), axis=-1)
    m, n = shape_of(x)[-2:]
    if m < n or (full_matrices and m != n):
        q_dot, r_dot = _of_square_q(q, r, x_dot)
    else:
        moved = triangular_solve(r, x_dot)
        both = matrices.typed_matmul(matrices.conj_transpose(q), moved)
        skew = _skew_part(both)
        q_dot = lax.add(matrices.typed_matmul(q, lax.sub(skew, both)), moved)
        r_dot = matrices.typed_matmul(lax.sub(both, skew), r)
    return [q, r, *p], [q_dot, r_dot, *[zero_tangent(i) for i in p]]


def _of_square_q(q: Any, r: Any, x_dot: Any) -> tuple[Any, Any]:
    """The first columns, at most as many as there are rows, determine dQ, and dR is Q^H dA - Q^H dQ R.

    For columns of Q that R does not need, the part of Q^H dQ is 0."""
    m, n = shape_of(r)[-2:]
    k = min(m, n)
    first = lax.slice_in_dim(lax.slice_in_dim(r, 0, k, axis=-2), 0, k, axis=-1)
    moved = matrices.typed_matmul(matrices.conj_transpose(q), x_dot)
    both = triangular_solve(first, lax.slice_in_dim(moved, 0, k, axis=-1))
    skew = _skew_part(lax.pad(both, np.zeros((), both.dtype), _columns_after(both, m - k)))
    return matrices.typed_matmul(q, skew), lax.sub(moved, matrices.typed_matmul(skew, r))


def _columns_after(x: Any, count: int) -> list[tuple[int, int, int]]:
    return [(0, 0, 0)] * (len(shape_of(x)) - 1) + [(0, count, 0)]


def _skew_part(both: Any) -> Any:
    """The skew Hermitian matrix with the lower half of the sum."""
    lower = matrices.tril(both, -1)
    skew = lax.sub(lower, matrices.conj_transpose(lower))
    # The diagonal of R is real, so the imaginary part of the sum's diagonal is Q's.
    unit = lax.expand_dims(matrices.eye(both), tuple(range(len(shape_of(both)) - 2)))
    return lax.add(skew, mul(unit, lax.sub(both, _real(both))))


def _real(x: Any) -> Any:
    """The real part, in the dtype of x."""
    return lax.convert_element_type(lax.real(x), x.dtype) if x.dtype.kind == "c" else x


matrices.on_matrices(qr_p, _qr_impl, _qr_aval, _qr_jvp)


def qr(
    x: Any, *, pivoting: bool = False, full_matrices: bool = True, use_magma: bool | None = None
) -> tuple[Array, ...]:
    """(q, r) with q r = x: q of orthonormal columns, r upper triangular.

    x has shape (..., m, n), q (..., m, k) and r (..., k, n), with k = m, or min(m, n) without
    full_matrices. With pivoting there is a third result, an integer permutation p of the columns by
    which r's diagonal does not grow: q r = x[:, p]. Raises TypeError if x is no matrix or of integers,
    NotImplementedError for floats of 16 bits."""
    params = {"pivoting": pivoting, "full_matrices": full_matrices, "use_magma": use_magma}
    return tuple(qr_p.bind(as_array(x), **params))


# ---- the reflections, and their product ----

# A reflection is I - tau v v^H. v, whose first number is 1, stands below the diagonal of `a`.
geqrf_p = Primitive("geqrf", multiple_results=True, axes="matrices 2", makes_nan=True)
householder_product_p = Primitive("householder_product", axes="matrices 2 1", makes_nan=True)
ormqr_p = Primitive("ormqr", axes="matrices 2 1 2", makes_nan=True)


def _geqrf_impl(a: np.ndarray) -> list[np.ndarray]:
    if not a.size or _is_small_stack(a):
        reflections, taus = np.linalg.qr(a, "raw")
        return [reflections.swapaxes(-1, -2), taus]
    geqrf = matrices.scipy_lapack("geqrf", a.dtype)
    work = BLOCK * a.shape[-1]
    return list(matrices.for_each_matrix(lambda x: geqrf(x, work)[:2], a))


def _geqrf_aval(a: ShapedArray) -> list[ShapedArray]:
    matrices.check_operands("geqrf", a)
    *batch, m, n = a.shape
    return [ShapedArray(a.shape, a.dtype), ShapedArray((*batch, min(m, n)), a.dtype)]


def _of_each_with_taus(fun: Any, a: np.ndarray, taus: np.ndarray, *others: np.ndarray) -> Any:
    """for_each_matrix for `fun` of a matrix, its vector of taus and further operands."""
    return matrices.for_each_matrix(
        lambda a, t, *rest: fun(a, t[0], *rest), a, taus[..., None, :], *others
    )


def _householder_impl(a: np.ndarray, taus: np.ndarray) -> np.ndarray:
    if not a.size or not taus.size:
        return np.broadcast_to(np.eye(*a.shape[-2:], dtype=a.dtype), a.shape)
    orgqr = matrices.scipy_lapack("orgqr" if a.dtype.kind == "f" else "ungqr", a.dtype)
    work = BLOCK * a.shape[-1]
    return _of_each_with_taus(lambda x, t: orgqr(x, t, work)[0], a, taus)


def _householder_aval(a: ShapedArray, taus: ShapedArray) -> ShapedArray:
    matrices.check_operands("householder_product", a)
    *batch, m, n = a.shape
    if m < n:
        raise ValueError(
            "The input to householder_product must have at least as many rows as columns, got shape "
            f"{a.shape}"
        )
    if taus.dtype != a.dtype:
        raise TypeError(
            f"householder_product requires arguments to have the same dtypes, got {a.dtype.name} and "
            f"{taus.dtype.name}"
        )
    if taus.shape[:-1] != tuple(batch) or not taus.ndim or taus.shape[-1] > n:
        raise ValueError(
            f"householder_product takes at most one tau a column: got taus of shape {taus.shape} for "
            f"matrices of shape {a.shape}"
        )
    return ShapedArray(a.shape, a.dtype)


def _ormqr_impl(
    a: np.ndarray, taus: np.ndarray, c: np.ndarray, *, left: bool, transpose: bool
) -> np.ndarray:
    real = a.dtype.kind == "f"
    ormqr = matrices.scipy_lapack("ormqr" if real else "unmqr", a.dtype)
    trans = ("T" if real else "C") if transpose else "N"

    def product(a: np.ndarray, taus: np.ndarray, c: np.ndarray) -> np.ndarray:
        side, work = "L" if left else "R", 64 * max(c.shape)
        return ormqr(side, trans, a[:, : len(taus)], taus, c, work)[0]

    return _of_each_with_taus(product, a, taus, c)


def _ormqr_aval(
    a: ShapedArray, taus: ShapedArray, c: ShapedArray, *, left: bool, transpose: bool
) -> ShapedArray:
    matrices.check_operands("ormqr", a, c)
    rows = c.shape[-2 if left else -1]
    if a.shape[-2] != rows:
        raise ValueError(
            f"ormqr: a of shape {a.shape} has reflections of {a.shape[-2]} numbers, and c of shape "
            f"{c.shape} has {rows} {'rows' if left else 'columns'}: they must be as many"
        )
    if taus.shape != (*a.shape[:-2], taus.shape[-1]) or taus.shape[-1] > a.shape[-1]:
        raise ValueError(f"ormqr: taus of shape {taus.shape} do not fit a of shape {a.shape}")
    return ShapedArray(c.shape, c.dtype)


matrices.on_matrices(geqrf_p, _geqrf_impl, _geqrf_aval)
matrices.on_matrices(householder_product_p, _householder_impl, _householder_aval)
matrices.on_matrices(ormqr_p, _ormqr_impl, _ormqr_aval)
for _primitive in (geqrf_p, householder_product_p, ormqr_p):
    no_rule_reasons[_primitive, "jvp"] = "it is a step of a QR decomposition: differentiate qr"


def householder_product(a: Any, taus: Any) -> Array:
    """The product of reflections I - tau v v^H, which is Q.

    a has shape (..., m, n), m >= n, and the vectors v in its columns below the diagonal, where they are 1;
    taus has shape (..., k), k <= n. The result has a's shape. No derivative."""
    return householder_product_p.bind(as_array(a), as_array(taus))


def ormqr(a: Any, taus: Any, c: Any, *, left: bool = True, transpose: bool = False) -> Array:
    """The product of `c` and the complete Q (or with `transpose`, Q^H) of householder_product's
    reflections.

    c has shape (..., m, n), the result too: Q c if `left`, else c Q. Q itself is never made."""
    return ormqr_p.bind(as_array(a), as_array(taus), as_array(c), left=left, transpose=transpose)
