"""Decompositions of matrices as jnp.linalg has them: qr, eigh, eig, svd."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tinyjax import lax
from tinyjax.core.array import Array
from tinyjax.lax import linalg
from tinyjax.lax.linalg.matrices import check_matrices, conj_transpose, matrix_transpose
from tinyjax.lax.linalg.qr import geqrf_p
from tinyjax.numpy.promotion import promote_dtypes_inexact
from tinyjax.numpy.taking import take_along_axis
from tinyjax.numpy.util import ensure_arraylike
from tinyjax.transform.jit.api import jitted

# ---- qr ----


class QRResult(NamedTuple):
    """Q, of orthonormal columns, and R, upper triangular."""

    Q: Array
    R: Array


@jitted(static_argnames=("mode",))
def qr(a: Any, mode: str = "reduced") -> Array | QRResult:
    """Q and R with Q R = a, of shapes (..., m, k) and (..., k, n); as numpy.linalg.qr.

    k is min(m, n) for modes 'reduced' and 'full', m for 'complete'; mode 'r' gives R alone, 'raw' the
    reflections and taus that LAPACK makes, transposed. Raises ValueError for another mode, TypeError where
    `a` is no matrix."""
    (a,) = promote_dtypes_inexact(ensure_arraylike("jnp.linalg.qr", a))
    if mode == "raw":
        reflections, taus = geqrf_p.bind(a)
        return QRResult(matrix_transpose(reflections), taus)
    if mode not in ("reduced", "r", "complete", "full"):
        raise ValueError(
            f"Unsupported QR decomposition mode '{mode}': use 'reduced', 'complete', 'r' or 'raw'"
        )
    q, r = linalg.qr(a, full_matrices=mode == "complete")
    return r if mode == "r" else QRResult(q, r)


# ---- symmetric matrices ----


class EighResult(NamedTuple):
    """Eigenvalues, ascending, and eigenvectors, as columns."""

    eigenvalues: Array
    eigenvectors: Array


@jitted(static_argnames=("UPLO", "symmetrize_input"))
def eigh(a: Any, UPLO: str | None = None, symmetrize_input: bool = True) -> EighResult:
    """The eigenvalues and eigenvectors of symmetric or Hermitian matrices; as numpy.linalg.eigh.

    Decomposes (a + a^H) / 2. Without symmetrize_input, reads only the lower triangle (the upper one for
    UPLO 'U'). Raises ValueError for another UPLO, and where `a` is no square matrix."""
    a = ensure_arraylike("jnp.linalg.eigh", a)
    if UPLO not in (None, "L", "U"):
        raise ValueError(f"UPLO must be one of None, 'L', or 'U', got {UPLO}")
    (a,) = promote_dtypes_inexact(a)
    check_matrices("Argument to linalg.eigh", a)
    v, w = linalg.eigh(a, lower=UPLO != "U", symmetrize_input=symmetrize_input)
    return EighResult(w, v)


@jitted(static_argnames=("UPLO", "symmetrize_input"))
def eigvalsh(a: Any, UPLO: str | None = "L", *, symmetrize_input: bool = True) -> Array:
    """The eigenvalues that eigh gives; as numpy.linalg.eigvalsh."""
    a = ensure_arraylike("jnp.linalg.eigvalsh", a)
    return eigh(a, UPLO, symmetrize_input=symmetrize_input).eigenvalues


# ---- any square matrix ----


class EigResult(NamedTuple):
    """Eigenvalues in no particular order, and eigenvectors, as columns."""

    eigenvalues: Array
    eigenvectors: Array


def eig(a: Any) -> EigResult:
    """The eigenvalues and (right) eigenvectors of any square matrices, complex; as numpy.linalg.eig.

    The vectors have no derivative: lax.linalg.eig says more. Raises ValueError if `a` is not square."""
    (a,) = promote_dtypes_inexact(ensure_arraylike("jnp.linalg.eig", a))
    return EigResult(*linalg.eig(a, compute_left_eigenvectors=False))


@jitted
def eigvals(a: Any) -> Array:
    """The eigenvalues of any square matrices, complex; as numpy.linalg.eigvals."""
    (a,) = promote_dtypes_inexact(ensure_arraylike("jnp.linalg.eigvals", a))
    return linalg.eig(a, compute_left_eigenvectors=False, compute_right_eigenvectors=False)[0]


# ---- singular values ----


class SVDResult(NamedTuple):
    """U, singular values S, descending, and V^H."""

    U: Array
    S: Array
    Vh: Array


@jitted(static_argnames=("full_matrices", "compute_uv", "hermitian", "subset_by_index"))
def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Array | SVDResult:
    """(U, S, V^H) with U diag(S) V^H = a, or S alone without compute_uv; as numpy.linalg.svd.

    With full_matrices U and V are square (and have no derivative, unless `a` is square). With `hermitian`,
    `a` must be Hermitian, and eigh computes it. Raises TypeError where `a` is not a matrix."""
    (a,) = promote_dtypes_inexact(ensure_arraylike("jnp.linalg.svd", a))
    if hermitian:
        return _svd_by_eigh(a, compute_uv)
    out: Any = linalg.svd(
        a, full_matrices=full_matrices, compute_uv=compute_uv, subset_by_index=subset_by_index
    )
    return SVDResult(*out) if compute_uv else out


def _svd_by_eigh(a: Any, compute_uv: bool) -> Any:
    """The singular values are the absolute eigenvalues in descending order; the signs go to U."""
    v, w = linalg.eigh(a)
    s = lax.abs(w)
    if not compute_uv:
        return lax.rev(lax.sort(s), (w.ndim - 1,))
    signs = lax.sign(w)
    places = lax.broadcasted_iota(np.uint32, w.shape, w.ndim - 1)
    s, places, signs = [lax.rev(x, (w.ndim - 1,)) for x in lax.sort((s, places, signs), num_keys=1)]
    u = take_along_axis(v, places[..., None, :], axis=-1)
    return SVDResult(u, s, conj_transpose(u * signs[..., None, :].astype(a.dtype)))


def svdvals(x: Any, /) -> Array:
    """The singular values, descending; as numpy.linalg.svdvals."""
    return svd(ensure_arraylike("jnp.linalg.svdvals", x), compute_uv=False)
