"""Which arguments of a function should be static, and what each costs.

What Python needs to know while it traces must be static, and nothing else should be.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import tinyjax as jax
import tinyjax.numpy as jnp


def blurred(x: Any, times: int, rate: Any, edge: str) -> Any:
    """Each element goes towards the mean of its neighbours, several times. Beyond the ends of x there are
    zeros (edge="zero"), or x begins again (edge="wrap")."""
    for _ in range(times):
        beyond = jnp.zeros(1) if edge == "zero" else x[-1:]
        left = jnp.concatenate([beyond, x[:-1]])
        right = jnp.concatenate([x[1:], beyond if edge == "zero" else x[:1]])
        x = x + rate * ((left + right) / 2 - x)
    return x


def compiled() -> Any:
    """`blurred`, jitted, by one call of `jax.jit`. Its arguments can be given by position or by name. An
    experiment, which has a few different `times` and `edge` and hundreds of rates, traces it as rarely as
    possible."""
    return jax.jit(blurred, static_argnames=("times", "edge"))


def traces(function: Callable, calls: Sequence[tuple[tuple, dict]], **options: Any) -> int:
    """How often Python runs the function, jitted with these options of jit (`static_argnames`, say), if it is
    called with each of the `calls`: (positional arguments, arguments by name)."""
    count = 0

    @functools.wraps(function)
    def counted(*args: Any, **kwargs: Any) -> Any:
        nonlocal count
        count += 1
        return function(*args, **kwargs)

    fast = jax.jit(counted, **options)
    for args, kwargs in calls:
        fast.trace(*args, **kwargs)
    return count
