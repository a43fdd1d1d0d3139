"""`jax.scipy.stats.gennorm`: the generalized normal distribution: Laplace for beta 1, normal for beta 2.

Source: https://en.wikipedia.org/wiki/Generalized_normal_distribution
"""

from typing import Any

from tinyjax import numpy as jnp
from tinyjax.core.array import Array
from tinyjax.core.missing_names import getattr_of
from tinyjax.scipy.special.gamma_family import gammainc, gammaln
from tinyjax.scipy.stats.distribution_functions import exp_of, promoted


@promoted
def logpdf(x: Any, beta: Any) -> Array:
    """log(beta / 2) - log(gamma(1 / beta)) - abs(x)**beta."""
    return jnp.log(0.5 * beta) - gammaln(1 / beta) - abs(x) ** beta


@promoted
def cdf(x: Any, beta: Any) -> Array:
    """The probability of at most x."""
    return 0.5 * (1 + jnp.sign(x) * gammainc(1 / beta, abs(x) ** beta))


pdf = exp_of(logpdf)

__getattr__ = getattr_of(__name__)
