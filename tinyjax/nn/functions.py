"""logmeanexp, standardize and one_hot.

softmax is with the logarithms of sums, in numpy/log_sums.py.
"""

from __future__ import annotations

import operator
import warnings
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.core import dtypes
from tinyjax.core.array import Array
from tinyjax.lax.shape import canonicalize_axis
from tinyjax.numpy.averages import _count
from tinyjax.numpy.log_sums import logsumexp
from tinyjax.numpy.util import check_arraylike, concrete_int, ensure_arraylike
from tinyjax.transform.jit.api import jitted

# ---- means ----


@jitted(static_argnames=("axis", "keepdims"))
def logmeanexp(x: Any, axis: Any = None, where: Any = None, keepdims: bool = False) -> Array:
    """log of the mean of exp(x) along `axis`, without overflow."""
    x = ensure_arraylike("logmeanexp", x)
    total = logsumexp(x, axis=axis, where=where, keepdims=keepdims)
    return total - jnp.log(_count(x, axis, keepdims, where, total.dtype))


@jitted(static_argnames=("axis", "algorithm"))
def standardize(
    x: Any,
    axis: Any = -1,
    mean: Any = None,
    variance: Any = None,
    epsilon: Any = 1e-5,
    where: Any = None,
    *,
    algorithm: str = "fast",
) -> Array:
    """(x - mean) / sqrt(variance + epsilon), along `axis`; mean and variance may be given.

    algorithm="fast" takes mean(x**2) - mean(x)**2 as the variance, "stable" mean((x - mean)**2).
    Raises ValueError for another algorithm."""
    check_arraylike("standardize", x)
    if algorithm not in ("fast", "stable"):
        raise ValueError(f"Unknown algorithm '{algorithm}'. Expected 'fast' or 'stable'.")
    if mean is None:
        mean = jnp.mean(x, axis, keepdims=True, where=where)
    if variance is None:
        variance = _variance(x, axis, mean, where, algorithm)
    return jnp.subtract(x, mean) * lax.rsqrt(variance + epsilon)


def _variance(x: Any, axis: Any, mean: Any, where: Any, algorithm: str) -> Any:
    if algorithm == "stable":
        squares = jnp.square(jnp.subtract(x, mean))
        return jnp.mean(squares, axis, keepdims=True, where=where)
    difference = jnp.mean(jnp.square(x), axis, keepdims=True, where=where) - jnp.square(mean)
    return jnp.clip(difference, 0)  # rounding may make it negative


# ---- classes as vectors ----


def one_hot(x: Any, num_classes: int, *, dtype: Any = None, axis: int = -1) -> Array:
    """For each index in `x` a vector of `num_classes` zeros with a one at the index.

    The vectors lie along the new axis `axis`; indices out of range give zeros. The dtype is float32
    where none is given. Raises TypeError or ConcretizationTypeError if `num_classes` is no known
    integer, ValueError for an axis out of range; warns of indices that are floats."""
    num_classes = concrete_int(num_classes, "It is the argument num_classes of jax.nn.one_hot.")
    x = jnp.asarray(x)
    if dtypes.kind(x.dtype) not in "iu":
        name = x.dtype.name
        message = f"jax.nn.one_hot input should be integer-typed; got dtype={name}"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
    dtype = dtypes.default_dtype(float) if dtype is None else dtypes.canonicalize_dtype(dtype)
    return _one_hot(x, num_classes, dtype=dtype, axis=axis)


@jitted(static_argnames=("num_classes", "dtype", "axis"))
def _one_hot(x: Any, num_classes: int, *, dtype: np.dtype, axis: int) -> Any:
    place = canonicalize_axis(operator.index(axis), x.ndim + 1)
    shape = [1] * x.ndim
    shape.insert(place, num_classes)
    indices = lax.expand_dims(x, (place,))
    return (indices == lax.broadcasted_iota(x.dtype, shape, place)).astype(dtype)
