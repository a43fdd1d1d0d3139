"""`jax.scipy.stats.logistic`: the logistic distribution, whose cdf is the sigmoid.

Sources: https://en.wikipedia.org/wiki/Logistic_distribution
https://docs.jax.dev/en/latest/jax.scipy.html#module-jax.scipy.stats.logistic
"""

from __future__ import annotations

from typing import Any

from tinyjax import numpy as jnp
from tinyjax.array import Array
from tinyjax.missing_names import getattr_of
from tinyjax.numpy.util import promote_args_inexact
from tinyjax.scipy.special.entropies import expit, logit


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """-2 log(exp(y / 2) + exp(-y / 2)) - log(scale), for y = (x - loc) / scale."""
    x, loc, scale = promote_args_inexact("logistic.logpdf", x, loc, scale)
    half = (x - loc) / scale / 2
    return -2 * jnp.logaddexp(half, -half) - jnp.log(scale)


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The density: exp of logpdf."""
    return jnp.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of at most x."""
    x, loc, scale = promote_args_inexact("logistic.cdf", x, loc, scale)
    return expit((x - loc) / scale)


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of more than x."""
    x, loc, scale = promote_args_inexact("logistic.sf", x, loc, scale)
    return expit(-((x - loc) / scale))


def ppf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The value whose cdf is x."""
    x, loc, scale = promote_args_inexact("logistic.ppf", x, loc, scale)
    return logit(x) * scale + loc


def isf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The value whose sf is x."""
    x, loc, scale = promote_args_inexact("logistic.isf", x, loc, scale)
    return -logit(x) * scale + loc


__getattr__ = getattr_of(__name__)
