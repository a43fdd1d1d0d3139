"""`jax.scipy.stats.expon`: the exponential distribution of mean scale, from loc on.

Source: https://en.wikipedia.org/wiki/Exponential_distribution
"""

from typing import Any

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.core.array import Array
from tinyjax.core.missing_names import getattr_of
from tinyjax.nn.activations import log1mexp
from tinyjax.scipy.stats.distribution_functions import exp_of, promoted


@promoted
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """-(x - loc) / scale - log(scale) from loc on; -inf before."""
    return jnp.where(x < loc, -np.inf, -((x - loc) / scale + jnp.log(scale)))


@promoted
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of at most x: 1 - exp(-y)."""
    return jnp.where(x < loc, 0, -jnp.expm1((loc - x) / scale))


@promoted
def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """log of cdf."""
    return jnp.where(x < loc, -np.inf, log1mexp((x - loc) / scale))


@promoted
def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """log of sf: -(x - loc) / scale."""
    return jnp.where(x < loc, 0, (loc - x) / scale)


@promoted
def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The x with cdf(x) = q; NaN for q outside of [0, 1]."""
    return jnp.where((q < 0) | (q > 1), np.nan, loc - scale * jnp.log1p(-q))


pdf = exp_of(logpdf)
sf = exp_of(logsf)

__getattr__ = getattr_of(__name__)
