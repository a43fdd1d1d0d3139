"""Early stopping: a training that ends by itself, when data that it has not seen say so.

A whole training as one loop of a jaxpr, which can be compiled, and mapped over many trainings.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax


def train(
    step: Callable[[Any, Any], Any],
    loss: Callable[[Any], Any],
    params: Any,
    patience: int,
    most: int,
) -> tuple[Any, Any, Any]:
    """Trains until `patience` steps in a row have not made the loss smaller than it has ever been, or `most`
    steps are done. Gives the best parameters, their loss, and how many steps were done.

    `step(i, params)` gives the next parameters, a tree, where i counts steps from 0; `loss(params)` is a
    number, of data that the steps do not see. The given parameters may be the best. `patience` and `most` may
    be traced. It is one while_loop."""

    def goes_on(carry: Any) -> Any:
        i, waited, *_ = carry
        return (waited < patience) & (i < most)

    def body(carry: Any) -> Any:
        i, waited, params, best, best_loss = carry
        params = step(i, params)
        value = loss(params)
        is_better = value < best_loss
        best = jax.tree.map(lambda new, old: jnp.where(is_better, new, old), params, best)
        waited = jnp.where(is_better, 0, waited + 1)
        return i + 1, waited, params, best, jnp.where(is_better, value, best_loss)

    start = (0, 0, params, params, loss(params))
    i, _, _, best, best_loss = lax.while_loop(goes_on, body, start)
    return best, best_loss, i
