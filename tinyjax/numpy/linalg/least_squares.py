"""Functions that use singular values: pinv, lstsq, matrix_rank, cond.

Source, for the derivative of pinv: G. Golub and V. Pereyra, "The differentiation of pseudo-inverses and
nonlinear least squares problems whose variables separate" (1973)
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core import dtypes
from tinyjax.core.array import Array
from tinyjax.lax.elementwise import real_dtype
from tinyjax.lax.linalg.matrices import conj_transpose, matrix_transpose
from tinyjax.numpy import linear_algebra, reductions
from tinyjax.numpy.choosing import where
from tinyjax.numpy.creation import array, asarray, zeros
from tinyjax.numpy.linalg.decompositions import svd
from tinyjax.numpy.linalg.norms_and_products import norm
from tinyjax.numpy.linalg.solving import inv
from tinyjax.numpy.logic import isnan
from tinyjax.numpy.promotion import promote_dtypes_inexact
from tinyjax.numpy.util import constant, ensure_arraylike
from tinyjax.transform.custom.forward_rules import custom_jvp
from tinyjax.transform.jit.api import jitted

_matmul = functools.partial(linear_algebra.matmul, precision=lax.Precision.HIGHEST)


def _epsilon(x: Any) -> Any:
    """The distance from 1 to the next number of x's (real) dtype, as an array of that dtype."""
    return constant(dtypes.finfo(x.dtype).eps, real_dtype(x.dtype))


# ---- pinv ----


def pinv(a: Any, rtol: Any = None, hermitian: bool = False, *, rcond: Any = None) -> Array:
    """The pseudo-inverse (Moore and Penrose's) of matrices (..., m, n): shape (..., n, m).

    Singular values up to `rtol` times the largest one count as zero; by default rtol is 10 max(m, n) times
    the dtype's spacing. `rcond` is its old name. As numpy.linalg.pinv. Raises ValueError if both are
    given, or `a` is no matrix."""
    if rcond is not None:
        if rtol is not None:
            raise ValueError("pinv: only one of rtol and rcond may be specified.")
        rtol = rcond
    (a,) = promote_dtypes_inexact(ensure_arraylike("jnp.linalg.pinv", a))
    if a.ndim < 2:
        raise ValueError(f"pinv takes matrices, and got an array of shape {a.shape}")
    return _pinv(a, rtol, hermitian)


def _pinv_by_svd(a: Any, rtol: Any, hermitian: bool) -> Any:
    m, n = a.shape[-2:]
    if m == 0 or n == 0:
        return zeros((*a.shape[:-2], n, m), a.dtype)
    rtol = 10.0 * max(m, n) * _epsilon(a) if rtol is None else asarray(rtol)
    u, s, vh = svd(a, full_matrices=False, hermitian=hermitian)
    s = where(s > rtol[..., None] * s[..., :1], s, np.inf).astype(u.dtype)
    out = _matmul(matrix_transpose(vh), matrix_transpose(u) / s[..., None])
    return lax.conj(out) if out.dtype.kind == "c" else out


_pinv_by_svd.__name__ = "_pinv"  # what jaxprs say
_pinv = custom_jvp(jitted(_pinv_by_svd, static_argnames=("hermitian",)), nondiff_argnums=(1, 2))


@_pinv.defjvp
def _pinv_jvp(rtol: Any, hermitian: bool, primals: Any, tangents: Any) -> tuple[Any, Any]:
    """dP = -P dA P + P P^H dA^H (I - A P) + (I - P A) dA^H P^H P: Golub and Pereyra, (4.12)."""
    (a,), (a_dot,) = primals, tangents
    p = _pinv(a, rtol, hermitian)
    left = _matmul(_matmul(p, conj_transpose(p)), conj_transpose(a_dot))
    right = _matmul(_matmul(conj_transpose(a_dot), conj_transpose(p)), p)
    p_dot = _matmul(-_matmul(p, a_dot), p) + left
    p_dot = p_dot - _matmul(_matmul(left, a), p)
    return p, p_dot + right - _matmul(_matmul(p, a), right)


# ---- lstsq ----


