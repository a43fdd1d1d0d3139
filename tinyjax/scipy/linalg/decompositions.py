"""Decompositions with SciPy's arguments: qr, eigh, svd, polar, schur, hessenberg.

SciPy's `overwrite_*`, `lwork` and `check_finite` are taken and change nothing.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core import dtypes
from tinyjax.core.array import Array
from tinyjax.lax import linalg
from tinyjax.lax.linalg.matrices import conj_transpose, eye, triu
from tinyjax.numpy.creation import asarray
from tinyjax.numpy.linear_algebra import matmul
from tinyjax.numpy.mapping import vectorize
from tinyjax.numpy.promotion import promote_dtypes_inexact
from tinyjax.numpy.triangles import diag
from tinyjax.numpy.ufuncs import conj
from tinyjax.transform.jit.api import jitted


def qr(
    a: Any,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> tuple[Array, ...]:
    """(q, r) with q r = a, for mode 'full' (q is square) or 'economic'; (r,) for mode 'r'.

    With pivoting there is one more result, p, and q r = a[:, p]. Raises ValueError for another mode."""
    return _qr(a, mode, bool(pivoting))


@jitted(static_argnames=("mode", "pivoting"))
def _qr(a: Any, mode: str, pivoting: bool) -> tuple[Array, ...]:
    if mode not in ("full", "r", "economic"):
        raise ValueError(
            f"Unsupported QR decomposition mode '{mode}': use 'full', 'economic' or 'r'"
        )
    (a,) = promote_dtypes_inexact(asarray(a))
    q, *rest = linalg.qr(a, pivoting=pivoting, full_matrices=mode != "economic")
    return tuple(rest) if mode == "r" else (q, *rest)


def qr_multiply(
    a: Any, c: Any, mode: str = "right", pivoting: bool = False, conjugate: bool = False,
    overwrite_a: bool = False, overwrite_c: bool = False,
) -> tuple[Array, ...]:  # fmt: skip
    """(c Q, R), or (Q c, R) for mode 'left', and p with pivoting; of the economic qr of the matrix `a`.

    A vector c is a row for 'right', a column for 'left'. `conjugate` takes Q's conjugate. Raises ValueError
    for another mode, and where c's size does not fit Q's."""
    if mode not in ("right", "left"):
        raise ValueError(f"mode must be 'right' or 'left', got {mode!r}")
    a, c = promote_dtypes_inexact(asarray(a), asarray(c))
    q, *rest = linalg.qr(a, pivoting=pivoting, full_matrices=False)
    axis, name, what = (-1, "columns", "c @ Q") if mode == "right" else (0, "rows", "Q @ c")
    wanted = q.shape[-2] if mode == "right" else q.shape[-1]
    if c.shape[axis] != wanted:
        raise ValueError(
            f"Array shapes are not compatible for {what} operation: Q has shape {q.shape}, but c has "
            f"{c.shape[axis]} {name} (expected {wanted})."
        )
    q = conj(q) if conjugate else q
    return matmul(c, q) if mode == "right" else matmul(q, c), *rest


# ---- eigh and svd ----


def eigh(
    a: Any, b: Any = None, lower: bool = True, eigvals_only: bool = False,
    overwrite_a: bool = False, overwrite_b: bool = False, turbo: bool = True, eigvals: None = None,
    type: int = 1, check_finite: bool = True,
) -> Array | tuple[Array, Array]:  # fmt: skip
    """(w, v): eigenvalues, ascending, and eigenvectors of (a + a^H) / 2; w alone for eigvals_only.

    With a positive definite `b`, those of a v = w b v (type 1), a b v = w v (2) or b a v = w v (3).
    Raises ValueError for other types and shapes, NotImplementedError for eigvals."""
    if type not in (1, 2, 3):
        raise ValueError(f"type must be 1, 2, or 3, got {type}.")
    if eigvals is not None:
        raise NotImplementedError("Only the eigvals=None case of eigh is implemented.")
    return _eigh(a, b, bool(lower), bool(eigvals_only), type)


@jitted(static_argnames=("lower", "eigvals_only", "type"))
def _eigh(a: Any, b: Any, lower: bool, eigvals_only: bool, type: int) -> Any:
    for name, x in (("a", a), ("b", b)):
        if x is not None and (np.ndim(x) < 2 or np.shape(x)[-1] != np.shape(x)[-2]):
            raise ValueError(
                f"Argument {name} to linalg.eigh must have shape [..., n, n], got {np.shape(x)}."
            )
    if b is not None:
        a, b = promote_dtypes_inexact(asarray(a), asarray(b))
        f = functools.partial(_generalized_eigh, lower=lower, eigvals_only=eigvals_only, type=type)
        outs = "(n)" if eigvals_only else "(n),(n,n)"
        return vectorize(f, signature=f"(n,n),(n,n)->{outs}")(a, b)
    (a,) = promote_dtypes_inexact(asarray(a))
    v, w = linalg.eigh(a, lower=lower)
    return w if eigvals_only else (w, v)


def _generalized_eigh(a: Any, b: Any, lower: bool, eigvals_only: bool, type: int) -> Any:
    """By b = L L^H, to which belongs a matrix that has the same eigenvalues: L^-1 a L^-H, or L^H a L."""
    factor = linalg.cholesky(b)
    a = (a + conj_transpose(a)) / 2
    solve = functools.partial(linalg.triangular_solve, factor, lower=True)
    product = functools.partial(matmul, precision=lax.Precision.HIGHEST)
    if type == 1:
        a = solve(solve(a, left_side=True), transpose_a=True, conjugate_a=True)
    else:
        a = product(product(conj_transpose(factor), a), factor)
    v, w = linalg.eigh(a, lower=lower)
    if eigvals_only:
        return w
    if type == 3:
        return w, product(factor, v)
    return w, solve(v, left_side=True, transpose_a=True, conjugate_a=True)


def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Array | tuple[Array, Array, Array]:
    """(u, s, vh) with u diag(s) vh = a, or s alone without compute_uv; as jnp.linalg.svd."""
    return _svd(a, full_matrices=bool(full_matrices), compute_uv=bool(compute_uv))


@jitted(static_argnames=("full_matrices", "compute_uv"))
def _svd(a: Any, *, full_matrices: bool, compute_uv: bool) -> Any:
    (a,) = promote_dtypes_inexact(asarray(a))
    return linalg.svd(a, full_matrices=full_matrices, compute_uv=compute_uv)


@jitted(static_argnames=("side", "method", "eps", "max_iterations"))
def polar(
    a: Any,
    side: str = "right",
    *,
    method: str = "qdwh",
    eps: float | None = None,
    max_iterations: int | None = None,
) -> tuple[Array, Array]:
    """(u, p): a = u p with side 'right', p u with 'left'; u has orthonormal columns or rows, p is positive.

    Found by svd here for both methods, 'qdwh' and 'svd' (`eps` and `max_iterations` are of the first one in
    JAX). Raises ValueError for other names, NotImplementedError for shapes that qdwh does not take."""
    a = asarray(a)
    if a.ndim < 2:
        raise ValueError(f"The input `a` must be at least a 2-D array, got shape {a.shape}.")
    if side not in ("right", "left"):
        raise ValueError(f"The argument `side` must be either 'right' or 'left', got {side!r}.")
    if method not in ("qdwh", "svd"):
        raise ValueError(f"Unknown polar decomposition method {method}: use 'qdwh' or 'svd'.")
    if not dtypes.is_inexact(a.dtype):
        raise ValueError(f"polar: dtype {a.dtype.name} is not inexact: use a.astype(float)")
    m, n = a.shape[-2:]
    if method == "qdwh" and (m < n if side == "right" else m >= n):
        raise NotImplementedError(
            f"method='qdwh' takes matrices with at least as many rows as columns for side='right', and "
            f"more columns than rows for side='left'; got {a.shape} with {side=}. method='svd' takes all"
        )
    w, s, vh = linalg.svd(a, full_matrices=False)
    basis = conj_transpose(vh) if side == "right" else w
    scaled = basis * lax.expand_dims(s, (s.ndim - 1,)).astype(a.dtype)
    return _product(w, vh), _product(scaled, conj_transpose(basis))


def _product(x: Any, y: Any) -> Any:
    return matmul(x, y, precision=lax.Precision.HIGHEST)


def eigh_tridiagonal(
    d: Any, e: Any, *, eigvals_only: bool = False, select: str = "a",
    select_range: tuple[float, float] | None = None, tol: float | None = None,
    key: Array | None = None,
) -> Array | tuple[Array, Array]:  # fmt: skip
    """(w, v): the eigenvalues and eigenvectors of a symmetric matrix by its diagonal d and the one beside, e.

    d has shape (n,), e (n - 1,). select 'i' gives those of the places select_range[0] .. [1] alone. Found by
    eigh of the whole matrix here (`tol` and `key` are of JAX's method), so that they have derivatives. Raises
    TypeError for other dtypes and shapes, ValueError for another select, NotImplementedError for 'v'."""
    d, e = asarray(d), asarray(e)
    if d.dtype != e.dtype:
        raise TypeError(
            f"diagonal and off-diagonal values must have same dtype, got {d.dtype.name} and "
            f"{e.dtype.name}"
        )
    if d.dtype.name not in ("float32", "float64", "complex64", "complex128"):
        raise TypeError(
            "Only float32 and float64 inputs, and complex ones, are supported as inputs to "
            f"jax.scipy.linalg.eigh_tridiagonal, got {d.dtype.name}"
        )
    if d.ndim != 1 or e.shape != (d.size - 1,):
        raise TypeError(
            f"eigh_tridiagonal takes d of shape (n,) and e of shape (n - 1,), got {d.shape} and {e.shape}"
        )
    first, last = _selected(d.size, select, select_range)
    if last >= d.size:
        raise TypeError(f"select_range={select_range} is beyond the {d.size} eigenvalues")
    w, v = eigh(diag(d.real.astype(d.dtype)) + diag(e, -1) + diag(conj(e), 1))
    w, v = w[first : last + 1], v[:, first : last + 1]
    return w if eigvals_only else (w, v)


def _selected(n: int, select: str, select_range: Any) -> tuple[int, int]:
    """The places of the first and of the last eigenvalue asked for."""
    if select == "a":
        return 0, n - 1
    if select == "v":
        raise NotImplementedError("eigh_tridiagonal(..., select='v') is not implemented")
    if select != "i":
        raise ValueError(f"select must have a value in {{'a', 'i', 'v'}}, got {select!r}.")
    if select_range is None:
        raise ValueError("for select='i', select_range must be specified.")
    first, last = select_range
    if first > last:
        raise ValueError(f"Got empty index range in select_range: {select_range}")
    return int(first), int(last)


# ---- Schur and Hessenberg ----


def schur(a: Any, output: str = "real") -> list[Array]:
    """[t, z] with z t z^H = a: t upper triangular, z unitary; for output 'complex' of a complex matrix.

    Of a real matrix with output 'real', t has blocks of two on its diagonal for pairs of complex
    eigenvalues. No derivative. Raises ValueError for another output, or if `a` is not square."""
    if output not in ("real", "complex"):
        raise ValueError(f"Expected 'output' to be either 'real' or 'complex', got {output=}.")
    return _schur(a, output)


@jitted(static_argnames=("output",))
def _schur(a: Any, output: str) -> Any:
    a = asarray(a)
    if output == "complex":
        a = a.astype(np.result_type(a.dtype, np.complex64))
    return linalg.schur(a)


def rsf2csf(T: Any, Z: Any, check_finite: bool = True) -> tuple[Array, Array]:  # noqa: N803
    """A real Schur form as a complex one, which is triangular: (t, z) with z t z^H = Z T Z^H.

    Each block of two is turned so that its lower left number is 0. Raises ValueError where shapes are not
    equal and square. Source: Golub and Van Loan, Matrix Computations, 7.4"""
    t, z = asarray(T), asarray(Z)
    for name, x in (("Z", z), ("T", t)):
        if x.ndim != 2 or x.shape[0] != x.shape[1]:
            raise ValueError(f"Input '{name}' must be square, got shape {x.shape}.")
    if t.shape != z.shape:
        raise ValueError(f"Input array shapes must match: Z: {z.shape} vs. T: {t.shape}")
    dtype = np.result_type(t.dtype, np.complex64)
    return _rsf2csf(t.astype(dtype), z.astype(dtype))


@jitted
def _rsf2csf(t: Any, z: Any) -> tuple[Any, Any]:
    n = t.shape[0]
    epsilon = float(dtypes.finfo(t.dtype).eps)
    places = lax.iota(np.int32, n)

    def turn(step: Any, state: Any) -> Any:
        """Rows and columns m - 1 and m."""
        t, z = state
        m = n - 1 - step
        block = lax.dynamic_slice(t, (m - 1, m - 1), (2, 2))
        off = block[1, 0]
        mu = linalg.eig(block, compute_left_eigenvectors=False, compute_right_eigenvectors=False)[0]
        first = mu[0] - block[1, 1]
        length = lax.sqrt(lax.square(lax.abs(first)) + lax.square(lax.abs(off)))
        small = lax.abs(off) <= epsilon * (lax.abs(block[0, 0]) + lax.abs(block[1, 1]))
        unit = eye(t, 2)
        c, s = first / length, off / length
        g = lax.reshape(lax.concatenate([x[None] for x in (conj(c), s, -s, c)], 0), (2, 2))
        g = lax.select(lax.broadcast(small, (2, 2)), unit, g)
        whole = lax.dynamic_update_slice(eye(t), g, (m - 1, m - 1))
        t = _product(_product(whole, t), conj_transpose(whole))
        below = (places[:, None] == m) & (places[None, :] == m - 1)
        t = lax.select(below, lax.full_like(t, 0), t)
        return t, _product(z, conj_transpose(whole))

    return lax.fori_loop(0, n - 1, turn, (t, z))


@jitted(static_argnames=("calc_q", "overwrite_a", "check_finite"))
def hessenberg(
    a: Any, *, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Array | tuple[Array, Array]:
    """The Hessenberg form h, with zeros below the first subdiagonal; with calc_q also q: q h q^H = a.

    No derivative. Raises ValueError if `a` is not square, TypeError for integers."""
    packed, taus = linalg.hessenberg(asarray(a))
    h = triu(packed, -1)
    if not calc_q:
        return h
    inner = linalg.householder_product(packed[..., 1:, :-1], taus)
    config = [(0, 0, 0)] * (packed.ndim - 2) + [(1, 0, 0), (1, 0, 0)]
    corner = np.zeros(packed.shape[-2:], packed.dtype)
    corner[:1, :1] = 1
    return h, lax.pad(inner, np.zeros((), packed.dtype), config) + corner
