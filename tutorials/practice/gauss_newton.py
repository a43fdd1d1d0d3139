"""Lesson 8: least squares by a Jacobian, there and back, that is never made.

params = gauss_newton_step(residuals, params)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tinyjax as jax
from tinyjax.scipy.sparse.linalg import cg


def gauss_newton_product(fun: Callable, x: Any, direction: Any) -> Any:
    """J.T @ (J @ direction), where J is the Jacobian of `fun` at x: what curves sum(fun(x) ** 2) / 2.

    `x`, `direction` (a tree like x) and the result of `fun` may be any pytrees; the product is a tree
    like x. For n inputs and m results, nothing of n * m numbers is made."""
    moved = jax.jvp(fun, (x,), (direction,))[1]
    (product,) = jax.vjp(fun, x)[1](moved)
    return product


def gauss_newton_step(fun: Callable, x: Any, damping: float = 0.0) -> Any:
    """x + d, for the d that solves (J.T @ J + damping) @ d = -J.T @ fun(x), again without making J.

    Without damping, that is where sum(fun(x) ** 2) would be least, were `fun` its tangent at x: for a linear
    `fun`, it is. With damping, the step is shorter: what is added to J.T @ J is that number times the
    identity; it may be traced, and negative. `x` and the result of `fun` may be any pytrees."""
    value, pull_back = jax.vjp(fun, x)
    (slope,) = pull_back(value)

    def matrix(d: Any) -> Any:
        return jax.tree.map(lambda a, b: a + damping * b, gauss_newton_product(fun, x, d), d)

    d, _ = cg(matrix, slope)
    return jax.tree.map(lambda a, b: a - b, x, d)
