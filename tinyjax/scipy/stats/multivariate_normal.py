"""`jax.scipy.stats.multivariate_normal`: the normal distribution of vectors.

Source: https://en.wikipedia.org/wiki/Multivariate_normal_distribution
"""

from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.core.array import Array
from tinyjax.core.missing_names import getattr_of
from tinyjax.lax.linalg.triangular_solve import triangular_solve
from tinyjax.numpy.linalg.solving import cholesky
from tinyjax.numpy.promotion import promote_dtypes_inexact
from tinyjax.numpy.util import ensure_arraylike
from tinyjax.scipy.stats import norm


def logpdf(x: Any, mean: Any, cov: Any, allow_singular: None = None) -> Array:
    """-(y.y + n log(2 pi)) / 2 - log(det L), where cov = L L^T, L y = x - mean, and n is y's size.

    Vectors stand on the last axis of `x` and `mean`, matrices on the last two of `cov`; all else
    broadcasts. A scalar `mean` is of scalars `x` of variance `cov`; a scalar `cov` is of all elements.
    Raises NotImplementedError for `allow_singular`, ValueError if `cov` is not square or of other size."""
    if allow_singular is not None:
        raise NotImplementedError(
            "allow_singular argument of multivariate_normal.logpdf: leave it out; cov must be regular"
        )
    arrays = ensure_arraylike("multivariate_normal.logpdf", x, mean, cov)
    x, mean, cov = promote_dtypes_inexact(*arrays)
    if not mean.shape:
        return norm.logpdf(x, mean, jnp.sqrt(cov))
    n = mean.shape[-1]
    if not cov.shape:
        y = x - mean
        return -(jnp.einsum("...i,...i->...", y, y) / cov + n * jnp.log(2 * np.pi * cov)) / 2
    if cov.ndim < 2 or cov.shape[-2:] != (n, n):
        raise ValueError(
            "multivariate_normal.logpdf got incompatible shapes: cov must be of the shape "
            f"({n}, {n}), got {cov.shape}"
        )
    factor = cholesky(cov)
    apart = x - mean
    batch = lax.broadcast_shapes(apart.shape[:-1], cov.shape[:-2])
    y = triangular_solve(
        jnp.broadcast_to(factor, (*batch, n, n)),
        jnp.broadcast_to(apart, (*batch, n))[..., None],
        left_side=True,
        lower=True,
    )[..., 0]
    log_det = jnp.log(jnp.diagonal(factor, axis1=-2, axis2=-1)).sum(-1)
    return -(jnp.einsum("...i,...i->...", y, y) + n * jnp.log(2 * np.pi)) / 2 - log_det


def pdf(x: Any, mean: Any, cov: Any) -> Array:
    """The density: exp of logpdf."""
    return jnp.exp(logpdf(x, mean, cov))


__getattr__ = getattr_of(__name__)
