"""`jax.scipy.stats.geom`: the geometric distribution: tries until the first success of probability p.

Sources: https://en.wikipedia.org/wiki/Geometric_distribution
https://docs.jax.dev/en/latest/jax.scipy.html#module-jax.scipy.stats.geom
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.array import Array
from tinyjax.missing_names import getattr_of
from tinyjax.numpy.util import promote_args_inexact
from tinyjax.scipy.special.entropies import xlog1py


def logpmf(k: Any, p: Any, loc: Any = 0) -> Array:
    """(y - 1) log(1 - p) + log(p), for y = k - loc; -inf before 1."""
    k, p, loc = promote_args_inexact("geom.logpmf", k, p, loc)
    y = k - loc
    return jnp.where(y <= 0, -np.inf, xlog1py(y - 1, -p) + jnp.log(p))


def pmf(k: Any, p: Any, loc: Any = 0) -> Array:
    """The probability of k."""
    return jnp.exp(logpmf(k, p, loc))


__getattr__ = getattr_of(__name__)
