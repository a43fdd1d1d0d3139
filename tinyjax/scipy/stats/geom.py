"""`jax.scipy.stats.geom`: the geometric distribution: tries until the first success of probability p.

Source: https://en.wikipedia.org/wiki/Geometric_distribution
"""

from typing import Any

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.core.array import Array
from tinyjax.core.missing_names import getattr_of
from tinyjax.scipy.special.entropies import xlog1py
from tinyjax.scipy.stats.distribution_functions import exp_of, promoted


@promoted
def logpmf(k: Any, p: Any, loc: Any = 0) -> Array:
    """(y - 1) log(1 - p) + log(p), for y = k - loc; -inf before 1."""
    y = k - loc
    return jnp.where(y <= 0, -np.inf, xlog1py(y - 1, -p) + jnp.log(p))


pmf = exp_of(logpmf)

__getattr__ = getattr_of(__name__)
