"""`jax.scipy.stats.binom`: the binomial distribution: successes in n tries of probability p.

Source: https://en.wikipedia.org/wiki/Binomial_distribution
"""

from typing import Any

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.core.array import Array
from tinyjax.core.missing_names import getattr_of
from tinyjax.scipy.special.entropies import xlog1py, xlogy
from tinyjax.scipy.special.gamma_family import gammaln
from tinyjax.scipy.stats.distribution_functions import exp_of, promoted


@promoted
def logpmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Array:
    """log of n over y, times p**y (1 - p)**(n - y), for y = k - loc; -inf outside of 0 to n."""
    y = k - loc
    ways = gammaln(n + 1) - gammaln(y + 1) - gammaln(n - y + 1)
    inside = ways + xlogy(y, p) + xlog1py(n - y, -p)
    return jnp.where((y >= 0) & (y < n + 1), inside, -np.inf)


pmf = exp_of(logpmf)

__getattr__ = getattr_of(__name__)
