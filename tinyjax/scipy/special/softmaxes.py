"""softmax and log_softmax: probabilities from logits.

After this file you know why softmax subtracts the maximum (exp of a large number is inf; the result is
the same without it), and why that maximum stands in stop_gradient (its derivative cancels). Builds on
jax.numpy.

Source: https://docs.jax.dev/en/latest/_autosummary/jax.nn.softmax.html
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.core.array import Array
from tinyjax.numpy.util import ensure_arraylike
from tinyjax.transform.jit.api import jitted


def softmax(x: Any, axis: Any = -1, where: Any = None) -> Array:
    """exp(x), divided by its sum along `axis` (an int, a tuple, None for all).

    Elements not in the mask `where` do not count and give 0. Raises ValueError for an axis out of
    range. An element inf, or all of them -inf, give NaN."""
    x = ensure_arraylike("softmax", x)
    x_max = jnp.max(x, axis, where=where, initial=-np.inf, keepdims=True)
    x_safe = x if where is None else jnp.where(where, x, -np.inf)
    unnormalized = jnp.exp(x_safe - lax.stop_gradient(x_max))
    result = unnormalized / jnp.sum(unnormalized, axis, where=where, keepdims=True)
    return result if where is None else jnp.where(where, result, 0)


@jitted(static_argnames=("axis",))
def log_softmax(x: Any, axis: Any = -1, where: Any = None) -> Array:
    """log(softmax(x)), which stays finite where softmax(x) rounds to 0; masked elements give -inf.

    Arguments and errors are those of softmax."""
    x = ensure_arraylike("log_softmax", x)
    x_max = jnp.max(x, axis, where=where, initial=-np.inf, keepdims=True)
    x_safe = x if where is None else jnp.where(where, x, -np.inf)
    shifted = x_safe - lax.stop_gradient(x_max)
    result = shifted - jnp.log(jnp.sum(jnp.exp(shifted), axis, where=where, keepdims=True))
    return result if where is None else jnp.where(where, result, -np.inf)
