"""A batch that is too large for the memory: its gradient, a piece at a time.

Gradients are added up in a loop. When do they equal those of the whole batch?
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax


def value_and_grad_in_pieces(
    loss: Callable[[Any, Any], Any], params: Any, batch: Any, pieces: int
) -> tuple[Any, Any]:
    """`jax.value_and_grad(loss)(params, batch)`, of `pieces` pieces of the batch, one after the other.

    `loss` is a mean over examples. `batch` is a tree of arrays with the examples along axis 0; those of a
    piece stand together in it. `params` is a tree too. One `lax.scan` goes over the pieces: no more than one
    is worked on at a time, its gradients are added to those so far and not kept, and the program is as long
    for a hundred as for two. The number of examples is a multiple of `pieces`: else this is a ValueError that
    names both."""
    examples = len(jax.tree.leaves(batch)[0])
    if examples % pieces:
        raise ValueError(f"{examples} examples cannot be cut into {pieces} equal pieces")

    def step(sums: Any, piece: Any) -> Any:
        here = jax.value_and_grad(loss)(params, piece)
        return jax.tree.map(lambda a, b: a + b, sums, here), None

    parts = jax.tree.map(lambda x: x.reshape(pieces, examples // pieces, *x.shape[1:]), batch)
    zeros = jnp.zeros(()), jax.tree.map(jnp.zeros_like, params)
    sums, _ = lax.scan(step, zeros, parts)
    return jax.tree.map(lambda x: x / pieces, sums)
