"""Determinants: det and slogdet.

The derivative is the trace of adj(A) dA, where adj(A) = det(A) A^-1 if A has an inverse, and has no poles
where it has not.

Source: https://en.wikipedia.org/wiki/Jacobi%27s_formula
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tinyjax import lax
from tinyjax.core.array import Array
from tinyjax.lax import linalg
from tinyjax.numpy import reductions, triangles
from tinyjax.numpy.choosing import where
from tinyjax.numpy.creation import ones, zeros_like
from tinyjax.numpy.elementary import log
from tinyjax.numpy.linalg.solving import solve
from tinyjax.numpy.manipulation import iscomplexobj
from tinyjax.numpy.mapping import vectorize
from tinyjax.numpy.promotion import promote_dtypes_inexact
from tinyjax.numpy.ranges import arange
from tinyjax.numpy.searching import argmax
from tinyjax.numpy.ufuncs import absolute
from tinyjax.numpy.util import ensure_arraylike
from tinyjax.transform.custom.forward_rules import custom_jvp
from tinyjax.transform.jit.api import jitted


def _square_matrices(name: str, a: Any) -> Any:
    (a,) = promote_dtypes_inexact(ensure_arraylike(f"jnp.linalg.{name}", a))
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"Argument to {name}() must have shape [..., n, n], got {a.shape}")
    return a


def _parity(pivots: Any) -> Any:
    """1 or -1: the sign that the exchanges of rows give the determinant."""
    exchanges = reductions.count_nonzero(pivots != arange(pivots.shape[-1]), axis=-1)
    return 1 - 2 * (exchanges % 2)


# ---- det ----


@jitted
def det(a: Any) -> Array:
    """The determinants of square matrices.

    Raises ValueError for matrices that are not square; as numpy.linalg.det."""
    a = _square_matrices("det", a)
    size = a.shape[-1]
    if size == 0:
        return ones(a.shape[:-2], a.dtype)
    if size > 3:
        return vectorize(_det, signature="(n,n)->()")(a)
    return a[..., 0, 0] if size == 1 else _det_2x2(a) if size == 2 else _det_3x3(a)


@custom_jvp
def _det(a: Any) -> Any:
    lu, pivots, _ = linalg.lu(a)
    return _parity(pivots).astype(a.dtype) * reductions.prod(triangles.diagonal(lu))


@_det.defjvp
def _det_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    """The JVP of det for one matrix, or for a stack of small ones."""
    derivative = vectorize(_det_and_derivative, signature="(n,n),(n,n)->(),()")
    return derivative(*primals, *tangents)


def _det_and_derivative(a: Any, a_dot: Any) -> tuple[Any, Any]:
    lu, pivots, permutation = linalg.lu(a)
    sign = _parity(pivots).astype(a.dtype)
    moved = linalg.triangular_solve(
        lu, a_dot[permutation], left_side=True, lower=True, unit_diagonal=True
    )
    determinant = sign * reductions.prod(triangles.diagonal(lu))
    return determinant, sign * reductions.sum(_adjugate(lu).T * moved)


def _exchanged(chosen: Any, first: Any, second: Any) -> tuple[Any, Any]:
    """Two rows of each matrix, exchanged where `chosen`."""
    return where(chosen[..., None], second, first), where(chosen[..., None], first, second)


def _multiplier(pivot: Any, below: Any) -> Any:
    """The multiple of the pivot's row to subtract from a row to make `below` zero; 0 for a pivot of 0."""
    return where(pivot == 0, 0, below / where(pivot == 0, 1, pivot))


@custom_jvp
def _det_2x2(a: Any) -> Any:
    """By elimination below the larger of two pivots: a00 * a11 - a01 * a10 would lose digits."""
    exchange = absolute(a[..., 1, 0]) > absolute(a[..., 0, 0])
    r0, r1 = _exchanged(exchange, a[..., 0, :], a[..., 1, :])
    u11 = r1[..., 1] - _multiplier(r0[..., 0], r1[..., 0]) * r0[..., 1]
    return where(exchange, -1, 1) * r0[..., 0] * u11


