"""softmax, log_softmax and logsumexp: probabilities, and sums of numbers given by their logarithms.

softmax subtracts the maximum, as exp of a large number is inf and the result is the same without it. The
maximum is in stop_gradient, as its derivative cancels. jax.nn and jax.scipy.special export these
functions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core import dtypes
from tinyjax.core.array import Array
from tinyjax.numpy import reductions
from tinyjax.numpy.choosing import where as where_
from tinyjax.numpy.creation import array
from tinyjax.numpy.elementary import exp, log
from tinyjax.numpy.logic import isfinite
from tinyjax.numpy.promotion import promote_args_inexact
from tinyjax.numpy.util import canonicalize_axes, ensure_arraylike
from tinyjax.transform.jit.api import jitted


def softmax(x: Any, axis: Any = -1, where: Any = None) -> Array:
    """exp(x), divided by its sum along `axis` (an int, a tuple, None for all).

    Elements not in the mask `where` do not count and give 0. Raises ValueError for an axis out of
    range. An element inf, or all of them -inf, give NaN."""
    x = ensure_arraylike("softmax", x)
    x_max = reductions.max(x, axis, where=where, initial=-np.inf, keepdims=True)
    x_safe = x if where is None else where_(where, x, -np.inf)
    unnormalized = exp(x_safe - lax.stop_gradient(x_max))
    result = unnormalized / reductions.sum(unnormalized, axis, where=where, keepdims=True)
    return result if where is None else where_(where, result, 0)


@jitted(static_argnames=("axis",))
def log_softmax(x: Any, axis: Any = -1, where: Any = None) -> Array:
    """log(softmax(x)), which stays finite where softmax(x) rounds to 0; masked elements give -inf.

    Arguments and errors are those of softmax."""
    x = ensure_arraylike("log_softmax", x)
    x_max = reductions.max(x, axis, where=where, initial=-np.inf, keepdims=True)
    x_safe = x if where is None else where_(where, x, -np.inf)
    shifted = x_safe - lax.stop_gradient(x_max)
    result = shifted - log(reductions.sum(exp(shifted), axis, where=where, keepdims=True))
    return result if where is None else where_(where, result, -np.inf)


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
        a = where_(where, a, 0)
    if b is None:
        (a,) = promote_args_inexact("logsumexp", a)
    else:
        a, b = promote_args_inexact("logsumexp", a, b)
        a = where_(b != 0, a, -np.inf)
    axes = canonicalize_axes(axis, a.ndim)

    # The largest element is subtracted from the exponents, unless it is infinite.
    largest = reductions.max(a.real, axis=axes, keepdims=keepdims, where=where, initial=-np.inf)
    largest = lax.select(isfinite(largest), largest, lax.full_like(largest, 0))
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
        return where_(sign < 0, array(np.nan, dtype=out.dtype), out)
    return out
