"""Taylor's series, by derivatives of derivatives.

A transformation nested as often as a number says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tinyjax as jax
import tinyjax.numpy as jnp

Function = Callable[[Any], Any]  # of one number


def derivative(function: Function) -> Function:
    return lambda x: jax.jvp(function, (x,), (jnp.ones_like(x),))[1]


def coefficients(function: Function, x: Any, order: int) -> list[Any]:
    """c[0] to c[order], with which function(x + h) is about c[0] + c[1] * h + c[2] * h**2 + ... for a small
    h: c[k] is the k-th derivative at x, divided by 1 * 2 * ... * k. `x` may be a tracer."""
    found, divisor = [function(x)], 1
    for k in range(1, order + 1):
        function, divisor = derivative(function), divisor * k
        found.append(function(x) / divisor)
    return found
