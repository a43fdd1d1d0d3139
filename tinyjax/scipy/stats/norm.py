"""`jax.scipy.stats.norm`: the normal distribution.

Source: https://en.wikipedia.org/wiki/Normal_distribution
"""

from typing import Any

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.core.array import Array
from tinyjax.core.missing_names import getattr_of
from tinyjax.numpy.promotion import promote_args_inexact
from tinyjax.scipy.special.normal_distribution import log_ndtr, ndtr, ndtri
from tinyjax.scipy.stats.distribution_functions import exp_of, mirrored, promoted


@promoted
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """-((x - loc)**2 / scale**2 + log(2 pi scale**2)) / 2."""
    variance = jnp.square(scale)
    normalizer = jnp.log(2 * np.pi * variance)
    return -(normalizer + jnp.square(x - loc) / variance) / 2


@promoted
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of at most x."""
    return ndtr((x - loc) / scale)


@promoted
def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """log of cdf, exact far to the left."""
    return log_ndtr((x - loc) / scale)


def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The x with cdf(x) = q; NaN for q outside of [0, 1]."""
    return ndtri(promote_args_inexact("norm.ppf", q)[0]) * scale + loc


def isf(q: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The x with sf(x) = q."""
    (q,) = promote_args_inexact("norm.isf", q)
    return ppf(1 - q, loc, scale)


pdf = exp_of(logpdf)
sf = mirrored(cdf)
logsf = mirrored(logcdf)

__getattr__ = getattr_of(__name__)
