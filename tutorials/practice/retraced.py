"""A training loop that compiles in each round, and its cure.

Why does a program compile again and again?
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp

Batch = tuple[np.ndarray, np.ndarray]  # x, of some rows, and y, a number for each of them


def step(w: Any, x: Any, y: Any, rate: Any) -> Any:
    """One step down the gradient of the squared errors' sum. A row of zeros whose y is 0 adds nothing."""
    return w - rate * jax.grad(lambda w: ((x @ w - y) ** 2).sum())(w)


def fit_slowly(step: Callable, w: Any, batches: Sequence[Batch], rates: Sequence[float]) -> Any:
    """The w after a step for each of the batches, each at its own rate. It is right, and slow: ask
    `jax.explain_cache_misses()` why."""
    for (x, y), rate in zip(batches, rates):
        fast = jax.jit(lambda w, x, y, rate: step(w, x, y, rate), static_argnames="rate")
        w = fast(w, x, y, rate=rate)
    return w


def fit(step: Callable, w: Any, batches: Sequence[Batch], rates: Sequence[float]) -> Any:
    """The same w, with `step` jitted, and traced just once: whatever the rates are (some may be Python
    integers), and though some batches have fewer rows than others. Called again with the same `step`, and
    batches of the same sizes, it does not trace at all. `w` is an array, perhaps a tracer, and perhaps weakly
    typed, as `jnp.full(3, 0.0)` is: what `step` gives is not. Batches and rates are no tracers."""
    rows = max(len(y) for _, y in batches)
    fast = jax.jit(step)
    w = jnp.asarray(w, w.dtype)  # not weakly typed any more
    for (x, y), rate in zip(batches, rates):
        missing = rows - len(y)
        x, y = np.pad(x, ((0, missing), (0, 0))), np.pad(y, (0, missing))
        w = fast(w, x, y, float(rate))
    return w
