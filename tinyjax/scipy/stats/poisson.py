"""`jax.scipy.stats.poisson`: Poisson's distribution of mean mu.

Source: https://en.wikipedia.org/wiki/Poisson_distribution
"""

from typing import Any

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.core.array import Array
from tinyjax.core.missing_names import getattr_of
from tinyjax.numpy.promotion import promote_args_inexact
from tinyjax.scipy.special.entropies import xlogy
from tinyjax.scipy.special.gamma_family import gammaincc, gammaln
from tinyjax.scipy.stats.distribution_functions import exp_of, promoted


@promoted
def logpmf(k: Any, mu: Any, loc: Any = 0) -> Array:
    """y log(mu) - mu - log(y!), for y = k - loc; -inf before 0 and between integers."""
    y = k - loc
    inside = xlogy(y, mu) - gammaln(y + 1) - mu
    return jnp.where((y < 0) | (y != jnp.round(y)), -np.inf, inside)


@promoted
def cdf(k: Any, mu: Any, loc: Any = 0) -> Array:
    """The probability of at most k."""
    y = k - loc
    return jnp.where(y < 0, 0, gammaincc(jnp.floor(y + 1), mu))


def entropy(mu: Any, loc: Any = 0) -> Array:
    """-sum of pmf logpmf over all k, in nats; NaN for negative mu. `loc` moves k, and changes nothing.

    From mu = 30 on by an asymptotic series, of which these terms suffice for float32.
    Source: R. J. Evans, J. Boersma, "The Entropy of a Poisson Distribution", SIAM Review 30, 1988."""
    mu, loc = promote_args_inexact("poisson.entropy", mu, loc)
    few = jnp.where(mu < 30, mu, 1)
    k = jnp.arange(150, dtype=mu.dtype)  # 20 standard deviations above the mean
    log_p = xlogy(k, few[..., None]) - gammaln(k + 1) - few[..., None]
    p = jnp.exp(log_p)
    summed = -jnp.sum(jnp.where(p > 0, p * log_p, 0), axis=-1)
    many = jnp.where(mu < 30, 30, mu)
    series = 1 / (12 * many) + 1 / (24 * many**2) + 19 / (360 * many**3)
    asymptotic = 0.5 * jnp.log(2 * np.pi * np.e * many) - series
    return jnp.where(mu >= 0, jnp.where(mu < 30, summed, asymptotic), np.nan)


pmf = exp_of(logpmf)

__getattr__ = getattr_of(__name__)
