"""`jax.scipy.stats.gamma`: the gamma distribution of shape a.

Sources: https://en.wikipedia.org/wiki/Gamma_distribution
https://docs.jax.dev/en/latest/jax.scipy.html#module-jax.scipy.stats.gamma
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.array import Array
from tinyjax.missing_names import getattr_of
from tinyjax.numpy.util import promote_args_inexact
from tinyjax.scipy.special.entropies import xlogy
from tinyjax.scipy.special.gamma_family import gammainc, gammaincc, gammaln


def logpdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """(a - 1) log(y) - y - log(gamma(a)) - log(scale), for y = (x - loc) / scale; -inf before loc."""
    x, a, loc, scale = promote_args_inexact("gamma.logpdf", x, a, loc, scale)
    y = (x - loc) / scale
    inside = xlogy(a - 1, jnp.where(x < loc, 1, y)) - y - gammaln(a) - jnp.log(scale)
    return jnp.where(x >= loc, inside, -np.inf)


def pdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The density: exp of logpdf."""
    return jnp.exp(logpdf(x, a, loc, scale))


def cdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of at most x: the regularized incomplete gamma function."""
    x, a, loc, scale = promote_args_inexact("gamma.cdf", x, a, loc, scale)
    return gammainc(a, jnp.where(x <= loc, 0, (x - loc) / scale))


def logcdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """log of cdf."""
    return jnp.log(cdf(x, a, loc, scale))


def sf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of more than x."""
    x, a, loc, scale = promote_args_inexact("gamma.sf", x, a, loc, scale)
    return gammaincc(a, jnp.where(x <= loc, 0, (x - loc) / scale))


def logsf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """log of sf."""
    return jnp.log(sf(x, a, loc, scale))


__getattr__ = getattr_of(__name__)
