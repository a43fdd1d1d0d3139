"""LU decomposition and linear systems, with SciPy's arguments; det and inv.

SciPy's `overwrite_*`, `check_finite` and `debug` are taken and change nothing.
"""

from __future__ import annotations

import functools
from typing import Any

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.core import dtypes
from tinyjax.core.array import Array
from tinyjax.lax import linalg
from tinyjax.lax.linalg.lu import lu_solve as solve_by_lu
from tinyjax.lax.linalg.systems import linear_solve
from tinyjax.numpy.linalg import determinants, solving
from tinyjax.numpy.mapping import vectorize
from tinyjax.numpy.promotion import promote_dtypes_inexact
from tinyjax.scipy.linalg.factors import cho_factor, cho_solve, is_vector, warn_of_vectors
from tinyjax.transform.jit.api import jitted


@jitted(static_argnames=("permute_l", "overwrite_a", "check_finite"))
def lu(
    a: Any, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, ...]:
    """P, L and U with a = P L U: a permutation, lower triangular with ones on its diagonal, upper.

    `a` is a matrix (m, n), or a stack of them; L has min(m, n) columns. With `permute_l`, the pair P L and
    U."""
    (a,) = promote_dtypes_inexact(jnp.asarray(a))
    signature = "(m,n)->(m,k),(k,n)" if permute_l else "(m,n)->(m,m),(m,k),(k,n)"
    factors = vectorize(functools.partial(_lu, permute_l=permute_l), signature=signature)
    return factors(a)


@jitted(static_argnames=("permute_l",))
def _lu(a: Any, permute_l: bool) -> tuple[Any, ...]:
    lu, _, permutation = linalg.lu(a)
    rows, columns = a.shape
    rank = min(rows, columns)
    p = jnp.array(
        permutation[None, :] == jnp.arange(rows)[:, None], dtype=dtypes.finfo(a.dtype).dtype
    )
    lower = jnp.tril(lu, -1)[:, :rank] + jnp.eye(rows, rank, dtype=a.dtype)
    upper = jnp.triu(lu)[:rank, :]
    if permute_l:
        return jnp.matmul(p, lower, precision=lax.Precision.HIGHEST), upper
    return p, lower, upper


@jitted(static_argnames=("overwrite_a", "check_finite"))
def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Array, Array]:
    """What lu_solve takes: L and U in one matrix, and pivots: row i was exchanged with row pivots[i]."""
    (a,) = promote_dtypes_inexact(jnp.asarray(a))
    lu, pivots, _ = linalg.lu(a)
    return lu, pivots


@jitted(static_argnames=("trans", "overwrite_b", "check_finite"))
def lu_solve(
    lu_and_piv: tuple[Any, Any],
    b: Any,
    trans: int = 0,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array:
    """X with op(A) X = b, from lu_factor(A); op transposes for trans=1, and conjugates too for 2.

    Raises ValueError for another trans, and sizes that do not fit, TypeError for pivots that are not
    int32."""
    lu, pivots = lu_and_piv
    lu, b = promote_dtypes_inexact(jnp.asarray(lu), jnp.asarray(b))
    warn_of_vectors("lu_solve", lu, b)
    permutation = linalg.lu_pivots_to_permutation(pivots, lu.shape[-1])
    signature = "(n,n),(n),(n)->(n)" if is_vector(lu, b) else "(n,n),(n),(n,k)->(n,k)"
    return vectorize(functools.partial(solve_by_lu, trans=trans), signature=signature)(
        lu, permutation, b
    )


def solve(
    a: Any, b: Any, lower: bool = False, overwrite_a: bool = False, overwrite_b: bool = False,
    debug: bool = False, check_finite: bool = True, assume_a: str = "gen",
) -> Array:  # fmt: skip
    """X with a X = b. With assume_a="pos" `a` is positive definite, and solved by cholesky, of which only
    one triangle is read, the `lower` one or the upper.

    "sym" and "her" are solved as "gen". Raises ValueError for other words, and shapes that do not fit."""
    valid = ["gen", "sym", "her", "pos"]
    if assume_a not in valid:
        raise ValueError(f"Expected assume_a to be one of {valid}; got {assume_a!r}")
    return _solve(a, b, assume_a, bool(lower))


@jitted(static_argnames=("assume_a", "lower"))
def _solve(a: Any, b: Any, assume_a: str, lower: bool) -> Any:
    if assume_a != "pos":
        return solving.solve(a, b)
    a, b = promote_dtypes_inexact(jnp.asarray(a), jnp.asarray(b))
    signature = "(m,m),(m)->(m)" if b.ndim == 1 else "(m,m),(m,n)->(m,n)"
    return vectorize(functools.partial(_solve_positive, lower=lower), signature=signature)(a, b)


def _solve_positive(a: Any, b: Any, lower: bool) -> Any:
    """The transpose of a Hermitian matrix is its conjugate, which is the same if it is real."""
    factors = cho_factor(lax.stop_gradient(a), lower=lower)

    def solve(_: Any, x: Any) -> Any:  # as in JAX, a vector is solved as a matrix of one column
        return cho_solve(factors, x) if x.ndim > 1 else cho_solve(factors, x[:, None]).squeeze(-1)

    if not jnp.iscomplexobj(a):
        return linear_solve(a, b, solve)
    return linear_solve(a, b, solve, lambda _, x: solve(_, x.conj()).conj())


def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """As jnp.linalg.det."""
    return determinants.det(a)


def inv(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """As jnp.linalg.inv."""
    return solving.inv(a)
