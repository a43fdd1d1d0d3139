"""`jax.scipy.stats.logistic`: the logistic distribution, whose cdf is the sigmoid.

Source: https://en.wikipedia.org/wiki/Logistic_distribution
"""

from typing import Any

from tinyjax import numpy as jnp
from tinyjax.core.array import Array
from tinyjax.core.missing_names import getattr_of
from tinyjax.scipy.special.entropies import expit, logit
from tinyjax.scipy.stats.distribution_functions import exp_of, promoted


@promoted
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """-2 log(exp(y / 2) + exp(-y / 2)) - log(scale), for y = (x - loc) / scale."""
    half = (x - loc) / scale / 2
    return -2 * jnp.logaddexp(half, -half) - jnp.log(scale)


@promoted
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of at most x."""
    return expit((x - loc) / scale)


@promoted
def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of more than x."""
    return expit(-((x - loc) / scale))


@promoted
def ppf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The value whose cdf is x."""
    return logit(x) * scale + loc


@promoted
def isf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The value whose sf is x."""
    return -logit(x) * scale + loc


pdf = exp_of(logpdf)

__getattr__ = getattr_of(__name__)
