"""`jax.scipy.stats.chi2`: the chi-squared distribution of df degrees of freedom.

Source: https://en.wikipedia.org/wiki/Chi-squared_distribution
"""

from typing import Any

from tinyjax.core.array import Array
from tinyjax.core.missing_names import getattr_of
from tinyjax.scipy.stats import gamma
from tinyjax.scipy.stats.distribution_functions import exp_of, log_of, promoted


@promoted
def logpdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """(k - 1) log(y) - y - log(gamma(k)) - log(2 scale), for k = df / 2, y = (x - loc) / scale / 2."""
    return gamma.logpdf(x, df / 2, loc, 2 * scale)


@promoted
def cdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of at most x."""
    return gamma.cdf(x, df / 2, loc, 2 * scale)


@promoted
def sf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of more than x."""
    return gamma.sf(x, df / 2, loc, 2 * scale)


pdf = exp_of(logpdf)
logcdf = log_of(cdf)
logsf = log_of(sf)

__getattr__ = getattr_of(__name__)
