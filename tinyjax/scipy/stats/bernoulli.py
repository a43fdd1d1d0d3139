"""`jax.scipy.stats.bernoulli`: Bernoulli's distribution: 1 with probability p, else 0.

Source: https://en.wikipedia.org/wiki/Bernoulli_distribution
"""

from typing import Any

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.core.array import Array
from tinyjax.core.missing_names import getattr_of
from tinyjax.scipy.special.entropies import xlog1py, xlogy
from tinyjax.scipy.stats.distribution_functions import exp_of, promoted


@promoted
def logpmf(k: Any, p: Any, loc: Any = 0) -> Array:
    """log(p) for k - loc = 1, log(1 - p) for 0, in proportion between; -inf outside."""
    x = k - loc
    inside = xlogy(x, p) + xlog1py(1 - x, -p)
    return jnp.where((x < 0) | (x > 1), -np.inf, inside)


@promoted
def cdf(k: Any, p: Any) -> Array:
    """The probability of at most k; NaN for p outside of [0, 1]."""
    within = jnp.where(k < 0, 0, jnp.where(k < 1, 1 - p, 1))
    return jnp.where(jnp.isnan(k) | jnp.isnan(p) | (p < 0) | (p > 1), np.nan, within)


@promoted
def ppf(q: Any, p: Any) -> Array:
    """The least k with cdf(k) >= q; NaN for q or p outside of [0, 1]."""
    wrong = jnp.isnan(q) | jnp.isnan(p) | (p < 0) | (p > 1) | (q < 0) | (q > 1)
    return jnp.where(wrong, np.nan, (q > 1 - p).astype(q.dtype))


pmf = exp_of(logpmf)

__getattr__ = getattr_of(__name__)
