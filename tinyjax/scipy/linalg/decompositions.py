"""Decompositions with SciPy's arguments: qr.

Builds on lax.linalg. SciPy's `overwrite_*`, `lwork` and `check_finite` are taken and change nothing.

Sources: https://docs.jax.dev/en/latest/_autosummary/jax.scipy.linalg.<name>.html, one page a function.
"""

from __future__ import annotations

from typing import Any

from tinyjax.array import Array
from tinyjax.interpreters.jit import jitted
from tinyjax.lax import linalg
from tinyjax.numpy.creation import asarray
from tinyjax.numpy.util import promote_dtypes_inexact


def qr(
    a: Any,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> tuple[Array, ...]:
    """(q, r) with q r = a, for mode 'full' (q is square) or 'economic'; (r,) for mode 'r'.

    With pivoting there is one more result, p, and q r = a[:, p]. Raises ValueError for another mode."""
    return _qr(a, mode, bool(pivoting))


@jitted(static_argnames=("mode", "pivoting"))
def _qr(a: Any, mode: str, pivoting: bool) -> tuple[Array, ...]:
    if mode not in ("full", "r", "economic"):
        raise ValueError(
            f"Unsupported QR decomposition mode '{mode}': use 'full', 'economic' or 'r'"
        )
    (a,) = promote_dtypes_inexact(asarray(a))
    q, *rest = linalg.qr(a, pivoting=pivoting, full_matrices=mode != "economic")
    return tuple(rest) if mode == "r" else (q, *rest)
