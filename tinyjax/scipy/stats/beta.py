"""`jax.scipy.stats.beta`: the beta distribution on [loc, loc + scale].

Sources: https://en.wikipedia.org/wiki/Beta_distribution
https://docs.jax.dev/en/latest/jax.scipy.html#module-jax.scipy.stats.beta
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.array import Array
from tinyjax.missing_names import getattr_of
from tinyjax.numpy.util import promote_args_inexact
from tinyjax.scipy.special.entropies import xlog1py, xlogy
from tinyjax.scipy.special.gamma_family import betainc, betaln


def logpdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """(a - 1) log(y) + (b - 1) log(1 - y) - log(B(a, b)) - log(scale), for y = (x - loc) / scale."""
    x, a, b, loc, scale = promote_args_inexact("beta.logpdf", x, a, b, loc, scale)
    y = (x - loc) / scale
    inside = xlogy(a - 1, y) + xlog1py(b - 1, -y) - betaln(a, b) - jnp.log(scale)
    outside = (x > loc + scale) | (x < loc)
    return jnp.where(outside, -np.inf, inside)


def pdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The density: exp of logpdf."""
    return jnp.exp(logpdf(x, a, b, loc, scale))


def _clipped(y: Any) -> Any:
    """y in [0, 1]. Unlike those of clip, derivatives are 0 where what follows has infinite ones."""
    return jnp.where(y <= 0, 0, jnp.where(y >= 1, 1, y))


def cdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of at most x: the regularized incomplete beta function."""
    x, a, b, loc, scale = promote_args_inexact("beta.cdf", x, a, b, loc, scale)
    return betainc(a, b, _clipped((x - loc) / scale))


def logcdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """log of cdf."""
    return jnp.log(cdf(x, a, b, loc, scale))


def sf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of more than x: that of at most 1 - y, with a and b exchanged."""
    x, a, b, loc, scale = promote_args_inexact("beta.sf", x, a, b, loc, scale)
    return betainc(b, a, 1 - _clipped((x - loc) / scale))


def logsf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """log of sf."""
    return jnp.log(sf(x, a, b, loc, scale))


__getattr__ = getattr_of(__name__)
