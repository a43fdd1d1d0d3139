"""BFGS: a search for a smooth function's least value that learns the curvature on its way.

Each step tells by how much the gradient changed, and the estimate of the inverse Hessian is corrected so that
it would have foretold it.

Source: J. Nocedal, S. J. Wright, "Numerical Optimization", 2nd edition, algorithm 6.1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.scipy.optimize.line_search import line_search
from tinyjax.scipy.optimize.results import OptimizeResults
from tinyjax.transform.vjp import value_and_grad


def bfgs(
    fun: Callable,
    x: Any,
    gtol: Any = 1e-5,
    norm: Any = jnp.inf,
    maxiter: Any = None,
    line_search_maxiter: Any = 10,
) -> OptimizeResults:
    maxiter = 200 * x.size if maxiter is None else maxiter

    def small(gradient: Any) -> Any:
        return jnp.linalg.norm(gradient, ord=norm) < gtol

    def going_on(state: tuple[OptimizeResults, Any]) -> Any:
        results, _ = state
        return ~results.success & (results.status == 0) & (results.nit < maxiter)

    def step(state: tuple[OptimizeResults, Any]) -> tuple[OptimizeResults, Any]:
        now, value_before = state
        p = -(now.hess_inv @ now.jac)
        found = line_search(fun, now.x, p, now.fun, now.jac, value_before, line_search_maxiter)
        point, ok = found.point, found.status == 0
        s, y = point.a * p, point.gradient - now.jac
        after = OptimizeResults(
            x=jnp.where(ok, now.x + s, now.x),
            success=ok & small(point.gradient),
            status=found.status,
            fun=jnp.where(ok, point.value, now.fun),
            jac=jnp.where(ok, point.gradient, now.jac),
            hess_inv=jnp.where(ok, _corrected(now.hess_inv, s, y), now.hess_inv),
            nfev=now.nfev + found.evaluations,
            njev=now.njev + found.evaluations,
            nit=now.nit + 1,
        )
        return after, now.fun

    value, gradient = value_and_grad(fun)(x)
    start = OptimizeResults(
        x, small(gradient), jnp.asarray(0), value, gradient, jnp.eye(x.size, dtype=x.dtype),
        jnp.asarray(1), jnp.asarray(1), jnp.asarray(0),
    )  # fmt: skip
    value_before = value + jnp.linalg.norm(gradient) / 2
    end, _ = lax.while_loop(going_on, step, (start, value_before))
    too_long = ~end.success & (end.status == 0)
    return end._replace(status=jnp.where(too_long, 1, end.status))


def _corrected(inverse: Any, s: Any, y: Any) -> Any:
    """The inverse Hessian nearest to `inverse` that is symmetric and takes the gradient's change y to s."""
    rho = 1 / jnp.dot(y, s)
    left = jnp.eye(s.size, dtype=s.dtype) - rho * jnp.outer(s, y)
    corrected = left @ inverse @ left.T + rho * jnp.outer(s, s)
    return jnp.where(jnp.isfinite(rho), corrected, inverse)
