"""Lesson 6: a program that changes programs, so that small numbers are not lost.

    precise(loss)(-30.0)

log(1 + x) is 0 for a small x, since 1 + x is 1 when it is rounded; exp(x) - 1 is 0 too. NumPy and tinyjax
have log1p(x) and expm1(x), which lose nothing. Here a program that was written without them gets them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tinyjax as jax
from tinyjax.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, jaxpr_as_fun
from tinyjax.core.primitives import add_p
from tinyjax.lax.arithmetic import sub_p
from tinyjax.lax.exponential import exp_p, expm1_p, log1p_p, log_p


def is_one(operand: Var | Literal) -> bool:
    """Whether the operand is the number 1, as it stands in a program."""
    return isinstance(operand, Literal) and operand.val == 1


def with_jaxprs(params: dict[str, Any], change: Callable[[Jaxpr], Jaxpr]) -> dict[str, Any]:
    """The parameters of an equation, with what `change` makes of each jaxpr among them."""

    def changed(value: Any) -> Any:
        if isinstance(value, ClosedJaxpr):
            return value.replace(jaxpr=change(value.jaxpr))
        if isinstance(value, tuple):
            return tuple(map(changed, value))
        return change(value) if isinstance(value, Jaxpr) else value

    return {name: changed(value) for name, value in params.items()}


def precise_jaxpr(jaxpr: Jaxpr) -> Jaxpr:
    """The same program with `log1p x` for the log of 1 + x or x + 1, and `expm1 x` for exp(x) - 1: also in
    jaxprs within its equations.

    Equations that another reads stay in their place (unused ones may stay or go). An equation
    that is changed is still of its line of the user's program."""
    made_by: dict[Any, JaxprEqn] = {}
    eqns = []
    for eqn in jaxpr.eqns:
        eqn = eqn.replace(params=with_jaxprs(eqn.params, precise_jaxpr))
        before = made_by.get(eqn.invars[0]) if eqn.invars else None
        if before and eqn.primitive is log_p and before.primitive is add_p:
            rest = [v for v in before.invars if not is_one(v)]
            if len(rest) == 1:
                eqn = eqn.replace(primitive=log1p_p, invars=rest)
        elif before and eqn.primitive is sub_p and before.primitive is exp_p:
            if is_one(eqn.invars[1]):
                eqn = eqn.replace(primitive=expm1_p, invars=before.invars)
        made_by.update((v, eqn) for v in eqn.outvars)
        eqns.append(eqn)
    return jaxpr.replace(eqns=eqns)


def precise(fun: Callable[..., Any]) -> Callable[..., Any]:
    """A function that computes what `fun` does, by its precise jaxpr. `fun` takes arrays, and gives one.
    Like grad and vmap, it can be used on their results, and they on its."""

    def fun_precise(*args: Any) -> Any:
        closed = jax.make_jaxpr(fun)(*args)
        return jaxpr_as_fun(closed.replace(jaxpr=precise_jaxpr(closed.jaxpr)))(*args)[0]

    return fun_precise
