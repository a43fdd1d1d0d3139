"""`jax.scipy.stats.t`: Student's distribution of df degrees of freedom.

Source: https://en.wikipedia.org/wiki/Student's_t-distribution
"""

from typing import Any

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.core.array import Array
from tinyjax.core.missing_names import getattr_of
from tinyjax.scipy.special.gamma_family import gammaln
from tinyjax.scipy.stats.distribution_functions import exp_of, promoted


@promoted
def logpdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """log of (1 + y**2 / df)**-(df + 1) / 2, less its normalizer, for y = (x - loc) / scale."""
    y = (x - loc) / scale
    half = (df + 1) / 2
    normalizer = gammaln(df / 2) - gammaln(half) + 0.5 * jnp.log(df * np.pi * jnp.square(scale))
    return -(normalizer + half * jnp.log1p(y * y / df))


pdf = exp_of(logpdf)

__getattr__ = getattr_of(__name__)
