"""`jax.scipy.stats.uniform`: the uniform distribution on [loc, loc + scale].

Source: https://en.wikipedia.org/wiki/Continuous_uniform_distribution
"""

from typing import Any

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.core.array import Array
from tinyjax.core.missing_names import getattr_of
from tinyjax.scipy.stats.distribution_functions import exp_of, promoted


@promoted
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """-log(scale) inside, both ends included; -inf outside."""
    outside = (x > loc + scale) | (x < loc)
    return jnp.where(outside, -np.inf, -jnp.log(scale))


@promoted
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of at most x."""
    part = (x - loc) / scale
    return jnp.where(x < loc, 0, jnp.where(x > loc + scale, 1, part))


@promoted
def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The x with cdf(x) = q; NaN for q outside of [0, 1]."""
    return jnp.where((q < 0) | (q > 1), np.nan, loc + scale * q)


pdf = exp_of(logpdf)

__getattr__ = getattr_of(__name__)
