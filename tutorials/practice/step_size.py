"""A step size that changes: up in the beginning, then down along half a cosine.

A schedule that runs inside a compiled step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tinyjax.numpy as jnp


def warm_up_and_cosine(peak: float, warm_up: int, steps: int) -> Callable[[Any], Any]:
    """A schedule: a function of a step's number that gives its step size. Number and peak may be traced.

    From step 0 to step `warm_up` it grows evenly from 0 to `peak`. From there to step `steps` it falls along
    half a cosine, `(1 + cos(pi * t)) / 2` times the peak, where t goes from 0 to 1. After that it is 0.
    A warm-up of 0 steps begins with the peak."""

    def step_size(i: Any) -> Any:
        rising = i / max(warm_up, 1)
        t = jnp.clip((i - warm_up) / (steps - warm_up), 0, 1)
        falling = (1 + jnp.cos(jnp.pi * t)) / 2
        return peak * jnp.where(i < warm_up, rising, falling)

    return step_size
