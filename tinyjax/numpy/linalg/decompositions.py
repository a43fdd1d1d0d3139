"""Decompositions of matrices as jnp.linalg has them: qr.

Builds on lax.linalg.

Sources: https://docs.jax.dev/en/latest/_autosummary/jax.numpy.linalg.<name>.html, one page a function.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tinyjax.array import Array
from tinyjax.interpreters.jit import jitted
from tinyjax.lax import linalg
from tinyjax.lax.linalg.matrices import matrix_transpose
from tinyjax.lax.linalg.qr import geqrf_p
from tinyjax.numpy.util import ensure_arraylike, promote_dtypes_inexact

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
