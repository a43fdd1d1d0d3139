"""Distributions of vectors: `jax.scipy.stats.multivariate_normal`, `multinomial`, `dirichlet`."""

from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.core.array import Array
from tinyjax.lax.linalg.triangular_solve import triangular_solve
from tinyjax.numpy.linalg.solving import cholesky
from tinyjax.numpy.promotion import (
    promote_args_inexact,
    promote_args_numeric,
    promote_dtypes_inexact,
)
from tinyjax.numpy.util import ensure_arraylike
from tinyjax.scipy.special.entropies import xlogy
from tinyjax.scipy.special.gamma_family import gammaln
from tinyjax.scipy.stats.continuous import norm
from tinyjax.scipy.stats.declarations import distribution


@distribution("https://en.wikipedia.org/wiki/Multinomial_distribution")
class multinomial:
    """The multinomial distribution: n draws into classes of probabilities p."""

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


@distribution("https://en.wikipedia.org/wiki/Dirichlet_distribution")
class dirichlet:
    """Dirichlet's distribution of K probabilities."""

    def logpdf(x: Any, alpha: Any) -> Array:
        """The sum of (alpha - 1) log(x) - log(gamma(alpha)), plus log(gamma(sum(alpha))); -inf off
        the simplex.

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


@distribution("https://en.wikipedia.org/wiki/Multivariate_normal_distribution")
class multivariate_normal:
    """The normal distribution of vectors."""

    def logpdf(x: Any, mean: Any, cov: Any, allow_singular: None = None) -> Array:
        """-(y.y + n log(2 pi)) / 2 - log(det L), where cov = L L^T, L y = x - mean, and n is y's size.

        Vectors stand on the last axis of `x` and `mean`, matrices on the last two of `cov`; all else
        broadcasts. A scalar `mean` is of scalars `x` of variance `cov`; a scalar `cov` is of all elements.
        Raises NotImplementedError for `allow_singular`, ValueError for a `cov` of another shape."""
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
        return jnp.exp(multivariate_normal.logpdf(x, mean, cov))
