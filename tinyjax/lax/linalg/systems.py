"""Linear systems with a derivative: a factorization, and a solve that uses it.

The derivative needs no new factorization: dx solves a system with the same matrix.
"""

from __future__ import annotations

import functools
from typing import Any

from tinyjax import lax
from tinyjax.core.bind import Tracer, is_staging
from tinyjax.core.primitives import shape_of
from tinyjax.lax.control_flow.solves import custom_linear_solve
from tinyjax.lax.linalg.lu import lu_p, lu_solve
from tinyjax.transform.batching import vmap


def solve(a: Any, b: Any) -> Any:
    """X with a X = b for stacks of matrices, of equal batch axes."""
    solve_all = solve_one
    for _ in shape_of(a)[:-2]:
        solve_all = vmap(solve_all)
    return solve_all(a, b)


def solve_one(a: Any, b: Any) -> Any:
    """X with a X = b for one matrix, and columns or a vector `b`."""
    lu, _, permutation = lu_p.bind(lax.stop_gradient(a))
    return linear_solve(
        a,
        b,
        lambda _, x: lu_solve(lu, permutation, x),
        lambda _, x: lu_solve(lu, permutation, x, 1),
    )


def linear_solve(a: Any, b: Any, solve: Any, transpose_solve: Any = None) -> Any:
    """X with a X = b for one matrix, by `solve(_, vector)`, so that derivatives solve again with the same
    factorization. Without `transpose_solve`, `a` is symmetric. If nothing is traced, there are no
    derivatives."""
    if not is_staging() and not any(isinstance(x, Tracer) for x in (a, b)):
        return solve(None, b)
    columns = functools.partial(
        custom_linear_solve,
        lambda x: lax.dot(a, x, precision=lax.Precision.HIGHEST),
        solve=solve,
        transpose_solve=transpose_solve,
        symmetric=transpose_solve is None,
    )
    return columns(b) if b.ndim == 1 else vmap(columns, 1, 1)(b)
