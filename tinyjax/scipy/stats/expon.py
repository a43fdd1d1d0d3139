"""`jax.scipy.stats.expon`: the exponential distribution of mean scale, from loc on.

Sources: https://en.wikipedia.org/wiki/Exponential_distribution
https://docs.jax.dev/en/latest/jax.scipy.html#module-jax.scipy.stats.expon
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.array import Array
from tinyjax.missing_names import getattr_of
from tinyjax.nn.activations import log1mexp
from tinyjax.numpy.util import promote_args_inexact


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """-(x - loc) / scale - log(scale) from loc on; -inf before."""
    x, loc, scale = promote_args_inexact("expon.logpdf", x, loc, scale)
    return jnp.where(x < loc, -np.inf, -((x - loc) / scale + jnp.log(scale)))


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The density: exp of logpdf."""
    return jnp.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of at most x: 1 - exp(-y)."""
    x, loc, scale = promote_args_inexact("expon.cdf", x, loc, scale)
    return jnp.where(x < loc, 0, -jnp.expm1((loc - x) / scale))


def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """log of cdf."""
    x, loc, scale = promote_args_inexact("expon.logcdf", x, loc, scale)
    return jnp.where(x < loc, -np.inf, log1mexp((x - loc) / scale))


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of more than x."""
    return jnp.exp(logsf(x, loc, scale))


def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """log of sf: -(x - loc) / scale."""
    x, loc, scale = promote_args_inexact("expon.logsf", x, loc, scale)
    return jnp.where(x < loc, 0, (loc - x) / scale)


def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The x with cdf(x) = q; NaN for q outside of [0, 1]."""
    q, loc, scale = promote_args_inexact("expon.ppf", q, loc, scale)
    return jnp.where((q < 0) | (q > 1), np.nan, loc - scale * jnp.log1p(-q))


__getattr__ = getattr_of(__name__)
