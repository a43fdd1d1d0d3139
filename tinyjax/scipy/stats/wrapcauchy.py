"""`jax.scipy.stats.wrapcauchy`: Cauchy's distribution, wrapped around the circle: of an angle x in [0, 2 pi].

Source: https://en.wikipedia.org/wiki/Wrapped_Cauchy_distribution
"""

from typing import Any

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.core.array import Array
from tinyjax.core.missing_names import getattr_of
from tinyjax.scipy.stats.distribution_functions import exp_of, promoted


@promoted
def logpdf(x: Any, c: Any) -> Array:
    """log((1 - c**2) / (2 pi (1 + c**2 - 2 c cos(x)))); NaN for c outside of (0, 1)."""
    square = c * c
    inside = jnp.log(1 - square) - jnp.log(2 * np.pi) - jnp.log(1 + square - 2 * c * jnp.cos(x))
    within = jnp.where((x >= 0) & (x <= 2 * np.pi), inside, -np.inf)
    return jnp.where((c > 0) & (c < 1), within, np.nan)


pdf = exp_of(logpdf)

__getattr__ = getattr_of(__name__)
