"""`jax.scipy.stats.norm`: the normal distribution.

Sources: https://en.wikipedia.org/wiki/Normal_distribution
https://docs.jax.dev/en/latest/jax.scipy.html#module-jax.scipy.stats.norm
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.array import Array
from tinyjax.missing_names import getattr_of
from tinyjax.numpy.util import promote_args_inexact
from tinyjax.scipy.special.normal_distribution import log_ndtr, ndtr, ndtri


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """-((x - loc)**2 / scale**2 + log(2 pi scale**2)) / 2."""
    x, loc, scale = promote_args_inexact("norm.logpdf", x, loc, scale)
    variance = jnp.square(scale)
    normalizer = jnp.log(2 * np.pi * variance)
    return -(normalizer + jnp.square(x - loc) / variance) / 2


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The density: exp of logpdf."""
    return jnp.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of at most x."""
    x, loc, scale = promote_args_inexact("norm.cdf", x, loc, scale)
    return ndtr((x - loc) / scale)


def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """log of cdf, exact far to the left."""
    x, loc, scale = promote_args_inexact("norm.logcdf", x, loc, scale)
    return log_ndtr((x - loc) / scale)


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of more than x: by symmetry cdf of the other side."""
    x, loc, scale = promote_args_inexact("norm.sf", x, loc, scale)
    return cdf(-x, -loc, scale)


def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """log of sf, exact far to the right."""
    x, loc, scale = promote_args_inexact("norm.logsf", x, loc, scale)
    return logcdf(-x, -loc, scale)


def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The x with cdf(x) = q; NaN for q outside of [0, 1]."""
    return ndtri(promote_args_inexact("norm.ppf", q)[0]) * scale + loc


def isf(q: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The x with sf(x) = q."""
    (q,) = promote_args_inexact("norm.isf", q)
    return ppf(1 - q, loc, scale)


__getattr__ = getattr_of(__name__)
