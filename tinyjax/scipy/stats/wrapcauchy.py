"""`jax.scipy.stats.wrapcauchy`: Cauchy's distribution, wrapped around the circle: of an angle x in [0, 2 pi].

Sources: https://en.wikipedia.org/wiki/Wrapped_Cauchy_distribution
https://docs.jax.dev/en/latest/jax.scipy.html#module-jax.scipy.stats.wrapcauchy
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.array import Array
from tinyjax.missing_names import getattr_of
from tinyjax.numpy.util import promote_args_inexact


def logpdf(x: Any, c: Any) -> Array:
    """log((1 - c**2) / (2 pi (1 + c**2 - 2 c cos(x)))); NaN for c outside of (0, 1)."""
    x, c = promote_args_inexact("wrapcauchy.logpdf", x, c)
    square = c * c
    inside = jnp.log(1 - square) - jnp.log(2 * np.pi) - jnp.log(1 + square - 2 * c * jnp.cos(x))
    within = jnp.where((x >= 0) & (x <= 2 * np.pi), inside, -np.inf)
    return jnp.where((c > 0) & (c < 1), within, np.nan)


def pdf(x: Any, c: Any) -> Array:
    """The density: exp of logpdf."""
    return jnp.exp(logpdf(x, c))


__getattr__ = getattr_of(__name__)
