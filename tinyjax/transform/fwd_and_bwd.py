"""`fwd_and_bwd`: vjp as two functions, which can be compiled and called separately."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tinyjax.core.api_util import function_of
from tinyjax.transform.jit.api import jit
from tinyjax.transform.vjp import vjp


def fwd_and_bwd(
    fun: Callable, argnums: int | Sequence[int], has_aux: bool = False, jitted: bool = True
) -> tuple[Callable, Callable]:
    """Two functions: fwd(*args) gives (out, residuals), or (out, residuals, aux) with has_aux;
    bwd(residuals, cotangent of out) gives the cotangent of argument `argnums`, or a tuple if argnums is
    one.

    `jitted`: both are compiled."""

    def fwd(*args: Any, **kwargs: Any) -> tuple:
        dynamic, partial_fun = function_of(fun, argnums, args, kwargs, ValueError)
        out, f_vjp, *aux = vjp(partial_fun, *dynamic, has_aux=has_aux)
        return (out, f_vjp, *aux)

    def bwd(residuals: Callable, cotangent: Any) -> Any:
        cotangents = residuals(cotangent)
        return cotangents[0] if isinstance(argnums, int) else cotangents

    return (jit(fwd), jit(bwd)) if jitted else (fwd, bwd)
