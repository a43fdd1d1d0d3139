"""Positive definite and triangular systems, with SciPy's arguments.

SciPy's `overwrite_*` and `check_finite` are taken and change nothing.
"""

from __future__ import annotations

import functools
import warnings
from typing import Any

from tinyjax.core.array import Array
from tinyjax.lax import linalg
from tinyjax.lax.linalg.matrices import conj_transpose
from tinyjax.numpy.creation import asarray
from tinyjax.numpy.mapping import vectorize
from tinyjax.numpy.promotion import promote_dtypes_inexact
from tinyjax.transform.jit.api import jitted


def cholesky(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Array:
    """U with U^H U = a (L with L L^H = a if `lower`), for positive definite matrices; else NaN.

    Only that triangle of `a` is read. Raises ValueError if `a` is no square matrix."""
    return _cholesky(_matrices("cholesky", a), lower=bool(lower))


@jitted(static_argnames=("lower",))
def _cholesky(a: Any, lower: bool) -> Any:
    if lower:
        return linalg.cholesky(a, symmetrize_input=False)
    return conj_transpose(linalg.cholesky(conj_transpose(a), symmetrize_input=False))


def _matrices(name: str, a: Any) -> Any:
    """`a` as an array of floats. Raises ValueError if it is not of square matrices."""
    (a,) = promote_dtypes_inexact(asarray(a))
    if a.ndim < 2:
        raise ValueError(f"{name} takes matrices, and got an array of shape {a.shape}")
    return a


def cho_factor(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, bool]:
    """What cho_solve takes: cholesky(a, lower), and `lower`. The other triangle is zeros."""
    return cholesky(a, lower=lower), lower


def cho_solve(
    c_and_lower: tuple[Any, bool], b: Any, overwrite_b: bool = False, check_finite: bool = True
) -> Array:
    """X with A X = b, from cho_factor(A): two triangular solves.

    Raises ValueError if the sizes do not fit."""
    c, lower = c_and_lower
    return _cho_solve(*_system("cho_solve", c, b), lower=bool(lower))


@jitted(static_argnames=("lower",))
def _cho_solve(c: Any, b: Any, lower: bool) -> Any:
    first, last = (
        functools.partial(_solve, lower=lower, adjoint=adjoint) for adjoint in (not lower, lower)
    )
    return last(c, first(c, b))


def solve_triangular(
    a: Any, b: Any, trans: int | str = 0, lower: bool = False, unit_diagonal: bool = False,
    overwrite_b: bool = False, debug: Any = None, check_finite: bool = True,
) -> Array:  # fmt: skip
    """X with op(a) X = b for triangular a; op transposes for trans=1 or "T", conjugates too for 2 or "C".

    `b` is a vector, or a matrix of columns, or a stack of these. Only one triangle of `a` is read, and no
    diagonal with `unit_diagonal`. Raises ValueError for another trans, and sizes that do not fit."""
    if trans not in (0, "N", 1, "T", 2, "C"):
        raise ValueError(f"Invalid 'trans' value {trans}: 0 or 'N', 1 or 'T', 2 or 'C'")
    a, b = _system("solve_triangular", a, b)
    return _solve_triangular(a, b, trans, lower=bool(lower), unit_diagonal=bool(unit_diagonal))


@jitted(static_argnames=("trans", "lower", "unit_diagonal"))
def _solve_triangular(a: Any, b: Any, trans: int | str, lower: bool, unit_diagonal: bool) -> Any:
    options = {"lower": lower, "unit_diagonal": unit_diagonal}
    if trans in (0, "N"):
        return _solve(a, b, **options)
    if trans in (1, "T"):
        return _solve(a, b, transposed=True, **options)
    return _solve(a, b, adjoint=True, **options)


def _system(name: str, a: Any, b: Any) -> list[Any]:
    """A matrix and right-hand sides as arrays of floats of one dtype."""
    a, b = promote_dtypes_inexact(asarray(a), asarray(b))
    warn_of_vectors(name, a, b)
    return [a, b]


def is_vector(a: Any, b: Any) -> bool:
    """Whether `b` is one vector for each matrix of `a`, or the same for all: what fits as both is this."""
    return b.ndim == 1 or (b.ndim == a.ndim - 1 and b.shape[-1] == a.shape[-1])


def warn_of_vectors(name: str, a: Any, b: Any) -> None:
    """Warns where a stack of matrices meets what is taken as a stack of vectors."""
    if b.ndim > 1 and is_vector(a, b):
        warnings.warn(
            f"jax.scipy.linalg.{name}: a stack of matrices with b of shape {b.shape} is taken as a stack "
            f"of vectors, which is deprecated: use {name}(a, b[..., None]).squeeze(-1)",
            FutureWarning,
            stacklevel=4,
        )


def _solve(
    a: Any,
    b: Any,
    lower: bool,
    transposed: bool = False,
    adjoint: bool = False,
    unit_diagonal: bool = False,
) -> Any:
    """One triangular solve from the left, with stacks broadcast."""
    solve = functools.partial(
        linalg.triangular_solve,
        left_side=True,
        lower=lower,
        transpose_a=transposed or adjoint,
        conjugate_a=adjoint,
        unit_diagonal=unit_diagonal,
    )
    signature = "(n,n),(n)->(n)" if is_vector(a, b) else "(n,n),(n,k)->(n,k)"
    return vectorize(solve, signature=signature)(a, b)
