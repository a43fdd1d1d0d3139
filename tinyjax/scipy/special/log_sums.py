"""Sums of numbers that are given by their logarithms.

After this file you know how to add numbers whose logarithms you have, without leaving the logarithms.
Builds on jax.numpy.

Source: https://docs.jax.dev/en/latest/_autosummary/jax.scipy.special.logsumexp.html
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.core import dtypes
from tinyjax.numpy.promotion import promote_args_inexact
from tinyjax.numpy.util import canonicalize_axes
from tinyjax.scipy.special import softmaxes


def logsumexp(
    a: Any,
    axis: Any = None,
    b: Any = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: Any = None,
) -> Any:
    """log(sum(b * exp(a))) along `axis` (an int, a tuple, None for all), without overflow.

    With `return_sign` a pair: the logarithm of the sum's absolute value, and its sign; without, a
    negative sum gives NaN. `where` masks elements. Raises ValueError for an axis out of range."""
    if where is not None:
        a = jnp.where(where, a, 0)
    if b is None:
        (a,) = promote_args_inexact("logsumexp", a)
    else:
        a, b = promote_args_inexact("logsumexp", a, b)
        a = jnp.where(b != 0, a, -np.inf)
    axes = canonicalize_axes(axis, a.ndim)

    # The largest element leaves the exponent; where it is infinite there is nothing to scale by.
    largest = jnp.max(a.real, axis=axes, keepdims=keepdims, where=where, initial=-np.inf)
    largest = lax.select(jnp.isfinite(largest), largest, lax.full_like(largest, 0))
    largest = lax.stop_gradient(largest)
    with_axes = largest if keepdims else lax.expand_dims(largest, axes)
    scaled = lax.exp(lax.sub(a, with_axes.astype(a.dtype)))
    if b is not None:
        scaled = lax.mul(scaled, b)
    total = scaled.sum(axis=axes, keepdims=keepdims, where=where)

    sign = lax.sign(total)
    is_complex = dtypes.kind(a.dtype) == "c"
    if return_sign or not is_complex:
        total = abs(total)
    out = lax.add(lax.log(total), largest.astype(total.dtype))
    if return_sign:
        return out, sign
    if b is not None and not is_complex:
        return jnp.where(sign < 0, jnp.array(np.nan, dtype=out.dtype), out)
    return out


def softmax(x: Any, /, *, axis: Any = None) -> Any:
    """exp(x), divided by its sum along `axis` (an int, a tuple, None for all): jax.nn.softmax."""
    return softmaxes.softmax(x, axis=axis)


def log_softmax(x: Any, /, *, axis: Any = None) -> Any:
    """log(softmax(x)), which stays finite where softmax(x) rounds to 0: jax.nn.log_softmax."""
    return softmaxes.log_softmax(x, axis=axis)
