"""Sylvester's equation A X + X B = C.

By Schur's decompositions A and B become triangular; then a column of X needs only those before it, and is one
triangular solve.

Source: R. Bartels and G. Stewart, "Solution of the matrix equation AX + XB = C", Communications of the
ACM 15 (1972)
"""

from __future__ import annotations

from typing import Any

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.core.array import Array
from tinyjax.lax import linalg
from tinyjax.lax.control_flow.solves import custom_linear_solve
from tinyjax.lax.elementwise import to_complex_dtype
from tinyjax.lax.linalg.matrices import conj_transpose
from tinyjax.numpy.promotion import promote_dtypes_inexact
from tinyjax.transform.jit.api import jitted


@jitted(static_argnames=("method", "tol"))
def solve_sylvester(
    A: Any,  # noqa: N803
    B: Any,  # noqa: N803
    C: Any,  # noqa: N803
    *,
    method: str = "schur",
    tol: float = 1e-8,
) -> Array:
    """X (..., m, n) with A X + X B = C, for A (..., m, m) and B (..., n, n).

    NaN where an eigenvalue of A and one of B have a sum of `tol` or less, or one of rounding errors.
    `method` may be "schur" or "eigen"; both are solved by Schur's decompositions. Raises ValueError where
    sizes do not fit."""
    if method not in ("schur", "eigen"):
        raise ValueError(
            f"Unrecognized method {method}. The two valid methods are either 'schur' or 'eigen'."
        )
    a, b, c = promote_dtypes_inexact(*[jnp.asarray(x) for x in (A, B, C)])
    rows, columns = c.shape[-2:]
    if a.shape[-2:] != (rows, rows) or b.shape[-2:] != (columns, columns):
        raise ValueError(
            f"Incompatible shapes for Sylvester equation: A: {a.shape} B: {b.shape} C: {c.shape}"
        )

    def solve_one(a: Any, b: Any, c: Any) -> Any:
        fixed_a, fixed_b = lax.stop_gradient(a), lax.stop_gradient(b)
        return custom_linear_solve(
            lambda x: _product(a, x) + _product(x, b),
            c,
            solve=lambda _, c: _bartels_stewart(fixed_a, fixed_b, c, tol),
            transpose_solve=lambda _, c: _bartels_stewart(fixed_a.T, fixed_b.T, c, tol),
        )

    return jnp.vectorize(solve_one, signature="(m,m),(n,n),(m,n)->(m,n)")(a, b, c)


def _product(x: Any, y: Any) -> Any:
    return jnp.matmul(x, y, precision=lax.Precision.HIGHEST)


def _bartels_stewart(a: Any, b: Any, c: Any, tol: float) -> Any:
    """With A = U T U^H and B = V S V^H it is T Y + Y S = U^H C V, for X = U Y V^H."""
    dtype = to_complex_dtype(c.dtype)
    (t, u), (s, v) = (linalg.schur(x.astype(dtype)) for x in (a, b))
    right = _product(_product(conj_transpose(u), c.astype(dtype)), v)
    unit = jnp.eye(len(t), dtype=dtype)

    def column(k: Any, y: Any) -> Any:
        """Of Y S only the columns of Y before k count: all others are zeros still."""
        rest = right[:, k] - _product(y, s[:, k])
        return y.at[:, k].set(linalg.triangular_solve(t + s[k, k] * unit, rest, left_side=True))

    y = lax.fori_loop(0, len(s), column, jnp.zeros_like(right))
    x = _product(_product(u, y), conj_transpose(v))
    sums = jnp.diagonal(t)[:, None] + jnp.diagonal(s)
    rounding = 8 * jnp.finfo(dtype).eps * (jnp.max(jnp.abs(t)) + jnp.max(jnp.abs(s)))
    singular = jnp.any(jnp.abs(sums) <= jnp.maximum(tol, rounding))
    x = jnp.where(singular, jnp.full_like(x, jnp.nan), x)
    return x if jnp.iscomplexobj(c) else x.real
