"""gaussian_kde: a density from samples, as the sum of a normal distribution around each of them.

The bandwidth turns the covariance of the samples into that of each bump.

Source: D. W. Scott, "Multivariate Density Estimation", 1992 (the factor)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tinyjax import numpy as jnp
from tinyjax import random
from tinyjax.core.array import Array
from tinyjax.core.bind import Tracer
from tinyjax.core.tree_util.registration import register_pytree_node_class
from tinyjax.numpy.linalg.solving import inv
from tinyjax.numpy.log_sums import logsumexp
from tinyjax.numpy.promotion import promote_dtypes_inexact
from tinyjax.numpy.util import check_arraylike
from tinyjax.random.multivariate import multivariate_normal as draw_normal
from tinyjax.scipy.special.normal_distribution import ndtr
from tinyjax.scipy.stats import multivariate_normal

FIELDS = ("neff", "dataset", "weights", "covariance", "inv_cov")


@register_pytree_node_class
class gaussian_kde:
    """The density of samples `dataset`, of shape (n,) or (d, n), each with its weight.

    `bw_method`: "scott" (the default), "silverman", a number, or a function of this object that gives one:
    the factor by which the bumps' standard deviations are smaller than those of the samples. It is a
    pytree, to be handed to transformed functions.
    Raises ValueError for a single sample or weights of other shapes, NotImplementedError for complex ones."""

    neff: Any
    dataset: Any
    weights: Any
    covariance: Any
    inv_cov: Any

    def __init__(
        self,
        dataset: Any,
        bw_method: str | float | Callable[[Any], Any] | None = None,
        weights: Any = None,
    ) -> None:
        check_arraylike("gaussian_kde", dataset)
        (dataset,) = promote_dtypes_inexact(jnp.atleast_2d(dataset))
        if jnp.issubdtype(dataset.dtype, jnp.complexfloating):
            raise NotImplementedError("gaussian_kde does not support complex data")
        if dataset.size <= 1:
            raise ValueError(f"dataset must have multiple elements, got the shape {dataset.shape}")
        n = dataset.shape[1]
        if weights is None:
            weights = jnp.full(n, 1 / n, dataset.dtype)
        else:
            check_arraylike("gaussian_kde", weights)
            dataset, weights = promote_dtypes_inexact(dataset, jnp.atleast_1d(weights))
            if weights.ndim != 1:
                raise ValueError(f"weights must be one-dimensional, got the shape {weights.shape}")
            if len(weights) != n:
                raise ValueError(
                    f"weights must be of the length {n}, one for each sample, got {len(weights)}"
                )
            weights = weights / weights.sum()
        self.dataset, self.weights = dataset, weights
        self.neff = 1 / jnp.sum(weights**2)
        factor = self._factor("scott" if bw_method is None else bw_method)
        of_samples = jnp.atleast_2d(jnp.cov(dataset, rowvar=True, bias=False, aweights=weights))
        self.covariance = of_samples * factor**2
        self.inv_cov = inv(of_samples) / factor**2

    def _factor(self, bw_method: Any) -> Any:
        if bw_method == "scott":
            return jnp.power(self.neff, -1 / (self.d + 4))
        if bw_method == "silverman":
            return jnp.power(self.neff * (self.d + 2) / 4, -1 / (self.d + 4))
        if callable(bw_method):
            return bw_method(self)
        if (
            jnp.isscalar(bw_method)
            and not isinstance(bw_method, str)
            or isinstance(bw_method, Tracer)
        ):
            return bw_method
        raise ValueError(
            f"bw_method must be 'scott', 'silverman', a number or a function, got {bw_method!r}"
        )

    def tree_flatten(self) -> tuple[tuple, None]:
        return tuple(getattr(self, name) for name in FIELDS), None

    @classmethod
    def tree_unflatten(cls, aux: None, children: Any) -> gaussian_kde:
        kde = cls.__new__(cls)
        for name, value in zip(FIELDS, children):
            setattr(kde, name, value)
        return kde

    @property
    def d(self) -> int:
        """The number of dimensions."""
        return self.dataset.shape[0]

    @property
    def n(self) -> int:
        """The number of samples."""
        return self.dataset.shape[1]

    # ---- the density ----

    def _as_points(self, points: Any) -> Any:
        """`points` as (d, m)."""
        check_arraylike("gaussian_kde", points)
        points = jnp.atleast_2d(points)
        if points.shape[0] == 1 and points.shape[1] == self.d:
            points = points.T
        if points.shape[0] != self.d:
            raise ValueError(
                f"points are of dimension {points.shape[0]}, the dataset of dimension {self.d}"
            )
        return points

    def logpdf(self, x: Any) -> Array:
        """log of the density at the points `x` of shape (d, m), or (m,) where d is 1."""
        points = self._as_points(x)
        apart = points.T[:, None] - self.dataset.T
        zero = jnp.zeros(self.d, apart.dtype)
        bumps = multivariate_normal.logpdf(apart, zero, self.covariance)
        return logsumexp(bumps, axis=1, b=self.weights)

    def evaluate(self, points: Any) -> Array:
        """The density at `points`, of shape (d, m), or (m,) where d is 1.

        Raises ValueError for points of another dimension."""
        return jnp.exp(self.logpdf(points))

    def pdf(self, x: Any) -> Array:
        """The same as evaluate."""
        return self.evaluate(x)

    def __call__(self, points: Any) -> Array:
        return self.evaluate(points)

    # ---- integrals ----

    def integrate_gaussian(self, mean: Any, cov: Any) -> Array:
        """The integral of the density times a normal one. Raises ValueError for another dimension."""
        mean, cov = jnp.atleast_1d(jnp.squeeze(mean)), jnp.atleast_2d(cov)
        if mean.shape != (self.d,):
            raise ValueError(f"mean must be of dimension {self.d}, got the shape {mean.shape}")
        if cov.shape != (self.d, self.d):
            raise ValueError(
                f"the covariance must be of dimension {self.d}, got the shape {cov.shape}"
            )
        bumps = multivariate_normal.pdf(self.dataset.T, mean, self.covariance + cov)
        return jnp.sum(bumps * self.weights)

    def integrate_box_1d(self, low: Any, high: Any) -> Array:
        """The probability of [low, high], in one dimension. Raises ValueError in more."""
        if self.d != 1:
            raise ValueError(
                f"integrate_box_1d is of 1D densities; this one has {self.d} dimensions"
            )
        if jnp.ndim(low) or jnp.ndim(high):
            raise ValueError("low and high of integrate_box_1d must be scalars")
        sigma = jnp.sqrt(self.covariance[0, 0])
        below = [ndtr((end - self.dataset[0]) / sigma) for end in (low, high)]
        return jnp.sum(self.weights * (below[1] - below[0]))

    def integrate_kde(self, other: gaussian_kde) -> Array:
        """The integral of the product of two such densities. Raises ValueError for another dimension."""
        if other.d != self.d:
            raise ValueError(f"both must have the same dimension, got {self.d} and {other.d}")
        apart = self.dataset.T[:, None] - other.dataset.T
        zero = jnp.zeros(self.d, apart.dtype)
        bumps = multivariate_normal.pdf(apart, zero, self.covariance + other.covariance)
        return self.weights @ bumps @ other.weights

    def integrate_box(self, low_bounds: Any, high_bounds: Any, maxpts: Any = None) -> Array:
        """Not there, as in JAX: raises NotImplementedError."""
        raise NotImplementedError("boxes are integrated in 1D only: use integrate_box_1d")

    def set_bandwidth(self, bw_method: Any = None) -> None:
        """Not there, as in JAX: raises NotImplementedError."""
        raise NotImplementedError(
            "the bandwidth cannot be changed: make a new gaussian_kde with bw_method"
        )

    def resample(self, key: Any, shape: tuple[int, ...] = ()) -> Array:
        """Draws from the density, of shape (d, *shape): a sample, and a step from its bump."""
        index_key, step_key = random.split(key)
        index = random.choice(index_key, self.n, shape=shape, p=self.weights)
        zero = jnp.zeros(self.d, self.covariance.dtype)
        step = draw_normal(step_key, zero, self.covariance, shape, self.dataset.dtype)
        return self.dataset[:, index] + jnp.moveaxis(step, -1, 0)
