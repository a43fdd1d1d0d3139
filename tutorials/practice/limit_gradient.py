"""Lesson 9: a gradient that may not become too long.

loss(limit_gradient(params, 1.0))
"""

from __future__ import annotations

from typing import Any

import tinyjax as jax
import tinyjax.numpy as jnp


def limit_gradient(tree: Any, limit: float) -> Any:
    """The tree as it is. Backwards, the cotangent that comes to it goes on with a length of at most `limit`.

    The arrays are of floats; `limit` may be traced. The length of a tree of arrays is the square root of the
    sum of the squares of all their entries. A cotangent that is longer is multiplied by one number, such that
    its length is `limit` (its direction stays); any other one, that of length 0 too, goes on unchanged."""

    @jax.custom_vjp
    def same(tree: Any) -> Any:
        return tree

    def fwd(tree: Any) -> Any:
        return tree, None

    def bwd(_: None, ct: Any) -> Any:
        length = jnp.sqrt(sum(jnp.sum(x * x) for x in jax.tree.leaves(ct)))
        factor = limit / jnp.maximum(length, limit)
        return (jax.tree.map(lambda x: factor * x, ct),)

    same.defvjp(fwd, bwd)
    return same(tree)
