"""Lesson 9: the derivative of what a loop arrives at.

x = fixed_point(step, a, start)      # the x with x = step(x, a)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tinyjax as jax
import tinyjax.numpy as jnp


def repeat(step: Callable, start: Any) -> Any:
    """The x with x = step(x), close to where `start`, step(start), step(step(start)), ... go.

    Raises ValueError if they come to no rest."""
    x = start
    for _ in range(1000):
        before, x = x, step(x)
        if jnp.max(jnp.abs(x - before)) <= 1e-6 + 1e-6 * jnp.max(jnp.abs(x)):
            return x
    raise ValueError(f"a thousand steps come to no rest: the last two are {before} and {x}")


def sum_of_powers(slopes: Any) -> Any:
    """1 + slopes + slopes @ slopes + ..., which is the inverse of the matrix 1 - slopes.

    It is there if `slopes` makes vectors shorter, as it does around a point where `repeat` arrives."""
    one = jnp.eye(len(slopes))
    return repeat(lambda total: one + slopes @ total, one)


def fixed_point(step: Callable, a: Any, start: Any) -> Any:
    """The vector x with x = step(x, a), found by `repeat`; differentiable by `a`, which may be any pytree.

    No derivative goes through the loop that finds x. Move a: then x moves so that x = step(x, a) still holds,

        x_dot = slopes @ x_dot + part        so        (1 - slopes) @ x_dot = part

    where `slopes` is the Jacobian of step by x, at the fixed point, and `part` is how step moves with a
    alone. (In reverse mode x_dot and part have no value yet: no loop can look at them to decide when to
    end.) It works in forward and in reverse mode, and again for second derivatives."""

    @jax.custom_jvp
    def find(a: Any) -> Any:
        return repeat(lambda x: step(x, a), start)

    @find.defjvp
    def find_jvp(primals: Any, tangents: Any) -> Any:
        x = find(*primals)
        slopes = jax.jacfwd(step)(x, *primals)
        part = jax.jvp(lambda a: step(x, a), primals, tangents)[1]
        return x, sum_of_powers(slopes) @ part

    return find(a)
