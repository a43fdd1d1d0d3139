"""`jax.scipy.stats.pareto`: Pareto's distribution, a power law from loc + scale on.

Source: https://en.wikipedia.org/wiki/Pareto_distribution
"""

from typing import Any

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.core.array import Array
from tinyjax.core.missing_names import getattr_of
from tinyjax.scipy.stats.distribution_functions import exp_of, promoted


@promoted
def logpdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """log(b / scale) - (b + 1) log(y) for y = (x - loc) / scale >= 1; -inf before."""
    y = (x - loc) / scale
    return jnp.where(x < loc + scale, -np.inf, jnp.log(b / scale) - (b + 1) * jnp.log(y))


@promoted
def cdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of at most x: 1 - y**-b."""
    y = (x - loc) / scale
    return jnp.where(x < loc + scale, 0, 1 - jnp.power(y, -b))


@promoted
def logcdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """log of cdf."""
    y = (x - loc) / scale
    return jnp.where(x < loc + scale, -np.inf, jnp.log1p(-jnp.power(y, -b)))


@promoted
def logsf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """log of sf: -b log(y)."""
    y = (x - loc) / scale
    return jnp.where(x < loc + scale, 0, -b * jnp.log(y))


@promoted
def ppf(q: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The x with cdf(x) = q; NaN for q outside of [0, 1]."""
    return jnp.where((q < 0) | (q > 1), np.nan, loc + scale * jnp.power(1 - q, -1 / b))


pdf = exp_of(logpdf)
sf = exp_of(logsf)

__getattr__ = getattr_of(__name__)
