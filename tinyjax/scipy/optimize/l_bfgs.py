"""L-BFGS: BFGS that remembers its last steps in place of a matrix.

The estimate of the inverse Hessian is a product of corrections, one a step, and each is applied by two inner
products. So the cost of a step grows with the dimension, not with its square.

Source: J. Nocedal, S. J. Wright, "Numerical Optimization", 2nd edition, algorithms 7.4 and 7.5.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.scipy.optimize.line_search import line_search
from tinyjax.scipy.optimize.results import OptimizeResults
from tinyjax.transform.vjp import value_and_grad


class Steps(NamedTuple):
    """The last steps, the oldest first, zeros where there is none yet.

    s, y: by how much x and the gradient changed. rho: 1 / (s . y). scale: s . y / y . y of the last."""

    s: Any
    y: Any
    rho: Any
    scale: Any


def l_bfgs(
    fun: Callable, x: Any, maxiter: Any = None, norm: Any = jnp.inf, maxcor: int = 10,
    ftol: Any = 2.220446049250313e-09, gtol: Any = 1e-5, maxfun: Any = None, maxgrad: Any = None,
    maxls: Any = 20,
) -> OptimizeResults:  # fmt: skip
    if maxiter is None and maxfun is None and maxgrad is None:
        maxiter = 200 * x.size
    maxiter, maxfun, maxgrad = (jnp.inf if n is None else n for n in (maxiter, maxfun, maxgrad))

    def going_on(state: tuple[OptimizeResults, Steps]) -> Any:
        results, _ = state
        return ~results.success & (results.status == 0)

    def step(state: tuple[OptimizeResults, Steps]) -> tuple[OptimizeResults, Steps]:
        now, steps = state
        p = -_times_inverse(steps, now.jac)
        found = line_search(fun, now.x, p, now.fun, now.jac, now.fun, maxls)
        point, ok = found.point, found.status == 0
        s, y = point.a * p, point.gradient - now.jac
        success = ok & (jnp.linalg.norm(point.gradient, ord=norm) < gtol)
        reasons = [success, ~ok, now.nit >= maxiter, now.nfev >= maxfun, now.njev >= maxgrad]
        too_little = now.fun - point.value < ftol
        after = OptimizeResults(
            x=jnp.where(ok, now.x + s, now.x),
            success=success,
            status=jnp.select([*reasons, too_little], [0, 5, 1, 2, 3, 4], 0),
            fun=jnp.where(ok, point.value, now.fun),
            jac=jnp.where(ok, point.gradient, now.jac),
            hess_inv=None,
            nfev=now.nfev + found.evaluations,
            njev=now.njev + found.evaluations,
            nit=now.nit + 1,
        )
        return after, _remember(steps, s, y)

    value, gradient = value_and_grad(fun)(x)
    start = OptimizeResults(
        x, jnp.asarray(False), jnp.asarray(0), value, gradient, None,
        jnp.asarray(1), jnp.asarray(1), jnp.asarray(0),
    )  # fmt: skip
    rows = jnp.zeros((maxcor, x.size), x.dtype)
    none = Steps(rows, rows, jnp.zeros(maxcor, x.dtype), jnp.ones((), x.dtype))
    return lax.while_loop(going_on, step, (start, none))[0]


def _times_inverse(steps: Steps, gradient: Any) -> Any:
    """The estimate of the inverse Hessian times the gradient. A step that is not there changes nothing."""

    def back(q: Any, step: Any) -> tuple[Any, Any]:
        s, y, rho = step
        a = rho * jnp.dot(s, q)
        return q - a * y, a

    def forth(r: Any, step: Any) -> tuple[Any, None]:
        s, y, rho, a = step
        return r + s * (a - rho * jnp.dot(y, r)), None

    q, a = lax.scan(back, gradient, (steps.s, steps.y, steps.rho), reverse=True)
    return lax.scan(forth, steps.scale * q, (steps.s, steps.y, steps.rho, a))[0]


def _remember(steps: Steps, s: Any, y: Any) -> Steps:
    def push(rows: Any, row: Any) -> Any:
        return jnp.concatenate([rows[1:], row[None]])

    sy = jnp.dot(s, y)
    return Steps(push(steps.s, s), push(steps.y, y), push(steps.rho, 1 / sy), sy / jnp.dot(y, y))
