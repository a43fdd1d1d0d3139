"""`jax.scipy.stats.multinomial`: the multinomial distribution: n draws into classes of probabilities p.

Source: https://en.wikipedia.org/wiki/Multinomial_distribution
"""

from typing import Any

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.core.array import Array
from tinyjax.core.missing_names import getattr_of
from tinyjax.numpy.promotion import promote_args_inexact, promote_args_numeric
from tinyjax.scipy.special.entropies import xlogy
from tinyjax.scipy.special.gamma_family import gammaln
from tinyjax.scipy.stats.distribution_functions import exp_of


def logpmf(x: Any, n: Any, p: Any) -> Array:
    """log of n! times the product of p**x / x! over the last axis; -inf where x does not sum to n.

    Raises ValueError if `x` or `n` are not integers."""
    (p,) = promote_args_inexact("multinomial.logpmf", p)
    x, n = promote_args_numeric("multinomial.logpmf", x, n)
    for name, value in (("x", x), ("n", n)):
        if not jnp.issubdtype(value.dtype, jnp.integer):
            raise ValueError(f"x and n must be of integer type; got {name}.dtype={value.dtype}")
    fits = n == jnp.sum(x, axis=-1)
    x, n = x.astype(p.dtype), n.astype(p.dtype)
    inside = gammaln(n + 1) + jnp.sum(xlogy(x, p) - gammaln(x + 1), axis=-1)
    return jnp.where(fits, inside, -np.inf)


pmf = exp_of(logpmf)

__getattr__ = getattr_of(__name__)
