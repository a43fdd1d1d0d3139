"""minimize: a smooth function's least value near a guess, by the method BFGS.

After this file you can say how a minimizer learns the curvature from gradients alone: each step tells by
how much the gradient changed, and the estimate of the inverse Hessian is corrected so that it would
have foretold it. Builds on line_search.

Sources: J. Nocedal, S. J. Wright, "Numerical Optimization", 2nd edition, algorithm 6.1
https://docs.jax.dev/en/latest/_autosummary/jax.scipy.optimize.minimize.html
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.array import Array
from tinyjax.interpreters.vjp import value_and_grad
from tinyjax.numpy.util import check_arraylike
from tinyjax.scipy.optimize.line_search import line_search


class OptimizeResults(NamedTuple):
    """x: where the search ended. success: whether the gradient is as small as was asked for.

    status: 0 for success, 1 after `maxiter` steps, 3 or 5 where no step fulfilled Wolfe's conditions.
    fun, jac, hess_inv: the value, the gradient and the estimate of the inverse Hessian there.
    nfev, njev, nit: how often the function and its gradient were computed, and the number of steps."""

    x: Array
    success: Array
    status: Array
    fun: Array
    jac: Array
    hess_inv: Array | None
    nfev: Array
    njev: Array
    nit: Array


def minimize(
    fun: Callable,
    x0: Array,
    args: tuple = (),
    *,
    method: str,
    tol: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> OptimizeResults:
    """The x near `x0` for which fun(x, *args) is least.

    `x0` is an array of one axis, of floats; `fun` gives a scalar. `method` is "BFGS". `options` may have
    `gtol` (1e-5: how small the gradient's norm shall be), `norm` (inf: of which order), `maxiter` (200 a
    dimension) and `line_search_maxiter` (10). `tol` is not used, as in JAX. In forward mode the steps are
    differentiated; not in reverse mode. A step is searched for to the end where JAX's bracket gives up
    (status 3), so that more searches succeed.
    Raises ValueError for other methods; TypeError for other arguments, and unknown options."""
    if not isinstance(args, tuple):
        raise TypeError(f"args of minimize must be a tuple of fun's further arguments, got {args}")
    if method.lower() != "bfgs":
        raise ValueError(f"Method {method} not recognized: BFGS is the only one")
    options = {} if options is None else options
    known = [name for name in inspect.signature(_bfgs).parameters if name not in ("fun", "x")]
    if unknown := set(options) - set(known):
        raise TypeError(f"minimize has no options {sorted(unknown)}; it has {', '.join(known)}")
    check_arraylike("minimize", x0)
    if jnp.ndim(x0) != 1:
        raise TypeError(f"x0 must be an array of one axis, got the shape {jnp.shape(x0)}")
    return _bfgs(lambda x: fun(x, *args), jnp.asarray(x0), **options)


def _bfgs(
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
