"""A loop whose length depends on its values: where is a function zero?

A `while_loop` whose carry keeps its types, and which ends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tinyjax.numpy as jnp
from tinyjax import lax


def bisect(
    fun: Callable[[Any], Any], low: Any, high: Any, tolerance: float = 1e-4
) -> tuple[Any, Any]:
    """Where `fun` is zero between `low` and `high`, and how many halvings it took.

    `fun` takes a number, and has one sign at `low`, the lower bound, and the other at `high`: it may rise or
    fall. As long as the interval is longer than `tolerance`, it is halved, and the half is kept at whose two
    ends the signs differ. The middle of the last interval is the place, a float32 also where the bounds are
    whole numbers, and a float64 where jax_enable_x64 is on.

    No float lies in the middle of two neighbours: the loop then ends, however small the tolerance. It is one
    `lax.while_loop`, so that it works under `jit`, and under `vmap` for many bounds or tolerances at once."""

    def goes_on(carry: Any) -> Any:
        low, high, _ = carry
        middle = (low + high) / 2
        return (high - low > tolerance) & (low < middle) & (middle < high)

    def halve(carry: Any) -> Any:
        low, high, halvings = carry
        middle = (low + high) / 2
        is_above = jnp.sign(fun(middle)) == jnp.sign(fun(low))
        return jnp.where(is_above, middle, low), jnp.where(is_above, high, middle), halvings + 1

    first = jnp.asarray(low, float), jnp.asarray(high, float), 0
    low, high, halvings = lax.while_loop(goes_on, halve, first)
    return (low + high) / 2, halvings
