"""A recurrence as one equation: the moving average of what is measured.

A `scan` instead of a Python loop.
"""

from __future__ import annotations

from typing import Any

import tinyjax.numpy as jnp
from tinyjax import lax


def moving_average(xs: Any, keep: Any) -> Any:
    """The moving average after each x: `keep` times the average before, plus `1 - keep` times x.

    `xs` are floats of shape (n, ...), of which the first is the first average. The result has their shape.
    Where an x is nan, nothing was measured, and the average stays as it is; the first is never nan. Gradients
    are never nan either, by `xs` or by `keep`.

    It is one `lax.scan`: the jaxpr has as many equations for a thousand xs as for three."""

    def step(average: Any, x: Any) -> Any:
        measured = jnp.where(jnp.isnan(x), average, x)
        average = keep * average + (1 - keep) * measured
        return average, average

    return lax.scan(step, xs[0], xs)[1]
