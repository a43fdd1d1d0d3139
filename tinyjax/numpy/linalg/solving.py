"""Linear systems, and what solves them: cholesky.

Builds on lax.linalg.

Sources: https://docs.jax.dev/en/latest/_autosummary/jax.numpy.linalg.<name>.html, one page a function.
"""

from __future__ import annotations

from typing import Any

from tinyjax.array import Array
from tinyjax.interpreters.jit import jitted
from tinyjax.lax import linalg
from tinyjax.lax.linalg.matrices import conj_transpose
from tinyjax.numpy.util import ensure_arraylike, promote_dtypes_inexact


@jitted(static_argnames=("upper", "symmetrize_input"))
def cholesky(a: Any, *, upper: bool = False, symmetrize_input: bool = True) -> Array:
    """The lower triangular L with L L^H = a for positive definite matrices, NaN for all others.

    With `upper`, U = L^H. (a + a^H) / 2 is taken for `a`, if `symmetrize_input`. Raises TypeError where
    `a` is no square matrix; as numpy.linalg.cholesky."""
    (a,) = promote_dtypes_inexact(ensure_arraylike("jnp.linalg.cholesky", a))
    factor = linalg.cholesky(a, symmetrize_input=symmetrize_input)
    return conj_transpose(factor) if upper else factor
