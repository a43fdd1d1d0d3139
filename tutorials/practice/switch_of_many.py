"""A function chosen for each example: all are run, and none spoils another's gradient.

This is what `vmap` makes of a `cond`, and how `0 * inf` is kept out of a gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tinyjax.numpy as jnp
from tinyjax import lax


def switch_of_many(indices: Any, functions: Sequence[Callable[[Any], Any]], xs: Any) -> Any:
    """For each i, `functions[indices[i]]` of `xs[i]`.

    `indices` are n int32s, `xs` n floats. A function takes n numbers and gives n: each is called once, with n
    numbers, and what it gives for examples of another function is not looked at. Results of several dtypes
    are promoted, as by `jnp.stack`. As with `lax.switch`, an
    index that is too small means the first function, and one that is too large the last.

    The derivative by `xs[i]` is that of its own function, also where another's is infinite or nan at `xs[i]`:
    an operand of a function is `lax.stop_gradient(x)` for examples of another."""
    indices = jnp.clip(indices, 0, len(functions) - 1)
    results = []
    for i, function in enumerate(functions):
        own = jnp.where(indices == i, xs, lax.stop_gradient(xs))
        results.append(function(own))
    return jnp.stack(results)[indices, jnp.arange(len(xs))]
