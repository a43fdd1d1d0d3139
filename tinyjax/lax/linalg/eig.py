"""eig: the eigenvalues and eigenvectors of any square matrix, which are complex.

The eigenvalues' derivative is the diagonal of V^-1 dA V. A vector's depends on how its length and phase are
fixed, too.

Sources: C. Boeddeker et al., "On the computation of complex-valued gradients with application to
statistically optimum beamforming", 4, https://arxiv.org/abs/1701.00392, and
https://docs.jax.dev/en/latest/_autosummary/jax.lax.linalg.eig.html, for how LAPACK normalises
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core.array import Array, ShapedArray
from tinyjax.core.bind import Primitive, as_array
from tinyjax.core.primitives import mul, shape_of
from tinyjax.lax.linalg import matrices
from tinyjax.lax.linalg.spectra import diagonal, one_over_gaps
from tinyjax.lax.linalg.systems import solve


class EigImplementation(enum.Enum):
    """Which library JAX uses; on a CPU it is LAPACK."""

    CUSOLVER = "cusolver"
    MAGMA = "magma"
    LAPACK = "lapack"


eig_p = Primitive("eig", multiple_results=True, axes="matrices 2", makes_nan=True)


def _eig_impl(
    x: np.ndarray, *, compute_left_eigenvectors: bool, compute_right_eigenvectors: bool, **_: Any
) -> list[np.ndarray]:
    """All results are NaN for a matrix that is not finite, or for which LAPACK fails."""
    from scipy.linalg import get_lapack_funcs

    dtype = np.result_type(x.dtype, np.complex64)
    asked = compute_left_eigenvectors, compute_right_eigenvectors
    geev, geev_lwork = get_lapack_funcs(("geev", "geev_lwork"), (x,))
    space = int(geev_lwork(max(x.shape[-1], 1), *asked)[0].real)

    def eig(x: np.ndarray) -> tuple[np.ndarray, ...]:
        if x.size and np.isfinite(x).all():
            *w, left, right, info = geev(x, *asked, space)
            if not info:
                vectors = [v for v, is_asked in zip((left, right), asked) if is_asked]
                return (*w, *vectors) if len(w) == 1 else _complex_pairs(w[0], w[1], vectors)
        shapes = [x.shape[-1:]] + [x.shape] * sum(asked)
        return tuple(np.full(shape, complex(np.nan, np.nan), dtype) for shape in shapes)

    return list(matrices.for_each_matrix(eig, x))


def _complex_pairs(
    real: np.ndarray, imag: np.ndarray, vectors: Sequence[np.ndarray]
) -> tuple[np.ndarray, ...]:
    """Complex eigenvalues and vectors from LAPACK's results for real matrices. For two conjugate eigenvalues
    (the one above the real axis first) LAPACK returns v and w; the vectors are v + i w and v - i w."""
    first = np.flatnonzero(imag > 0)
    outs = [real + 1j * imag]
    for v in vectors:
        out = v.astype(outs[0].dtype)
        out[:, first] = v[:, first] + 1j * v[:, first + 1]
        out[:, first + 1] = np.conj(out[:, first])
        outs.append(out)
    return tuple(outs)


def _eig_aval(
    x: ShapedArray,
    *,
    compute_left_eigenvectors: bool,
    compute_right_eigenvectors: bool,
    enable_eigvec_derivs: bool,
    implementation: EigImplementation | None,
) -> list[ShapedArray]:
    matrices.check_operands("eig", x)
    matrices.check_square("eig", x)
    if implementation not in (None, EigImplementation.LAPACK):
        raise ValueError("Only the lapack implementation of eig is supported on CPU.")
    dtype = np.result_type(x.dtype, np.complex64)
    count = compute_left_eigenvectors + compute_right_eigenvectors
    return [ShapedArray(x.shape[:-1], dtype)] + [ShapedArray(x.shape, dtype)] * count


def _eig_jvp(
    primals: Any,
    tangents: Any,
    *,
    compute_left_eigenvectors: bool,
    compute_right_eigenvectors: bool,
    enable_eigvec_derivs: bool,
    **params: Any,
) -> Any:
    (a,), (a_dot,) = primals, tangents
    if (compute_left_eigenvectors or compute_right_eigenvectors) and not enable_eigvec_derivs:
        raise NotImplementedError(
            "eig: derivatives of non-symmetric eigenvectors are right only if all eigenvalues are "
            "distinct, and no vector has two largest components, which can't be checked here. If you know "
            "that it is so, pass enable_eigvec_derivs=True to jax.lax.linalg.eig. Eigenvalues alone "
            "(jnp.linalg.eigvals), and eigh, have derivatives"
        )
    params |= {"enable_eigvec_derivs": enable_eigvec_derivs}
    w, *left, right = eig_p.bind(
        a,
        compute_left_eigenvectors=compute_left_eigenvectors,
        compute_right_eigenvectors=True,
        **params,
    )
    a_dot = lax.convert_element_type(a_dot, w.dtype)
    moved = _in_basis(right, a_dot)
    outs, dots = [w], [diagonal(moved)]
    if compute_left_eigenvectors:
        moved_left = _in_basis(left[0], matrices.conj_transpose(a_dot))
        outs.append(left[0])
        dots.append(_vectors_dot(lax.conj(w), left[0], moved_left))
    if compute_right_eigenvectors:
        outs.append(right)
        dots.append(_vectors_dot(w, right, moved))
    return outs, dots


def _in_basis(v: Any, a: Any) -> Any:
    """V^-1 A V."""
    return matrices.matmul(solve(v, a), v)


def _vectors_dot(w: Any, v: Any, moved: Any) -> Any:
    """The vectors' tangents: the part along the other vectors, then corrections that keep the length 1
    and the largest component real."""
    v_dot = matrices.matmul(v, mul(one_over_gaps(w), moved))
    axis = len(shape_of(v)) - 2
    sizes = lax.abs(v)
    largest = lax.argmax(sizes, axis, np.int32)
    rows = lax.broadcasted_iota(np.int32, shape_of(v), axis)
    is_largest = lax.eq(rows, _over_rows(largest, v))
    picked = lax.select(is_largest, v_dot, lax.full_like(v_dot, 0))
    component = lax.select(is_largest, lax.real(v), lax.full_like(sizes, 0))
    longer = lax.real(lax.reduce_sum(mul(lax.conj(v), v_dot), (axis,)))
    turned = lax.div(lax.imag(lax.reduce_sum(picked, (axis,))), lax.reduce_sum(component, (axis,)))
    correction = lax.complex(lax.neg(longer), lax.neg(turned))
    return lax.add(v_dot, mul(v, _over_rows(correction, v)))


def _over_rows(x: Any, like: Any) -> Any:
    """Repeats a number for each column over the column's elements."""
    shape = shape_of(like)
    return lax.broadcast_in_dim(x, shape, (*range(len(shape) - 2), len(shape) - 1))


matrices.on_matrices(eig_p, _eig_impl, _eig_aval, _eig_jvp)


def eig(
    x: Any,
    *,
    compute_left_eigenvectors: bool = True,
    compute_right_eigenvectors: bool = True,
    enable_eigvec_derivs: bool = False,
    implementation: EigImplementation | None = None,
    use_magma: bool | None = None,
) -> list[Array]:
    """[w, vl, vr]: eigenvalues, and left and right eigenvectors, if requested.

    x has shape (..., n, n); x vr = vr w and vl^H x = w vl^H, column by column. All are complex. Vectors
    have length 1 and a largest component that is real. Where LAPACK fails (NaN, inf), all is NaN.
    Eigenvalues have derivatives; vectors with enable_eigvec_derivs, which is right where eigenvalues are
    distinct. Raises ValueError if x is not square, TypeError for integers."""
    return eig_p.bind(
        as_array(x),
        compute_left_eigenvectors=compute_left_eigenvectors,
        compute_right_eigenvectors=compute_right_eigenvectors,
        enable_eigvec_derivs=enable_eigvec_derivs,
        implementation=implementation,
    )
