"""Lesson 8: gradient descent that finds its own step size.

params, rate = descent_step(loss, params, rate=8.0)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tinyjax as jax
import tinyjax.numpy as jnp


def descent_step(loss: Callable, params: Any, rate: float) -> tuple[Any, float]:
    """The parameters after one step downhill, and the rate with which it was made.

    A step of a rate r goes from each parameter p with gradient g to p - r * g. It is good if it takes
    the loss down by r * s / 2 at least, where s is the sum of the squares of all entries of the
    gradient; where the loss is no number (nan), it is not good. Tries `rate`, half of it, a quarter, ...,
    until a step is good. `params` may be any pytree, at which the loss and its gradient are
    numbers, not nan; they are computed once, together, and each try costs one loss."""
    value, gradient = jax.value_and_grad(loss)(params)
    squares = sum(jnp.sum(g * g) for g in jax.tree.leaves(gradient))

    def moved(rate: float) -> Any:
        return jax.tree.map(lambda p, g: p - rate * g, params, gradient)

    while not loss(moved(rate)) <= value - rate * squares / 2:  # so that nan is not good
        rate = rate / 2
    return moved(rate), rate
