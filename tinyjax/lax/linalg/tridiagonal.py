"""Tridiagonal matrices: reducing symmetric matrices to them by reflections, and solving their systems.

Such a system costs one pass down and one up. Its derivative solves again, and its transpose is such a system
too, with the side diagonals changed over.

Source: Golub and Van Loan, Matrix Computations, 8.3 (tridiagonalization), 4.3 (band systems)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core.array import Array, ShapedArray
from tinyjax.core.bind import Primitive, as_array, no_rule_reasons
from tinyjax.core.primitives import mul, shape_of
from tinyjax.lax.elementwise import real_dtype
from tinyjax.lax.linalg import matrices
from tinyjax.transform.jvp import Zero, instantiate_zeros, zero_tangent
from tinyjax.transform.transposition import require_known, transpose_rules

# ---- tridiagonal ----

tridiagonal_p = Primitive("tridiagonal", multiple_results=True, axes="matrices 2", makes_nan=True)


def _tridiagonal_impl(a: np.ndarray, *, lower: bool) -> list[np.ndarray]:
    sytrd = matrices.scipy_lapack("sytrd" if a.dtype.kind == "f" else "hetrd", a.dtype)
    return list(matrices.for_each_matrix(lambda x: sytrd(x, lower=lower)[:4], a))


def _tridiagonal_aval(a: ShapedArray, *, lower: bool) -> list[ShapedArray]:
    matrices.check_operands("tridiagonal", a)
    matrices.check_square("tridiagonal", a)
    *batch, n, _ = a.shape
    if n == 0:
        raise TypeError(f"The input to tridiagonal must not be empty. Got shape {a.shape}.")
    real = real_dtype(a.dtype)
    sides = (*batch, n - 1)
    diagonals = [ShapedArray((*batch, n), real), ShapedArray(sides, real)]
    return [ShapedArray(a.shape, a.dtype), *diagonals, ShapedArray(sides, a.dtype)]


matrices.on_matrices(tridiagonal_p, _tridiagonal_impl, _tridiagonal_aval)
no_rule_reasons[tridiagonal_p, "jvp"] = "it is a step of eigh: differentiate that"


def tridiagonal(a: Any, *, lower: bool = True) -> list[Array]:
    """[packed, d, e, taus]: diagonal d and side diagonal e of Q^H a Q, for symmetric or Hermitian `a`.

    a has shape (..., n, n), d (..., n), e and taus (..., n - 1). Q's reflections are in `packed`, beside the
    diagonals: below with `lower`, which reads the lower triangle of `a`. No derivative."""
    return tridiagonal_p.bind(as_array(a), lower=lower)


# ---- tridiagonal_solve ----

tridiagonal_solve_p = Primitive("tridiagonal_solve", axes="matrices 1 1 1 2", makes_nan=True)


def _solve_impl(
    dl: np.ndarray, d: np.ndarray, du: np.ndarray, b: np.ndarray, *, perturb_singular: bool
) -> np.ndarray:
    if not b.size:
        return b
    gtsv = matrices.scipy_lapack("gtsv", b.dtype)

    def solve(diagonals: np.ndarray, b: np.ndarray) -> np.ndarray:
        dl, d, du = diagonals
        if len(d) == 1:
            return b / np.where(d == 0, np.nan, d)
        *_, x, info = gtsv(dl[1:], d, du[:-1], b)
        return np.full_like(b, np.nan) if info else x

    return matrices.for_each_matrix(solve, np.stack([dl, d, du], axis=-2), b)


def _solve_aval(
    dl: ShapedArray, d: ShapedArray, du: ShapedArray, b: ShapedArray, *, perturb_singular: bool
) -> ShapedArray:
    if perturb_singular:
        raise NotImplementedError(
            "tridiagonal_solve: perturb_singular=True is not here: singular systems give NaN"
        )
    if b.ndim < 2:
        raise TypeError(
            f"Input 3 to tridiagonal_solve must have rank at least 2, but got shape={b.shape}: a vector "
            "is b[:, None]"
        )
    if len({x.dtype for x in (dl, d, du, b)}) > 1:
        listed = ", ".join(x.dtype.name for x in (dl, d, du, b))
        raise TypeError(
            f"tridiagonal_solve requires arguments to have the same dtypes, got {listed}."
        )
    matrices.check_operands("tridiagonal_solve", b)
    if dl.shape != d.shape or du.shape != d.shape:
        raise TypeError(
            "tridiagonal_solve requires that all diagonal arguments have the same shape, got "
            f"{dl.shape}, {d.shape} and {du.shape}: dl[0] and du[-1] are there, and not used"
        )
    if b.shape[:-1] != d.shape:
        raise TypeError(
            "tridiagonal_solve requires that the leading ndim-1 dimensions of b equal the dimensions of "
            f"the diagonal arguments, got {b.shape} and {d.shape}"
        )
    return ShapedArray(b.shape, b.dtype)


def _shifted(x: Any, by: int, axis: int) -> Any:
    """`x` shifted along the axis, filled with zeros."""
    config = [(0, 0, 0)] * len(shape_of(x))
    config[axis] = (by, -by, 0)
    return lax.pad(x, np.zeros((), x.dtype), config)


def _product(dl: Any, d: Any, du: Any, x: Any) -> Any:
    """The tridiagonal matrices times x."""
    axis = len(shape_of(x)) - 2
    dl, d, du = [lax.broadcast_in_dim(part, shape_of(x), range(axis + 1)) for part in (dl, d, du)]
    sides = lax.add(mul(dl, _shifted(x, 1, axis)), mul(du, _shifted(x, -1, axis)))
    return lax.add(mul(d, x), sides)


def _solve_jvp(primals: Any, tangents: Any, **params: Any) -> tuple[Any, Any]:
    """A dx = db - dA x."""
    *diagonals, b = primals
    x = tridiagonal_solve_p.bind(*primals, **params)
    *moved, b_dot = tangents
    if all(type(t) is Zero for t in tangents):
        return x, zero_tangent(x)
    b_dot = instantiate_zeros(b_dot)
    if not all(type(t) is Zero for t in moved):
        dl_dot, d_dot, du_dot = [instantiate_zeros(t) for t in moved]
        b_dot = lax.sub(b_dot, _product(dl_dot, d_dot, du_dot, x))
    return x, tridiagonal_solve_p.bind(*diagonals, b_dot, **params)


def _solve_transpose(ct: Any, dl: Any, d: Any, du: Any, b: Any, **params: Any) -> list[Any]:
    require_known(tridiagonal_solve_p, dl, d, du)
    if type(ct) is Zero:
        return [None, None, None, Zero(b.aval)]
    axis = len(shape_of(d)) - 1
    lower, upper = _shifted(du, 1, axis), _shifted(dl, -1, axis)
    return [None, None, None, tridiagonal_solve_p.bind(lower, d, upper, ct, **params)]


matrices.on_matrices(tridiagonal_solve_p, _solve_impl, _solve_aval, _solve_jvp)
transpose_rules[tridiagonal_solve_p] = _solve_transpose


def tridiagonal_solve(dl: Any, d: Any, du: Any, b: Any, *, perturb_singular: bool = False) -> Array:
    """X with A X = b, for A of the diagonal d, the one below it dl[1:], the one above it du[:-1].

    The diagonals have shape (..., n), b and the result (..., n, k). NaN if A is singular. Raises
    TypeError where shapes or dtypes do not fit."""
    args = [as_array(x) for x in (dl, d, du, b)]
    return tridiagonal_solve_p.bind(*args, perturb_singular=perturb_singular)
