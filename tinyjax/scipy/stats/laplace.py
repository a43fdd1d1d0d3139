"""`jax.scipy.stats.laplace`: Laplace's distribution, exponential to both sides.

Sources: https://en.wikipedia.org/wiki/Laplace_distribution
https://docs.jax.dev/en/latest/jax.scipy.html#module-jax.scipy.stats.laplace
"""

from __future__ import annotations

from typing import Any

from tinyjax import numpy as jnp
from tinyjax.array import Array
from tinyjax.missing_names import getattr_of
from tinyjax.numpy.util import promote_args_inexact


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """-abs(x - loc) / scale - log(2 scale)."""
    x, loc, scale = promote_args_inexact("laplace.logpdf", x, loc, scale)
    return -(abs(x - loc) / scale + jnp.log(2 * scale))


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The density: exp of logpdf."""
    return jnp.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of at most x."""
    x, loc, scale = promote_args_inexact("laplace.cdf", x, loc, scale)
    y = (x - loc) / scale
    return jnp.where(y <= 0, 0.5 * jnp.exp(y), 1 - 0.5 * jnp.exp(-y))


__getattr__ = getattr_of(__name__)
