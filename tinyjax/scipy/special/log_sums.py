"""softmax and log_softmax, as SciPy has them: along all axes by default."""

from __future__ import annotations

from typing import Any

from tinyjax.numpy import log_sums


def softmax(x: Any, /, *, axis: Any = None) -> Any:
    """exp(x), divided by its sum along `axis` (an int, a tuple, None for all): jax.nn.softmax."""
    return log_sums.softmax(x, axis=axis)


def log_softmax(x: Any, /, *, axis: Any = None) -> Any:
    """log(softmax(x)), which stays finite where softmax(x) rounds to 0: jax.nn.log_softmax."""
    return log_sums.log_softmax(x, axis=axis)
