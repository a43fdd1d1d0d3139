"""`jax.scipy.stats.gamma`: the gamma distribution of shape a.

Source: https://en.wikipedia.org/wiki/Gamma_distribution
"""

from typing import Any

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.core.array import Array
from tinyjax.core.missing_names import getattr_of
from tinyjax.scipy.special.entropies import xlogy
from tinyjax.scipy.special.gamma_family import gammainc, gammaincc, gammaln
from tinyjax.scipy.stats.distribution_functions import exp_of, log_of, promoted


@promoted
def logpdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """(a - 1) log(y) - y - log(gamma(a)) - log(scale), for y = (x - loc) / scale; -inf before loc."""
    y = (x - loc) / scale
    inside = xlogy(a - 1, jnp.where(x < loc, 1, y)) - y - gammaln(a) - jnp.log(scale)
    return jnp.where(x >= loc, inside, -np.inf)


@promoted
def cdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of at most x: the regularized incomplete gamma function."""
    return gammainc(a, jnp.where(x <= loc, 0, (x - loc) / scale))


@promoted
def sf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of more than x."""
    return gammaincc(a, jnp.where(x <= loc, 0, (x - loc) / scale))


pdf = exp_of(logpdf)
logcdf = log_of(cdf)
logsf = log_of(sf)

__getattr__ = getattr_of(__name__)
