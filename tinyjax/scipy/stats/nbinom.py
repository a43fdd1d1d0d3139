"""`jax.scipy.stats.nbinom`: the negative binomial distribution: failures before n successes of probability p.

Sources: https://en.wikipedia.org/wiki/Negative_binomial_distribution
https://docs.jax.dev/en/latest/jax.scipy.html#module-jax.scipy.stats.nbinom
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.array import Array
from tinyjax.missing_names import getattr_of
from tinyjax.numpy.util import promote_args_inexact
from tinyjax.scipy.special.entropies import xlog1py
from tinyjax.scipy.special.gamma_family import gammaln


def logpmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Array:
    """log of (y + n - 1) over y, times p**n (1 - p)**y, for y = k - loc; -inf before 0."""
    k, n, p, loc = promote_args_inexact("nbinom.logpmf", k, n, p, loc)
    y = k - loc
    ways = gammaln(y + n) - gammaln(n) - gammaln(y + 1)
    return jnp.where(y < 0, -np.inf, ways + n * jnp.log(p) + xlog1py(y, -p))


def pmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Array:
    """The probability of k."""
    return jnp.exp(logpmf(k, n, p, loc))


__getattr__ = getattr_of(__name__)
