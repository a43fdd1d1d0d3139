"""`jax.scipy.stats.cauchy`: Cauchy's distribution, which has no mean.

Source: https://en.wikipedia.org/wiki/Cauchy_distribution
"""

from typing import Any

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.core.array import Array
from tinyjax.core.missing_names import getattr_of
from tinyjax.scipy.stats.distribution_functions import exp_of, log_of, mirrored, promoted


@promoted
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """-log(pi scale (1 + y**2)), for y = (x - loc) / scale."""
    y = (x - loc) / scale
    return -(jnp.log(np.pi * scale) + jnp.log1p(y * y))


@promoted
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of at most x: 1/2 + arctan(y) / pi."""
    return 0.5 + 1 / np.pi * jnp.arctan((x - loc) / scale)


@promoted
def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The x with cdf(x) = q."""
    return jnp.tan(np.pi * q - np.pi / 2) * scale + loc


@promoted
def isf(q: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The x with sf(x) = q."""
    return jnp.tan(np.pi / 2 - np.pi * q) * scale + loc


pdf = exp_of(logpdf)
logcdf = log_of(cdf)
sf = mirrored(cdf)
logsf = mirrored(logcdf)

__getattr__ = getattr_of(__name__)
