"""Lesson 8: a Jacobian, there and back, that is never made.

    gauss_newton_product(residuals, params, direction)

Builds on jvp and vjp.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tinyjax as jax


def gauss_newton_product(fun: Callable, x: Any, direction: Any) -> Any:
    """J.T @ (J @ direction), where J is the Jacobian of `fun` at x: what curves sum(fun(x) ** 2) / 2.

    `x`, `direction` (a tree like x) and the result of `fun` may be any pytrees; the product is a tree
    like x. For n inputs and m results, nothing of n * m numbers is made."""
    moved = jax.jvp(fun, (x,), (direction,))[1]
    (product,) = jax.vjp(fun, x)[1](moved)
    return product
