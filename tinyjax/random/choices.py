"""Random orders and choices: permutation, choice, categorical.

A random order is a sort by random numbers, and a draw from a categorical distribution is the argmax of its
logits plus Gumbel noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.core import dtypes
from tinyjax.core.array import Array
from tinyjax.lax.shape import canonicalize_axis
from tinyjax.numpy.placing import takes_out_sharding
from tinyjax.numpy.promotion import promote_dtypes_inexact
from tinyjax.numpy.util import canonicalize_shape, check_arraylike, concrete, dtype_of
from tinyjax.random.continuous import gumbel
from tinyjax.random.distributions import check_broadcasts, randint, uniform
from tinyjax.random.keys import random_bits, split_typed, typed_key
from tinyjax.transform.jit.api import jitted

# ---- random orders ----


@takes_out_sharding
def permutation(key: Any, x: Any, axis: int = 0, independent: bool = False) -> Array:
    """`x` in random order along `axis`; for an integer, range(x) in random order.

    With `independent` each vector along `axis` gets its own order. Raises TypeError for lists and for
    scalars that aren't integers, ValueError for an axis out of range."""
    key = typed_key("permutation", key)
    check_arraylike("permutation", x)
    axis = canonicalize_axis(axis, np.ndim(x) or 1)
    if not np.ndim(x):
        if dtypes.kind(dtype_of(x)) not in "iu":
            raise TypeError("x must be an integer or at least 1-dimensional")
        size = int(concrete(x, "It is the argument x of jax.random.permutation()."))
        return _shuffle(key, jnp.arange(size), axis)
    if independent or np.ndim(x) == 1:
        return _shuffle(key, x, axis)
    order = _shuffle(key, jnp.arange(x.shape[axis]), 0)
    return jnp.take(x, order, axis, unique_indices=True)


@jitted(static_argnames=("axis",))
def _shuffle(key: Any, x: Any, axis: int) -> Any:
    """Sorts by random 32-bit numbers, in enough rounds to make a tie in all of them unlikely."""
    size = max(1, x.size)
    for _ in range(math.ceil(3 * math.log(size) / math.log(2**32 - 1))):
        key, subkey = split_typed(key)
        _, x = lax.sort_key_val(random_bits(subkey, 32, x.shape), x, axis)
    return x


# ---- choices ----


def choice(
    key: Any, a: Any, shape: Any = (), replace: bool = True, p: Any = None, axis: int = 0,
    mode: str | None = None,
) -> Array:  # fmt: skip
    """Elements of `a` along `axis` (for an integer, of range(a)), drawn with probabilities `p`.

    Without `replace` no element is drawn twice, and gumbel draws, with this `mode`.
    Raises TypeError for lists and for a shape that is no sequence, ValueError where `a` is empty, has
    fewer elements than are drawn without replacement, or `p` is not one number for each."""
    key = typed_key("choice", key)
    if not isinstance(shape, Sequence):
        raise TypeError(
            f"shape argument of jax.random.choice must be a sequence, got {shape}: write ({shape},)"
        )
    check_arraylike("choice", a)
    shape = canonicalize_shape(shape)
    array = jnp.asarray(a)
    if array.ndim == 0:
        size = int(concrete(a, "It is the argument a of jax.random.choice()."))
        out_shape = shape
    else:
        axis = canonicalize_axis(axis, array.ndim)
        size = array.shape[axis]
        out_shape = (*array.shape[:axis], *shape, *array.shape[axis + 1 :])
    number = math.prod(shape)
    if number == 0:
        return jnp.zeros(shape, array.dtype)
    _check_population(size, number, replace)

    if p is None and not replace:
        first = (slice(None),) * axis + (slice(number),)
        drawn = permutation(key, array if array.ndim else size, axis)[first]
    else:
        if p is None:
            places = randint(key, shape, 0, size)
        else:
            places = _weighted_places(key, _checked_weights(p, size), shape, replace, mode)
        drawn = jnp.take(array, places, axis) if array.ndim else places
    return drawn.reshape(out_shape)


def _check_population(size: int, number: int, replace: bool) -> None:
    if size <= 0:
        raise ValueError("a must be greater than 0 unless no samples are taken")
    if not replace and number > size:
        raise ValueError(
            f"Cannot take a larger sample (size {number}) than population (size {size}) when "
            "'replace=False'"
        )


def _checked_weights(p: Any, size: int) -> Any:
    check_arraylike("choice", p)
    (p,) = promote_dtypes_inexact(p)
    if p.shape != (size,):
        raise ValueError(
            "p must be None or a 1D vector with the same size as a.shape[axis]. p has shape "
            f"{p.shape} and a.shape[axis] is {size}."
        )
    return p


def _weighted_places(
    key: Any, p: Any, shape: tuple[int, ...], replace: bool, mode: str | None
) -> Any:
    """Indices drawn with probabilities proportional to `p`."""
    if replace:  # the place of a uniform number among the cumulative probabilities
        cumulative = jnp.cumsum(p)
        r = cumulative[-1] * (1 - uniform(key, shape, dtype=cumulative.dtype))
        return jnp.searchsorted(cumulative, r).astype(int)
    noisy = gumbel(key, p.shape, p.dtype, mode) + jnp.log(p)
    return lax.top_k(noisy, k=math.prod(shape))[1].astype(int)


# ---- categories ----


@takes_out_sharding
def categorical(
    key: Any,
    logits: Any,
    axis: int = -1,
    shape: Any = None,
    replace: bool = True,
    mode: str | None = None,
) -> Array:
    """Indices along `axis` drawn with probabilities softmax(logits, axis).

    `shape` must end with the shape of `logits` without `axis`, which is also its default; `mode` is
    gumbel's. Raises TypeError for lists, ValueError where shapes do not broadcast or more is drawn
    without replacement than there are categories.
    Source: W. Kool et al., "Stochastic beams and where to find them" (2019), for replace=False."""
    key = typed_key("categorical", key)
    check_arraylike("categorical", logits)
    logits = jnp.asarray(logits)
    axis = canonicalize_axis(axis, logits.ndim)
    batch_shape = (*logits.shape[:axis], *logits.shape[axis + 1 :])
    if shape is None:
        shape = batch_shape
    else:
        shape = canonicalize_shape(shape)
        check_broadcasts("categorical", shape, batch_shape)
    prefix = shape[: len(shape) - len(batch_shape)]
    if not replace:
        return _without_replacement(key, logits, axis, shape, prefix, mode)
    drawn = list(shape[len(prefix) :])
    drawn.insert(axis, logits.shape[axis])
    noise = gumbel(key, (*prefix, *drawn), logits.dtype, mode)
    noisy = noise + lax.expand_dims(logits, tuple(range(len(prefix))))
    return jnp.argmax(noisy, axis=axis - logits.ndim)


def _without_replacement(
    key: Any,
    logits: Any,
    axis: int,
    shape: tuple[int, ...],
    prefix: tuple[int, ...],
    mode: str | None,
) -> Any:
    number = math.prod(prefix)
    if number > logits.shape[axis]:
        raise ValueError(
            f"Number of samples without replacement ({number}) cannot exceed number of categories "
            f"({logits.shape[axis]})."
        )
    noisy = logits + gumbel(key, logits.shape, logits.dtype, mode)
    _, places = lax.top_k(jnp.moveaxis(noisy, axis, -1), number)
    return jnp.moveaxis(places, -1, 0).reshape(shape)