@custom_jvp
def _det_3x3(a: Any) -> Any:
    """By elimination, with the largest pivot of each column; each exchange of rows turns the sign."""
    exchange = absolute(a[..., 1, 0]) > absolute(a[..., 0, 0])
    r0, r1 = _exchanged(exchange, a[..., 0, :], a[..., 1, :])
    r2 = a[..., 2, :]
    sign = where(exchange, -1, 1)
    exchange = absolute(r2[..., 0]) > absolute(r0[..., 0])
    r0, r2 = _exchanged(exchange, r0, r2)
    sign = where(exchange, -sign, sign)
    l10, l20 = _multiplier(r0[..., 0], r1[..., 0]), _multiplier(r0[..., 0], r2[..., 0])
    r1, r2 = r1 - l10[..., None] * r0, r2 - l20[..., None] * r0
    exchange = absolute(r2[..., 1]) > absolute(r1[..., 1])
    r1, r2 = _exchanged(exchange, r1, r2)
    sign = where(exchange, -sign, sign)
    u22 = r2[..., 2] - _multiplier(r1[..., 1], r2[..., 1]) * r1[..., 2]
    return sign * r0[..., 0] * r1[..., 1] * u22


_det_2x2.defjvp(_det_jvp)
_det_3x3.defjvp(_det_jvp)


def _adjugate(u: Any) -> Any:
    """det(u) u^-1 of an upper triangular matrix, or what that tends to where u is singular.

    Let v be u with ones for its r zeros on the diagonal. u = v (1 - v^-1 E E^T), where E has unit vectors
    as columns, one for each zero; so adj(u) = adj(1 - v^-1 E E^T) adj(v), which is det(v) v^-1 E
    adj(1 - K) E^T v^-1 with K = E^T v^-1 E. 1 - K has zeros on and below its diagonal: all that is left
    of its adjugate is, in the first row and last column, the product of K's superdiagonal."""
    zeros = triangles.diagonal(u) == 0
    v = u + triangles.diag(zeros.astype(u.dtype))
    inverse = linalg.triangular_solve(v, triangles.eye(len(u), dtype=u.dtype), left_side=True)
    places = arange(len(u))
    first, last = argmax(zeros), len(u) - 1 - argmax(zeros[::-1])
    # For each zero the place of the next one; for the last zero, its own place.
    later = where(zeros & (places > places[:, None]), places, last)
    following = reductions.min(later, axis=1)
    chain = where(zeros & (places != last), inverse[places, following], 1)
    singular = reductions.prod(chain) * inverse[:, first, None] * inverse[last]
    return reductions.prod(triangles.diagonal(v)) * where(reductions.any(zeros), singular, inverse)


# ---- slogdet ----


class SlogdetResult(NamedTuple):
    """The sign (of absolute value 1, or 0), and the logarithm of the absolute value."""

    sign: Array
    logabsdet: Array


@jitted(static_argnames=("method",))
def slogdet(a: Any, *, method: str | None = None) -> SlogdetResult:
    """Determinants that may be too large or small for a float: their signs, and log(abs(det)).

    A singular matrix has the sign 0, and -inf. `method` may be "lu" or "qr", both are computed by LU.
    Raises ValueError for matrices that are not square; as numpy.linalg.slogdet."""
    a = _square_matrices("slogdet", a)
    if method not in (None, "lu", "qr"):
        raise ValueError(
            f"Unknown slogdet method '{method}'. Supported methods are 'lu' (`None`), and 'qr'."
        )
    return SlogdetResult(*vectorize(_slogdet_lu, signature="(n,n)->(),()")(a))


@custom_jvp
def _slogdet_lu(a: Any) -> Any:
    lu, pivots, _ = linalg.lu(a)
    diagonal = triangles.diagonal(lu)
    singular = reductions.any(diagonal == 0)
    sign = _parity(pivots).astype(a.dtype) * reductions.prod(lax.sign(diagonal))
    logarithm = reductions.sum(log(absolute(diagonal)))
    return where(singular, zeros_like(sign), sign), where(singular, -np.inf, logarithm)


@_slogdet_lu.defjvp
def _slogdet_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    """d log(det(A)) = trace(A^-1 dA): the real part is log(abs(det))'s tangent, the imaginary part turns
    the sign."""
    sign, logarithm = _slogdet_lu(*primals)
    moved = triangles.trace(solve(primals[0], tangents[0]))
    if iscomplexobj(moved):
        return (sign, logarithm), (sign * (1j * moved.imag).astype(sign.dtype), moved.real)
    return (sign, logarithm), (zeros_like(sign), moved)
