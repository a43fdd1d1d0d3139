"""`jax.scipy.stats.gumbel_l`: Gumbel's distribution of the smallest of many values, skewed to the left.

Source: https://en.wikipedia.org/wiki/Gumbel_distribution
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
    """y - exp(y) - log(scale), for y = (x - loc) / scale; NaN where scale is not positive."""
    y = (x - loc) / scale
    return jnp.where(scale > 0, y - jnp.exp(y) - jnp.log(scale), np.nan)


@promoted
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of at most x: 1 - exp(-exp(y))."""
    y = (x - loc) / scale
    return jnp.where(scale > 0, -jnp.expm1(-jnp.exp(y)), np.nan)


@promoted
def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """log of cdf."""
    y = (x - loc) / scale
    return jnp.where(scale > 0, log1mexp(jnp.exp(y)), np.nan)


@promoted
def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of more than x."""
    y = (x - loc) / scale
    return jnp.where(scale > 0, jnp.exp(-jnp.exp(y)), np.nan)


@promoted
def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """log of sf."""
    y = (x - loc) / scale
    return jnp.where(scale > 0, -jnp.exp(y), np.nan)


@promoted
def ppf(p: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The x with cdf(x) = p; NaN where p is outside of (0, 1)."""
    return jnp.where((p > 0) & (p < 1), loc + scale * jnp.log(-jnp.log1p(-p)), np.nan)


pdf = exp_of(logpdf)

__getattr__ = getattr_of(__name__)
