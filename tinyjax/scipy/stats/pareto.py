"""`jax.scipy.stats.pareto`: Pareto's distribution, a power law from loc + scale on.

Sources: https://en.wikipedia.org/wiki/Pareto_distribution
https://docs.jax.dev/en/latest/jax.scipy.html#module-jax.scipy.stats.pareto
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.array import Array
from tinyjax.missing_names import getattr_of
from tinyjax.numpy.util import promote_args_inexact


def logpdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """log(b / scale) - (b + 1) log(y) for y = (x - loc) / scale >= 1; -inf before."""
    x, b, loc, scale = promote_args_inexact("pareto.logpdf", x, b, loc, scale)
    y = (x - loc) / scale
    return jnp.where(x < loc + scale, -np.inf, jnp.log(b / scale) - (b + 1) * jnp.log(y))


def pdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The density: exp of logpdf."""
    return jnp.exp(logpdf(x, b, loc, scale))


def cdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of at most x: 1 - y**-b."""
    x, b, loc, scale = promote_args_inexact("pareto.cdf", x, b, loc, scale)
    y = (x - loc) / scale
    return jnp.where(x < loc + scale, 0, 1 - jnp.power(y, -b))


def logcdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """log of cdf."""
    x, b, loc, scale = promote_args_inexact("pareto.logcdf", x, b, loc, scale)
    y = (x - loc) / scale
    return jnp.where(x < loc + scale, -np.inf, jnp.log1p(-jnp.power(y, -b)))


def sf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of more than x."""
    return jnp.exp(logsf(x, b, loc, scale))


def logsf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """log of sf: -b log(y)."""
    x, b, loc, scale = promote_args_inexact("pareto.logsf", x, b, loc, scale)
    y = (x - loc) / scale
    return jnp.where(x < loc + scale, 0, -b * jnp.log(y))


def ppf(q: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The x with cdf(x) = q; NaN for q outside of [0, 1]."""
    q, b, loc, scale = promote_args_inexact("pareto.ppf", q, b, loc, scale)
    return jnp.where((q < 0) | (q > 1), np.nan, loc + scale * jnp.power(1 - q, -1 / b))


__getattr__ = getattr_of(__name__)
