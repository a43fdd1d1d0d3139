"""`jax.scipy.stats.gennorm`: the generalized normal distribution: Laplace for beta 1, normal for beta 2.

Sources: https://en.wikipedia.org/wiki/Generalized_normal_distribution
https://docs.jax.dev/en/latest/jax.scipy.html#module-jax.scipy.stats.gennorm
"""

from __future__ import annotations

from typing import Any

from tinyjax import numpy as jnp
from tinyjax.array import Array
from tinyjax.missing_names import getattr_of
from tinyjax.numpy.util import promote_args_inexact
from tinyjax.scipy.special.gamma_family import gammainc, gammaln


def logpdf(x: Any, beta: Any) -> Array:
    """log(beta / 2) - log(gamma(1 / beta)) - abs(x)**beta."""
    x, beta = promote_args_inexact("gennorm.logpdf", x, beta)
    return jnp.log(0.5 * beta) - gammaln(1 / beta) - abs(x) ** beta


def pdf(x: Any, beta: Any) -> Array:
    """The density: exp of logpdf."""
    return jnp.exp(logpdf(x, beta))


def cdf(x: Any, beta: Any) -> Array:
    """The probability of at most x."""
    x, beta = promote_args_inexact("gennorm.cdf", x, beta)
    return 0.5 * (1 + jnp.sign(x) * gammainc(1 / beta, abs(x) ** beta))


__getattr__ = getattr_of(__name__)
