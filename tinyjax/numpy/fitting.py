"""Fitting polynomials and finding their roots: polyfit by least squares, roots by eigenvalues.

The companion matrix has a polynomial's roots as its eigenvalues.

Source: https://numpy.org/doc/stable/reference/generated/numpy.polyfit.html, for the covariances
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core import dtypes
from tinyjax.core.array import Array
from tinyjax.core.bind import Tracer
from tinyjax.core.errors import ConcretizationTypeError
from tinyjax.numpy import reductions
from tinyjax.numpy.choosing import where
from tinyjax.numpy.creation import array, asarray, zeros
from tinyjax.numpy.elementary import sqrt
from tinyjax.numpy.linalg.decompositions import eigvals
from tinyjax.numpy.linalg.least_squares import lstsq
from tinyjax.numpy.linalg.solving import inv
from tinyjax.numpy.linear_algebra import dot, outer
from tinyjax.numpy.manipulation import atleast_1d, roll
from tinyjax.numpy.promotion import promote_dtypes_inexact
from tinyjax.numpy.searching import argmin
from tinyjax.numpy.triangles import diag, vander
from tinyjax.numpy.util import check_arraylike, concrete_int
from tinyjax.transform.jit.api import jitted

# ---- roots ----


def roots(p: Any, *, strip_zeros: bool = True) -> Array:
    """The roots of p[0] x**n + ... + p[n], complex; as numpy.roots.

    Leading zeros of p are dropped, so p must be known. Under jit pass strip_zeros=False, which pads the
    roots with NaN at the end. Raises ValueError if p is no vector, ConcretizationTypeError if it is
    traced and strip_zeros is True."""
    check_arraylike("roots", p)
    (p,) = promote_dtypes_inexact(p)
    p = atleast_1d(p)
    if p.ndim != 1:
        raise ValueError(f"Input must be a rank-1 array, got shape {p.shape}.")
    if p.size < 2:
        return zeros((0,), np.result_type(p.dtype, np.complex64))
    all_zero = reductions.all(p == 0)
    leading = where(all_zero, p.size, argmin(p == 0))
    if not strip_zeros:
        return _roots_with_zeros(p, leading)
    if isinstance(leading, Tracer) and leading.concrete() is None:
        raise ConcretizationTypeError(
            leading,
            "in jnp.roots(): how many roots there are depends on how many leading zeros p has",
            "Pass strip_zeros=False.",
        )
    count = int(leading if not isinstance(leading, Tracer) else leading.concrete())
    if p.size - count < 2:
        return zeros((0,), np.result_type(p.dtype, np.complex64))
    return _roots_no_zeros(p[count:])


@jitted
def _roots_no_zeros(p: Any) -> Any:
    """The eigenvalues of the companion matrix: ones below the diagonal, -p[1:] / p[0] in the first row."""
    companion = diag(lax.full((p.size - 2,), 1, p.dtype), -1)
    return eigvals(companion.at[0, :].set(-p[1:] / p[0]))


@jitted
def _roots_with_zeros(p: Any, leading: Any) -> Any:
    """Moves leading zeros to the end, where each adds a root 0, and replaces that many of these roots by
    NaN."""
    p = where(leading == p.size, 1, p)
    found = _roots_no_zeros(roll(p, -leading))
    _, found = lax.sort((found == 0, found), num_keys=1)
    places = lax.iota(np.int32, found.size)
    return where(places < p.size - 1 - leading, found, complex(np.nan, np.nan))


# ---- polyfit ----


@jitted(static_argnames=("deg", "rcond", "full", "cov"))
def polyfit(
    x: Any, y: Any, deg: int, rcond: float | None = None, full: bool = False, w: Any = None,
    cov: bool = False,
) -> Array | tuple[Array, ...]:  # fmt: skip
    """The coefficients, highest power first, of the polynomial of degree `deg` nearest to (x, y).

    x has shape (m,), y (m,) or (m, k), weights `w` (m,); coefficients are (deg + 1,) or (deg + 1, k).
    With `full`, also lstsq's other results (residuals, rank, singular values, rcond); with `cov`, the
    covariances of the coefficients, not scaled by the residuals for cov='unscaled'. As numpy.polyfit.
    Raises TypeError for other shapes, ValueError for deg < 0, integers x, or too few points for
    covariances."""
    check_arraylike("polyfit", x, y)
    order = concrete_int(deg, "jnp.polyfit degree") + 1
    _check_points(x, y, order)
    x, y = asarray(x), asarray(y)
    if not dtypes.is_inexact(x.dtype):
        raise ValueError(f"polyfit: x of dtype {x.dtype.name} is not inexact: use x.astype(float)")
    if rcond is None:
        rcond = len(x) * float(dtypes.finfo(x.dtype).eps)
    lhs, rhs = vander(x, order), y
    if w is not None:
        lhs, rhs = _weighted(lhs, rhs, w)
    scale = sqrt(reductions.sum(lhs * lhs, axis=0))
    lhs = lhs / scale[None, :]
    c, residuals, rank, s = lstsq(lhs, rhs, rcond)
    c = (c.T / scale).T
    if full:
        return c, residuals, rank, s, asarray(rcond)
    if not cov:
        return c
    spread = inv(dot(lhs.T, lhs)) / outer(scale, scale)
    factor: Any = 1
    if cov != "unscaled":
        if len(x) <= order:
            raise ValueError(
                "the number of data points must exceed order to scale the covariance matrix"
            )
        factor = residuals / array(len(x) - order, residuals.dtype)
    factor = atleast_1d(asarray(factor))
    return c, spread * factor if y.ndim == 1 else spread[:, :, None] * factor


def _check_points(x: Any, y: Any, order: int) -> None:
    if order < 1:
        raise ValueError(f"expected deg >= 0, got {order - 1}")
    if np.ndim(x) != 1:
        raise TypeError(f"expected 1D vector for x, got shape {np.shape(x)}")
    if np.size(x) == 0:
        raise TypeError("expected non-empty vector for x")
    if not 1 <= np.ndim(y) <= 2:
        raise TypeError(f"expected 1D or 2D array for y, got shape {np.shape(y)}")
    if np.shape(x)[0] != np.shape(y)[0]:
        raise TypeError(
            f"expected x and y to have same length, got {np.shape(x)} and {np.shape(y)}"
        )


def _weighted(lhs: Any, rhs: Any, w: Any) -> tuple[Any, Any]:
    check_arraylike("polyfit", w)
    (w,) = promote_dtypes_inexact(w)
    if w.ndim != 1:
        raise TypeError(f"expected a 1-d array for weights, got shape {w.shape}")
    if w.shape[0] != rhs.shape[0]:
        raise TypeError(
            f"expected w and y to have the same length, got {w.shape[0]} and {rhs.shape[0]}"
        )
    return lhs * w[:, None], rhs * w if rhs.ndim == 1 else rhs * w[:, None]
