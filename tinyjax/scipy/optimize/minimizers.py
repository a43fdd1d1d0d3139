"""minimize: a smooth function's least value near a guess, by a method that is chosen by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from tinyjax import numpy as jnp
from tinyjax.core.array import Array
from tinyjax.numpy.util import check_arraylike
from tinyjax.scipy.optimize.bfgs import bfgs
from tinyjax.scipy.optimize.l_bfgs import l_bfgs
from tinyjax.scipy.optimize.results import OptimizeResults

METHODS: dict[str, Callable[..., OptimizeResults]] = {
    "bfgs": bfgs,
    "l-bfgs-experimental-do-not-rely-on-this": l_bfgs,
}


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

    `x0` is an array of one axis, of floats; `fun` gives a scalar. `method` is "BFGS" or, for many
    dimensions, "l-bfgs-experimental-do-not-rely-on-this", as in JAX. `tol` is not used, as in JAX.
    `options` may have `gtol` (1e-5: the gradient's norm at the end), `norm` (inf: of which order),
    `maxiter` (200 a dimension), and

    - for BFGS `line_search_maxiter` (10),
    - for L-BFGS `maxls` (20: the line search's), `ftol` (2.2e-9: the least gain of a step), `maxcor`
      (10: how many steps are remembered), `maxfun`, `maxgrad` (the most values and gradients).

    In forward mode the steps are differentiated; not in reverse mode. A step is searched for to the end
    where JAX's bracket gives up (status 3 or 5), so that more searches succeed.
    Raises ValueError for other methods; TypeError for other arguments, and unknown options."""
    if not isinstance(args, tuple):
        raise TypeError(f"args of minimize must be a tuple of fun's further arguments, got {args}")
    if method.lower() not in METHODS:
        raise ValueError(f"Method {method} not recognized; there are {', '.join(METHODS)}")
    search = METHODS[method.lower()]
    options = {} if options is None else options
    known = [name for name in inspect.signature(search).parameters if name not in ("fun", "x")]
    if unknown := set(options) - set(known):
        raise TypeError(f"minimize has no options {sorted(unknown)}; it has {', '.join(known)}")
    check_arraylike("minimize", x0)
    if jnp.ndim(x0) != 1:
        raise TypeError(f"x0 must be an array of one axis, got the shape {jnp.shape(x0)}")
    return search(lambda x: fun(x, *args), jnp.asarray(x0), **options)
