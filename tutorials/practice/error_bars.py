"""Error bars: how exact is what is computed from measured values?

A use of jvp for a question that is not about derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tinyjax as jax
import tinyjax.numpy as jnp


def error_of(function: Callable[..., Any], values: Sequence[float], errors: Sequence[float]) -> Any:
    """The error of `function(*values)`, a number or an array, where each value has its own error,
    independent of the others: how far the result moves if one value alone moves by its error, squared;
    summed over the values; and the root of that."""
    squares: Any = 0.0
    for i, error in enumerate(errors):
        alone = tuple(error if j == i else 0.0 for j in range(len(values)))
        _, moved = jax.jvp(function, tuple(values), alone)
        squares = squares + moved * moved
    return jnp.sqrt(squares)
