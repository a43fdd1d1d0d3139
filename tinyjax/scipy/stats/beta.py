"""`jax.scipy.stats.beta`: the beta distribution on [loc, loc + scale].

Source: https://en.wikipedia.org/wiki/Beta_distribution
"""

from typing import Any

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.core.array import Array
from tinyjax.core.missing_names import getattr_of
from tinyjax.scipy.special.entropies import xlog1py, xlogy
from tinyjax.scipy.special.gamma_family import betainc, betaln
from tinyjax.scipy.stats.distribution_functions import exp_of, log_of, promoted


@promoted
def logpdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """(a - 1) log(y) + (b - 1) log(1 - y) - log(B(a, b)) - log(scale), for y = (x - loc) / scale."""
    y = (x - loc) / scale
    inside = xlogy(a - 1, y) + xlog1py(b - 1, -y) - betaln(a, b) - jnp.log(scale)
    outside = (x > loc + scale) | (x < loc)
    return jnp.where(outside, -np.inf, inside)


def _clipped(y: Any) -> Any:
    """y in [0, 1]. Unlike those of clip, derivatives are 0 where what follows has infinite ones."""
    return jnp.where(y <= 0, 0, jnp.where(y >= 1, 1, y))


@promoted
def cdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of at most x: the regularized incomplete beta function."""
    return betainc(a, b, _clipped((x - loc) / scale))


@promoted
def sf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of more than x: that of at most 1 - y, with a and b exchanged."""
    return betainc(b, a, 1 - _clipped((x - loc) / scale))


pdf = exp_of(logpdf)
logcdf = log_of(cdf)
logsf = log_of(sf)

__getattr__ = getattr_of(__name__)
