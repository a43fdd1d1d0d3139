"""A long loop whose gradient needs little memory: `checkpoint`, put where it pays.

It chooses what a gradient keeps, and what it computes twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tinyjax as jax
from tinyjax import lax


def scan_in_segments(
    step: Callable[[Any, Any], tuple[Any, Any]], state: Any, xs: Any, length: int
) -> tuple[Any, Any]:
    """`lax.scan(step, state, xs)`, whose gradient keeps a state for each `length` steps (and xs), no more.

    It is a scan over segments. A segment is a scan over `length` steps, under `jax.checkpoint`: the way back
    computes it again. So of a thousand steps in segments of 32, never more is kept than 32 states and what 32
    steps need. States, xs and ys may be trees, also of arrays without numbers. The number of steps is a
    multiple of `length`: else this is a ValueError that names both."""
    steps = len(jax.tree.leaves(xs)[0])
    if steps % length:
        raise ValueError(f"{steps} steps cannot be cut into segments of {length}")

    def segment(state: Any, xs: Any) -> tuple[Any, Any]:
        return lax.scan(step, state, xs)

    segments = jax.tree.map(lambda x: x.reshape(steps // length, length, *x.shape[1:]), xs)
    state, ys = lax.scan(jax.checkpoint(segment), state, segments)
    return state, jax.tree.map(lambda y: y.reshape(steps, *y.shape[2:]), ys)
