"""`jax.scipy.stats.nbinom`: the negative binomial distribution: failures before n successes of probability p.

Source: https://en.wikipedia.org/wiki/Negative_binomial_distribution
"""

from typing import Any

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.core.array import Array
from tinyjax.core.missing_names import getattr_of
from tinyjax.scipy.special.entropies import xlog1py
from tinyjax.scipy.special.gamma_family import gammaln
from tinyjax.scipy.stats.distribution_functions import exp_of, promoted


@promoted
def logpmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Array:
    """log of (y + n - 1) over y, times p**n (1 - p)**y, for y = k - loc; -inf before 0."""
    y = k - loc
    ways = gammaln(y + n) - gammaln(n) - gammaln(y + 1)
    return jnp.where(y < 0, -np.inf, ways + n * jnp.log(p) + xlog1py(y, -p))


pmf = exp_of(logpmf)

__getattr__ = getattr_of(__name__)
