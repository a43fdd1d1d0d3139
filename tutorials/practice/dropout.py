"""Keys for a training run: one for each step and each layer, whatever else is drawn."""

from __future__ import annotations

from typing import Any

import tinyjax.numpy as jnp
from tinyjax import random


def key_for(key: Any, step: Any, layer: Any) -> Any:
    """A key for what a layer draws in a step: made of the run's `key` and the two whole numbers.

    Each pair of numbers has its own, which no other pair has. It does not depend on which keys were
    made before, nor on how many layers or steps there are. The numbers may be traced."""
    return random.fold_in(random.fold_in(key, step), layer)


def dropout(key: Any, rate: float, x: Any) -> Any:
    """`x` with some elements left out: each becomes 0 with the probability `rate`, by itself, and else is
    divided by `1 - rate`, so that the mean stays what it was. Equal keys leave out the same elements. The
    dtype stays. A rate of 0 gives x, and one of 1 zeros; it may be traced."""
    kept = random.bernoulli(key, 1 - rate, x.shape)
    return jnp.where(kept, x / (1 - rate), 0)
