"""eigh: the eigenvalues and eigenvectors of a symmetric (or Hermitian) matrix.

With V^H dA V, the eigenvalues move by its diagonal, and each vector towards the others by its off-diagonal,
divided by the distance of their eigenvalues. So the vectors have no derivative where two eigenvalues are
equal: NaN or inf.

Source: M. Giles, "An extended collection of matrix derivative results for forward and reverse mode
algorithmic differentiation", 3.1, https://people.maths.ox.ac.uk/gilesm/files/NA-08-01.pdf
"""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core.array import Array, ShapedArray
from tinyjax.core.bind import Primitive
from tinyjax.core.primitives import mul
from tinyjax.lax.elementwise import real_dtype
from tinyjax.lax.linalg import matrices
from tinyjax.lax.linalg.spectra import diagonal, one_over_gaps


class EighImplementation(enum.Enum):
    """Which algorithm JAX uses; on a CPU it is LAPACK's QR."""

    QR = "qr"
    JACOBI = "jacobi"
    QDWH = "qdwh"


eigh_p = Primitive("eigh", multiple_results=True, axes="matrices 2", makes_nan=True)


def _eigh_impl(x: np.ndarray, *, lower: bool, **_: Any) -> list[np.ndarray]:
    w, v = matrices.by_numpy("eigh_lo" if lower else "eigh_up", x)
    return [v, w]


def _eigh_aval(
    x: ShapedArray, *, subset_by_index: tuple[int, int] | None, algorithm: Any, **_: Any
) -> list[ShapedArray]:
    matrices.check_operands("eigh", x)
    matrices.check_square("eigh", x)
    if subset_by_index not in (None, (0, x.shape[-1])):
        raise NotImplementedError("eigh: subset_by_index is not supported on CPUs; leave it None")
    if algorithm not in (None, EighImplementation.QR):
        raise NotImplementedError(
            f"eigh: the {algorithm.name} implementation is not supported on CPUs: use QR, or None"
        )
    return [ShapedArray(x.shape, x.dtype), ShapedArray(x.shape[:-1], real_dtype(x.dtype))]


def _eigh_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    (x,), (x_dot,) = primals, tangents
    v, w = eigh_p.bind(matrices.symmetrized(x), **params)
    factors = one_over_gaps(lax.convert_element_type(w, x.dtype))
    moved = matrices.matmul(matrices.matmul(matrices.conj_transpose(v), x_dot), v)
    v_dot = matrices.matmul(v, mul(factors, moved))
    w_dot = diagonal(lax.real(moved) if moved.dtype.kind == "c" else moved)
    return [v, w], [v_dot, w_dot]


matrices.on_matrices(eigh_p, _eigh_impl, _eigh_aval, _eigh_jvp)


def eigh(
    x: Any,
    *,
    lower: bool = True,
    symmetrize_input: bool = True,
    sort_eigenvalues: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    implementation: EighImplementation | None = None,
) -> tuple[Array, Array]:
    """(v, w) with x v = v w: eigenvectors as columns of length 1, and eigenvalues, ascending.

    x has shape (..., n, n). With `symmetrize_input`, of (x + x^H) / 2; else only the lower (or upper)
    triangle is read. On a CPU eigenvalues are sorted in any case. Raises TypeError or ValueError where x is
    no square matrix, NotImplementedError for options that CPUs don't have."""
    x = matrices.as_inexact(x)
    matrices.check_matrices("The input to linalg.eigh", x)
    if symmetrize_input:
        x = matrices.symmetrized(x)
    v, w = eigh_p.bind(
        x,
        lower=lower,
        sort_eigenvalues=sort_eigenvalues,
        subset_by_index=subset_by_index,
        algorithm=implementation,
    )
    return v, w
