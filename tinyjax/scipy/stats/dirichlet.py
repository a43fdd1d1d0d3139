"""`jax.scipy.stats.dirichlet`: Dirichlet's distribution of K probabilities.

Source: https://en.wikipedia.org/wiki/Dirichlet_distribution
"""

from typing import Any

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.core.array import Array
from tinyjax.core.missing_names import getattr_of
from tinyjax.numpy.promotion import promote_dtypes_inexact
from tinyjax.numpy.util import ensure_arraylike
from tinyjax.scipy.special.entropies import xlogy
from tinyjax.scipy.special.gamma_family import gammaln
from tinyjax.scipy.stats.distribution_functions import exp_of


def logpdf(x: Any, alpha: Any) -> Array:
    """The sum of (alpha - 1) log(x) - log(gamma(alpha)), plus log(gamma(sum(alpha))); -inf off the simplex.

    `alpha` is of shape (K,). The first axis of `x` has all K probabilities, or all but the last.
    Raises ValueError for other shapes."""
    x, alpha = promote_dtypes_inexact(*ensure_arraylike("dirichlet.logpdf", x, alpha))
    if alpha.ndim != 1:
        raise ValueError(f"`alpha` must be one-dimensional; got alpha.shape={alpha.shape}")
    if not x.ndim or x.shape[0] not in (alpha.shape[0], alpha.shape[0] - 1):
        raise ValueError(
            "`x` must have either the same number of entries as `alpha` or one entry fewer; "
            f"got x.shape={x.shape}, alpha.shape={alpha.shape}"
        )
    if x.shape[0] == alpha.shape[0] - 1:
        x = jnp.concatenate([x, 1 - x.sum(0, keepdims=True)], axis=0)
    normalizer = jnp.sum(gammaln(alpha)) - gammaln(jnp.sum(alpha))
    exponents = (alpha - 1).reshape(-1, *[1] * (x.ndim - 1))
    inside = jnp.sum(xlogy(exponents, x), axis=0) - normalizer
    on_simplex = jnp.all(x > 0, axis=0) & (abs(x.sum(0) - 1) < 1e-6)
    return jnp.where(on_simplex, inside, -np.inf)


pdf = exp_of(logpdf)

__getattr__ = getattr_of(__name__)
