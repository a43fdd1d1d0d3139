"""`jax.scipy.stats.chi2`: the chi-squared distribution of df degrees of freedom.

Sources: https://en.wikipedia.org/wiki/Chi-squared_distribution
https://docs.jax.dev/en/latest/jax.scipy.html#module-jax.scipy.stats.chi2
"""

from __future__ import annotations

from typing import Any

from tinyjax import numpy as jnp
from tinyjax.array import Array
from tinyjax.missing_names import getattr_of
from tinyjax.numpy.util import promote_args_inexact
from tinyjax.scipy.stats import gamma


def logpdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """(k - 1) log(y) - y - log(gamma(k)) - log(2 scale), for k = df / 2, y = (x - loc) / scale / 2."""
    x, df, loc, scale = promote_args_inexact("chi2.logpdf", x, df, loc, scale)
    return gamma.logpdf(x, df / 2, loc, 2 * scale)


def pdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The density: exp of logpdf."""
    return jnp.exp(logpdf(x, df, loc, scale))


def cdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of at most x."""
    x, df, loc, scale = promote_args_inexact("chi2.cdf", x, df, loc, scale)
    return gamma.cdf(x, df / 2, loc, 2 * scale)


def logcdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """log of cdf."""
    return jnp.log(cdf(x, df, loc, scale))


def sf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of more than x."""
    x, df, loc, scale = promote_args_inexact("chi2.sf", x, df, loc, scale)
    return gamma.sf(x, df / 2, loc, 2 * scale)


def logsf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """log of sf."""
    return jnp.log(sf(x, df, loc, scale))


__getattr__ = getattr_of(__name__)
