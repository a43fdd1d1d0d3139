"""`jax.scipy.stats.cauchy`: Cauchy's distribution, which has no mean.

Sources: https://en.wikipedia.org/wiki/Cauchy_distribution
https://docs.jax.dev/en/latest/jax.scipy.html#module-jax.scipy.stats.cauchy
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.array import Array
from tinyjax.missing_names import getattr_of
from tinyjax.numpy.util import promote_args_inexact


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """-log(pi scale (1 + y**2)), for y = (x - loc) / scale."""
    x, loc, scale = promote_args_inexact("cauchy.logpdf", x, loc, scale)
    y = (x - loc) / scale
    return -(jnp.log(np.pi * scale) + jnp.log1p(y * y))


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The density: exp of logpdf."""
    return jnp.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of at most x: 1/2 + arctan(y) / pi."""
    x, loc, scale = promote_args_inexact("cauchy.cdf", x, loc, scale)
    return 0.5 + 1 / np.pi * jnp.arctan((x - loc) / scale)


def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """log of cdf."""
    return jnp.log(cdf(x, loc, scale))


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of more than x: by symmetry cdf of the other side."""
    x, loc, scale = promote_args_inexact("cauchy.sf", x, loc, scale)
    return cdf(-x, -loc, scale)


def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """log of sf."""
    x, loc, scale = promote_args_inexact("cauchy.logsf", x, loc, scale)
    return logcdf(-x, -loc, scale)


def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The x with cdf(x) = q."""
    q, loc, scale = promote_args_inexact("cauchy.ppf", q, loc, scale)
    return jnp.tan(np.pi * q - np.pi / 2) * scale + loc


def isf(q: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The x with sf(x) = q."""
    q, loc, scale = promote_args_inexact("cauchy.isf", q, loc, scale)
    return jnp.tan(np.pi / 2 - np.pi * q) * scale + loc


__getattr__ = getattr_of(__name__)