def lstsq(
    a: Any, b: Any, rcond: float | None = None, *, numpy_resid: bool = False
) -> tuple[Array, Array, Array, Array]:
    """(x, residuals, rank, s): the shortest x for which |a x - b| is least, for each column of b.

    a has shape (m, n), b (m,) or (m, k), x (n,) or (n, k); s are a's singular values, of which those below
    `rcond` times the largest one count as zero. With numpy_resid there are residuals only where NumPy has
    some: for m > n and full rank. As numpy.linalg.lstsq. Raises TypeError for other ranks, ValueError if
    a and b have different numbers of rows."""
    a, b = promote_dtypes_inexact(*ensure_arraylike("jnp.linalg.lstsq", a, b))
    if a.shape[:1] != b.shape[:1]:
        raise ValueError(
            f"Leading dimensions of input arrays must match: lstsq got a of shape {a.shape} and b of "
            f"shape {b.shape}"
        )
    if a.ndim != 2:
        raise TypeError(f"{a.ndim}-dimensional array given. Array must be two-dimensional")
    if b.ndim not in (1, 2):
        raise TypeError(f"{b.ndim}-dimensional array given. Array must be one or two-dimensional")
    x, residuals, rank, s = _lstsq(a, b, rcond, numpy_resid=numpy_resid)
    m, n = a.shape
    if numpy_resid and (m <= n or int(rank) < n):
        residuals = zeros((0,), residuals.dtype)
    return x, residuals, rank, s


def _least_squares(a: Any, b: Any, rcond: Any, *, numpy_resid: bool) -> tuple[Any, ...]:
    columns = b[:, None] if b.ndim == 1 else b
    m, n = a.shape
    if a.size == 0:
        s, rank = zeros((0,), a.dtype), zeros((), int)
        x = zeros((n, *columns.shape[1:]), a.dtype)
    else:
        if rcond is None:
            rcond = float(dtypes.finfo(a.dtype).eps) * max(m, n)
        else:
            rcond = asarray(rcond)
            rcond = where(rcond < 0, _epsilon(a), rcond)
        u, s, vh = svd(a, full_matrices=False)
        counts = (s > 0) & (s >= array(rcond, s.dtype) * s[0])
        rank = reductions.sum(counts)
        inverse = where(counts, 1 / where(counts, s, 1).astype(a.dtype), 0)[:, None]
        projected = _matmul(conj_transpose(u), columns)
        x = _matmul(conj_transpose(vh), inverse * projected)
    residuals = norm(columns - _matmul(a, x), axis=0) ** 2
    return x.reshape(n) if b.ndim == 1 else x, residuals, rank, s


_least_squares.__name__ = "_lstsq"
_lstsq = jitted(_least_squares, static_argnames=("numpy_resid",))


# ---- numbers about a matrix ----


@jitted(static_argnames=("hermitian",))
def matrix_rank(M: Any, rtol: Any = None, *, hermitian: bool = False, tol: Any = None) -> Array:  # noqa: N803
    """How many singular values are above a threshold, `rtol`; as numpy.linalg.matrix_rank.

    By default the threshold is the largest singular value times max(m, n) times the dtype's spacing. As
    in JAX, a given rtol is compared with the values themselves; `tol` is its old name. Raises ValueError
    if both are given."""
    M = ensure_arraylike("jnp.linalg.matrix_rank", M)
    if tol is not None and rtol is not None:
        raise ValueError("matrix_rank: only one of tol or rtol may be specified.")
    rtol = tol if rtol is None else rtol
    (M,) = promote_dtypes_inexact(M)
    if M.ndim < 2:
        return reductions.any(M != 0).astype(int)
    s = svd(M, full_matrices=False, hermitian=hermitian, compute_uv=False)
    if rtol is None:
        rtol = reductions.max(s, axis=-1) * float(max(M.shape[-2:])) * _epsilon(M)
    return reductions.sum(s > asarray(rtol)[..., None], axis=-1)


@jitted(static_argnames=("p",))
def cond(x: Any, p: Any = None) -> Array:
    """The condition number of matrices: the norm of x times that of its inverse; as numpy.linalg.cond.

    By default (and p=2) the largest singular value by the smallest one, for p=-2 the other way round; for
    others p is norm's `ord`, and x must be square. Raises ValueError where it is not, or empty."""
    x = ensure_arraylike("jnp.linalg.cond", x)
    if x.ndim < 2:
        raise ValueError(
            f"jnp.linalg.cond: input array must be at least 2D; got arr.shape={x.shape}"
        )
    if x.shape[-1] == 0 or x.shape[-2] == 0:
        raise ValueError(f"jnp.linalg.cond: input array must not be empty; got arr.shape={x.shape}")
    if p in (None, 2, -2):
        s = svd(x, compute_uv=False)
        out = s[..., 0] / s[..., -1] if p != -2 else s[..., -1] / s[..., 0]
    elif x.shape[-1] != x.shape[-2]:
        raise ValueError(
            f"jnp.linalg.cond: for {p=}, array must be square; got arr.shape={x.shape}"
        )
    else:
        out = norm(x, ord=p, axis=(-2, -1)) * norm(inv(x), ord=p, axis=(-2, -1))
    # The inverse of a singular matrix is NaN, but its condition is inf.
    return where(isnan(out) & ~reductions.any(isnan(x), axis=(-2, -1)), np.inf, out)
