"""schur and hessenberg: a square matrix made upper triangular, or nearly, by an orthogonal change of basis.

Reflections make it Hessenberg (zeros below the diagonal's neighbours), and QR steps make of that the Schur
form, whose diagonal has the eigenvalues. Neither has a derivative.

Source: Golub and Van Loan, Matrix Computations, 7.4 (Hessenberg), 7.5 (the QR algorithm)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tinyjax.core.array import Array, ShapedArray
from tinyjax.core.bind import Primitive, as_array, no_rule_reasons
from tinyjax.lax.linalg import matrices

schur_p = Primitive("schur", multiple_results=True, axes="matrices 2", makes_nan=True)
hessenberg_p = Primitive("hessenberg", multiple_results=True, axes="matrices 2", makes_nan=True)


def _schur_impl(
    x: np.ndarray, *, compute_schur_vectors: bool, sort_eig_vals: bool, select_callable: Any
) -> list[np.ndarray]:
    import scipy.linalg

    def schur(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if not np.isfinite(x).all() or not x.size:
            return np.full_like(x, np.nan), np.full_like(x, np.nan)
        return scipy.linalg.schur(x, output="real")  # complex matrices have a complex form

    t, z = matrices.for_each_matrix(schur, x)
    return [t, z] if compute_schur_vectors else [t]


def _schur_aval(
    x: ShapedArray, *, compute_schur_vectors: bool, sort_eig_vals: bool, select_callable: Any
) -> list[ShapedArray]:
    matrices.check_operands("schur", x)
    matrices.check_square("schur", x)
    if sort_eig_vals:
        raise NotImplementedError("schur: sorting eigenvalues is not implemented, here and in JAX")
    return [ShapedArray(x.shape, x.dtype)] * (1 + compute_schur_vectors)


def _hessenberg_impl(x: np.ndarray) -> list[np.ndarray]:
    from scipy.linalg import get_lapack_funcs

    def hessenberg(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if len(x) < 2:
            return x, np.zeros(0, x.dtype)
        (gehrd,) = get_lapack_funcs(("gehrd",), (x,))
        return gehrd(x)[:2]

    return list(matrices.for_each_matrix(hessenberg, x))


def _hessenberg_aval(x: ShapedArray) -> list[ShapedArray]:
    matrices.check_operands("hessenberg", x)
    if x.shape[-1] != x.shape[-2]:
        raise ValueError(
            f"Argument to Hessenberg reduction must have shape [..., n, n], got shape {x.shape}"
        )
    taus = (*x.shape[:-2], max(0, x.shape[-1] - 1))
    return [ShapedArray(x.shape, x.dtype), ShapedArray(taus, x.dtype)]


matrices.on_matrices(schur_p, _schur_impl, _schur_aval)
matrices.on_matrices(hessenberg_p, _hessenberg_impl, _hessenberg_aval)
for _primitive in (schur_p, hessenberg_p):
    no_rule_reasons[_primitive, "jvp"] = (
        "JAX has none either: of eigenvalues, eigvals has derivatives"
    )


def schur(
    x: Any,
    *,
    compute_schur_vectors: bool = True,
    sort_eig_vals: bool = False,
    select_callable: Callable[..., Any] | None = None,
) -> list[Array]:
    """[t, z] with z t z^H = x: t upper triangular, z unitary; [t] without compute_schur_vectors.

    x has shape (..., n, n). Of a real matrix both are real, and t has a block of two rows and columns on
    its diagonal for each pair of complex eigenvalues. NaN for a matrix that is not finite. No derivative.
    Raises ValueError if x is not square."""
    return schur_p.bind(
        as_array(x),
        compute_schur_vectors=compute_schur_vectors,
        sort_eig_vals=sort_eig_vals,
        select_callable=select_callable,
    )


def hessenberg(a: Any) -> list[Array]:
    """[h, taus] of matrices (..., n, n): on and above the first subdiagonal h is the Hessenberg form.

    Below it are the reflections: householder_product(h[1:, :-1], taus) is their product; taus has shape
    (..., n - 1). No derivative. Raises ValueError if `a` is not square."""
    return hessenberg_p.bind(as_array(a))
