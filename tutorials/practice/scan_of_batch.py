"""One loop for a batch of examples: where the batch goes, and where the loop's axis goes.

This is what `vmap` makes of a `scan`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax


def scan_of_batch(
    step: Callable[[Any, Any, Any], tuple[Any, Any]],
    operands: tuple[Any, Any, Any],
    dims: tuple[int | None, int | None, int | None],
    size: int,
) -> tuple[Any, Any]:
    """For each of `size` examples, `lax.scan(lambda state, x: step(weights, state, x), state, xs)`; in one
    `lax.scan`, whose iterations do a step of all examples. `lax.scan` itself is not mapped over.

    `operands` are the arrays weights, state and xs; `step` is written for those of one example. Of an
    operand whose dim is 0, each example has its own, along axis 0: all xs are then (size, steps, ...). One
    whose dim is None is the same for all. The results, the last states and all ys, have the examples along
    axis 0."""
    weights, state, xs = operands
    if dims[1] is None:
        state = jnp.broadcast_to(state, (size, *state.shape))
    if dims[2] == 0:
        xs = jnp.swapaxes(xs, 0, 1)
    step_of_all = jax.vmap(step, in_axes=(dims[0], 0, dims[2]))
    states, ys = lax.scan(lambda state, x: step_of_all(weights, state, x), state, xs)
    return states, jnp.swapaxes(ys, 0, 1)
