"""`jax.scipy.stats.laplace`: Laplace's distribution, exponential to both sides.

Source: https://en.wikipedia.org/wiki/Laplace_distribution
"""

from typing import Any

from tinyjax import numpy as jnp
from tinyjax.core.array import Array
from tinyjax.core.missing_names import getattr_of
from tinyjax.scipy.stats.distribution_functions import exp_of, promoted


@promoted
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """-abs(x - loc) / scale - log(2 scale)."""
    return -(abs(x - loc) / scale + jnp.log(2 * scale))


@promoted
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of at most x."""
    y = (x - loc) / scale
    return jnp.where(y <= 0, 0.5 * jnp.exp(y), 1 - 0.5 * jnp.exp(-y))


pdf = exp_of(logpdf)

__getattr__ = getattr_of(__name__)
