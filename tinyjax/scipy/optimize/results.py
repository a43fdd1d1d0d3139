"""The result of minimize, by any method."""

from __future__ import annotations

from typing import NamedTuple

from tinyjax.core.array import Array


class OptimizeResults(NamedTuple):
    """x: where the search ended. success: whether the gradient is as small as was asked for.

    status: 0 for success, 1 after `maxiter` steps, 3 or 5 where no step fulfilled Wolfe's conditions.
    L-BFGS: 2 after `maxfun` values, 3 after `maxgrad` gradients, 4 if a step gained less than `ftol`.
    fun, jac, hess_inv: the value, the gradient and the estimate of the inverse Hessian there (None
    for L-BFGS, which has no matrix).
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
