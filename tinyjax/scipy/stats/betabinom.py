"""`jax.scipy.stats.betabinom`: binomial, of a probability drawn from beta(a, b).

Source: https://en.wikipedia.org/wiki/Beta-binomial_distribution
"""

from typing import Any

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.core.array import Array
from tinyjax.core.missing_names import getattr_of
from tinyjax.scipy.special.gamma_family import betaln
from tinyjax.scipy.stats.distribution_functions import exp_of, promoted


@promoted
def logpmf(k: Any, n: Any, a: Any, b: Any, loc: Any = 0) -> Array:
    """log of n over y, times B(y + a, n - y + b) / B(a, b), for y = k - loc.

    -inf outside of 0 to n; NaN where n, a or b is negative."""
    y = jnp.floor(k) - loc
    ways = -jnp.log1p(n) - betaln(n - y + 1, y + 1)
    inside = ways + betaln(y + a, n - y + b) - betaln(a, b)
    within = jnp.where((y < 0) | (y > n), -np.inf, inside)
    return jnp.where((n < 0) | (a < 0) | (b < 0), np.nan, within)


pmf = exp_of(logpmf)

__getattr__ = getattr_of(__name__)
