"""Lesson 7: solving equations, with a derivative that is used many times at one point.

x = find_root(lambda x: 2.0 * x + x**3 - 1.0, jnp.zeros(5), steps=5)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tinyjax as jax
import tinyjax.numpy as jnp


def solve(multiply: Callable, b: Any, most: int = 100) -> Any:
    """The x with multiply(x) = b, where `multiply` is linear, by the method of conjugate gradients.

    It asks `multiply` at many x, and nothing else: no matrix is made. (If it were, it would have to be
    symmetric, with positive eigenvalues.)"""
    x, left = jnp.zeros_like(b), b
    direction, size = left, jnp.sum(left * left)
    for _ in range(most):
        if size < 1e-12:
            break
        moved = multiply(direction)
        step = size / jnp.sum(direction * moved)
        x, left = x + step * direction, left - step * moved
        before, size = size, jnp.sum(left * left)
        direction = left + size / before * direction
    return x


def find_root(g: Callable, x: Any, steps: int) -> Any:
    """The x with g(x) = 0, after `steps` steps of Newton's method from a guess `x`.

    Near x, g moves as its derivative there does: g(x + d) is about g(x) + derivative(d). A step goes to
    where that is zero. `solve` finds the d, and asks for derivative(d) many times; g itself is costly,
    and must run once a step."""
    for _ in range(steps):
        value, derivative = jax.linearize(g, x)
        x = x - solve(derivative, value)
    return x
