"""`jax.scipy.stats.gumbel_l`: Gumbel's distribution of the smallest of many values, skewed to the left.

Sources: https://en.wikipedia.org/wiki/Gumbel_distribution
https://docs.jax.dev/en/latest/jax.scipy.html#module-jax.scipy.stats.gumbel_l
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.array import Array
from tinyjax.missing_names import getattr_of
from tinyjax.nn.activations import log1mexp
from tinyjax.numpy.util import promote_args_inexact


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """y - exp(y) - log(scale), for y = (x - loc) / scale; NaN where scale is not positive."""
    x, loc, scale = promote_args_inexact("gumbel_l.logpdf", x, loc, scale)
    y = (x - loc) / scale
    return jnp.where(scale > 0, y - jnp.exp(y) - jnp.log(scale), np.nan)


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The density: exp of logpdf."""
    return jnp.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of at most x: 1 - exp(-exp(y))."""
    x, loc, scale = promote_args_inexact("gumbel_l.cdf", x, loc, scale)
    y = (x - loc) / scale
    return jnp.where(scale > 0, -jnp.expm1(-jnp.exp(y)), np.nan)


def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """log of cdf."""
    x, loc, scale = promote_args_inexact("gumbel_l.logcdf", x, loc, scale)
    y = (x - loc) / scale
    return jnp.where(scale > 0, log1mexp(jnp.exp(y)), np.nan)


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of more than x."""
    x, loc, scale = promote_args_inexact("gumbel_l.sf", x, loc, scale)
    y = (x - loc) / scale
    return jnp.where(scale > 0, jnp.exp(-jnp.exp(y)), np.nan)


def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """log of sf."""
    x, loc, scale = promote_args_inexact("gumbel_l.logsf", x, loc, scale)
    y = (x - loc) / scale
    return jnp.where(scale > 0, -jnp.exp(y), np.nan)


def ppf(p: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The x with cdf(x) = p; NaN where p is outside of (0, 1)."""
    p, loc, scale = promote_args_inexact("gumbel_l.ppf", p, loc, scale)
    return jnp.where((p > 0) & (p < 1), loc + scale * jnp.log(-jnp.log1p(-p)), np.nan)


__getattr__ = getattr_of(__name__)
