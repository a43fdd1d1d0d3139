"""Random vectors and matrices: multivariate_normal and orthogonal.

For normal x, A x has the covariance A A^T, so A can be any square root of the covariance. A random
rotation is the factor Q of a random matrix, with its signs fixed.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.core.array import Array
from tinyjax.numpy.linalg.decompositions import eigh, qr, svd
from tinyjax.numpy.linalg.solving import cholesky
from tinyjax.numpy.placing import takes_out_sharding
from tinyjax.numpy.promotion import promote_dtypes_inexact
from tinyjax.numpy.util import broadcast_shapes, canonicalize_shape
from tinyjax.random.distributions import check_broadcasts, checked_dtype, normal, optional_shape
from tinyjax.random.keys import typed_key
from tinyjax.transform.jit.api import jitted


@takes_out_sharding
def multivariate_normal(
    key: Any, mean: Any, cov: Any, shape: Any = None, dtype: Any = None, method: str = "cholesky"
) -> Array:
    """Normal vectors of mean `mean` (..., n) and covariance `cov` (..., n, n): an array (*shape, n).

    `shape` is the batch's, by default that of mean and cov broadcast together. `method` says how the
    covariance is factored: "cholesky" is fastest; "svd" and "eigh" take covariances with zero
    eigenvalues. Raises ValueError for another method, and where shapes don't fit."""
    key = typed_key("multivariate_normal", key)
    mean, cov = promote_dtypes_inexact(mean, cov)
    if method not in ("svd", "eigh", "cholesky"):
        raise ValueError(f"method must be one of {{'svd', 'eigh', 'cholesky'}}, got {method!r}")
    if dtype is None:
        dtype = mean.dtype
    dtype = checked_dtype("multivariate_normal", dtype)
    return _multivariate_normal(key, mean, cov, optional_shape(shape), dtype, method)


@jitted(static_argnames=("shape", "dtype", "method"))
def _multivariate_normal(
    key: Any, mean: Any, cov: Any, shape: tuple[int, ...] | None, dtype: np.dtype, method: str
) -> Any:
    if mean.ndim < 1:
        raise ValueError(
            f"multivariate_normal requires mean.ndim >= 1, got mean.ndim == {mean.ndim}"
        )
    if cov.ndim < 2:
        raise ValueError(f"multivariate_normal requires cov.ndim >= 2, got cov.ndim == {cov.ndim}")
    n = mean.shape[-1]
    if cov.shape[-2:] != (n, n):
        raise ValueError(
            f"multivariate_normal requires cov.shape == (..., n, n) for n={n}, but got cov.shape == "
            f"{cov.shape}."
        )
    batch_shapes = mean.shape[:-1], cov.shape[:-2]
    if shape is None:
        shape = broadcast_shapes(*batch_shapes)
    else:
        check_broadcasts("multivariate_normal", shape, *batch_shapes)
    factor = _square_root(cov, method)
    x = normal(key, (*shape, n), dtype)
    return mean + jnp.einsum("...ij,...j->...i", factor, x)


def _square_root(cov: Any, method: str) -> Any:
    """A matrix A with A A^T = cov."""
    if method == "cholesky":
        return cholesky(cov)
    if method == "svd":
        vectors, values, _ = svd(cov)
    else:
        values, vectors = eigh(cov)
    return vectors * jnp.sqrt(values[..., None, :])


@takes_out_sharding
def orthogonal(key: Any, n: int, shape: Any = (), dtype: Any = None, m: int | None = None) -> Array:
    """Orthogonal (for complex dtypes unitary) matrices, all equally likely: an array (*shape, n, n).

    With `m` they are (*shape, n, m): the longer of rows and columns are orthonormal. Raises TypeError
    where n or m is no integer, ValueError where one is negative.
    Source: F. Mezzadri, "How to generate random matrices from the classical compact groups" (2007)."""
    shape = canonicalize_shape(shape)
    key = typed_key("orthogonal", key)
    dtype = checked_dtype("orthogonal", dtype, kinds="fc")
    n = operator.index(n)
    m = n if m is None else operator.index(m)
    if n < 0 or m < 0:
        raise ValueError(f"n and m must not be negative, got {n} and {m}")
    return _orthogonal(key, n, m, shape, dtype)


@jitted(static_argnames=("n", "m", "shape", "dtype"))
def _orthogonal(key: Any, n: int, m: int, shape: tuple[int, ...], dtype: np.dtype) -> Any:
    z = normal(key, (*shape, max(n, m), min(n, m)), dtype)
    q, r = qr(z)
    signs = jnp.sign(jnp.diagonal(r, axis1=-2, axis2=-1))
    x = q * signs[..., None, :]
    return x.swapaxes(-1, -2) if n < m else x
