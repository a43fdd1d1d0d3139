"""The gradient of a loop: forwards, keeping what each step needs; then backwards, step by step.

Where do the cotangents of weights, state, inputs and outputs go?
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tinyjax as jax

Step = Callable[[Any, Any, Any], tuple[Any, Any]]  # (weights, state, x) to (state, y)
WayBack = Callable[[Any], tuple[Any, Any, Any]]  # (ct_state, ct_y) to (ct_weights, ct_state, ct_x)


def forwards(step: Step, weights: Any, state: Any, xs: Sequence[Any]) -> tuple[Any, list, list]:
    """The last state, all ys, and of each step its way back: what `jax.vjp` gives, and has kept."""
    ys, ways_back = [], []
    for x in xs:
        (state, y), way_back = jax.vjp(step, weights, state, x)
        ys.append(y)
        ways_back.append(way_back)
    return state, ys, ways_back


def backwards(
    ways_back: Sequence[WayBack], ct_state: Any, ct_ys: Sequence[Any], ct_weights: Any
) -> tuple[Any, Any, list]:
    """The cotangents of weights, first state and xs, from those of the last state and of ys.

    `ways_back[i]((ct_state, ct_y))` takes the cotangents of what step i gave, and gives those of what it
    took: `(ct_weights, ct_state, ct_x)`. Each is called once. The weights are the same in all steps, so that
    their cotangents add up, upon the `ct_weights` that come in; these are a tree. Those of xs are a list, in
    the order of xs."""
    ct_xs = []
    for way_back, ct_y in zip(reversed(ways_back), reversed(ct_ys)):
        more, ct_state, ct_x = way_back((ct_state, ct_y))
        ct_weights = jax.tree.map(lambda a, b: a + b, ct_weights, more)
        ct_xs.append(ct_x)
    return ct_weights, ct_state, ct_xs[::-1]
