"""Draws of uniform and normal numbers, integers and coin flips, from which the others are made.

Random bits become the fraction of a float in [1, 2), that is shifted to (-1, 1), and the inverse of erf bends
uniform numbers to normal ones. The steps are JAX's, so that the same key gives the same numbers.

Each public function checks its arguments; the function below it, shown as jit[name=_uniform] in a
jaxpr, is the computation. `sampler` makes the public function from the computation. All public functions
raise the same errors: TypeError for a key that is none or a shape that is no sequence of integers,
ValueError for an array of keys, for a dtype of the wrong kind and for parameters that do not broadcast to
`shape`. Nearly all take an `out_sharding`, which says how the result is split over devices.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.core import dtypes
from tinyjax.core.array import Array
from tinyjax.core.declared_functions import all_arguments, named
from tinyjax.core.primitives import shape_of
from tinyjax.lax.elementwise import real_dtype
from tinyjax.numpy.placing import takes_out_sharding
from tinyjax.numpy.promotion import broadcast_to_rank
from tinyjax.numpy.util import (
    broadcast_shapes,
    canonicalize_shape,
    check_arraylike,
    constant,
    constant_like,
    dtype_of,
    user_dtype,
    weak_constant_like,
)
from tinyjax.random.keys import random_bits, split_typed, typed_key
from tinyjax.transform.jit.api import jitted

# ---- arguments ----


def checked_dtype(name: str, dtype: Any, default: type = float, kinds: str = "f") -> np.dtype:
    """The dtype to draw in. Raises ValueError if its kind is not in `kinds`."""
    dtype = user_dtype(default if dtype is None else dtype, name)
    if dtypes.kind(dtype) not in kinds:
        word = {"f": "a float", "fc": "a float or complex", "u": "an unsigned int"}[kinds]
        raise ValueError(f"dtype argument to `{name}` must be {word} dtype, got {dtype.name}")
    return dtype


def checked_shape(name: str, shape: Any, *parameters: Any) -> tuple[int, ...]:
    """The shape to draw: by default the parameters' shape.

    Raises ValueError if the parameters do not broadcast to the shape that is given."""
    shapes = [shape_of(x) for x in parameters]
    if shape is None:
        return broadcast_shapes(*shapes)
    check_broadcasts(name, shape, *shapes)
    return shape


def check_broadcasts(name: str, shape: tuple[int, ...], *shapes: tuple[int, ...]) -> None:
    """Raises ValueError if the shapes of the parameters do not broadcast to `shape`."""
    found = broadcast_shapes(shape, *shapes)
    if found != shape:
        raise ValueError(
            f"{name} parameter shapes must be broadcast-compatible with shape argument, and the result "
            "of broadcasting the shapes must equal the shape argument, but got result "
            f"{found} for shape argument {shape}."
        )


def optional_shape(shape: Any) -> tuple[int, ...] | None:
    return None if shape is None else canonicalize_shape(shape)


def is_approximate(name: str, method: str) -> bool:
    """Whether draws may be approximate. Raises ValueError for a method that JAX doesn't have."""
    if method not in ("exact", "approximate"):
        raise ValueError(
            f"method argument to `{name}` must be one of {{'exact', 'approximate'}}, got {method!r}"
        )
    return method == "approximate"


def sampler(compute: Callable[..., Any]) -> Callable[..., Array]:
    """The public function of a computation of (key, *parameters, shape, dtype), with the computation's
    docstring.

    It checks the key, the shape and the dtype, which must be a float's. Jaxprs show the computation as
    jit[name=_beta]."""
    name, signature = compute.__name__, inspect.signature(compute)
    as_shape = (
        optional_shape if signature.parameters["shape"].default is None else canonicalize_shape
    )

    @jitted(static_argnames=[p for p in ("shape", "dtype", "method") if p in signature.parameters])
    @named(f"_{name}", None)
    @functools.wraps(compute)
    def computation(*args: Any, **kwargs: Any) -> Any:
        return compute(*args, **kwargs)

    @functools.wraps(compute)
    def sample(*args: Any, **kwargs: Any) -> Array:
        bound = all_arguments(name, signature, args, kwargs)
        given = bound.arguments
        given["key"] = typed_key(name, given["key"])
        given["dtype"] = checked_dtype(name, given["dtype"])
        given["shape"] = as_shape(given["shape"])
        return computation(*bound.args, **bound.kwargs)

    return sample


# ---- bits and uniform numbers ----


@takes_out_sharding
def bits(key: Any, shape: Any = (), dtype: Any = None) -> Array:
    """Uniform unsigned integers over the whole range of `dtype` (default uint32; uint64 with x64)."""
    key = typed_key("bits", key)
    default = dtypes.canonicalize_dtype("uint64")
    dtype = checked_dtype("bits", default if dtype is None else dtype, kinds="u")
    return random_bits(key, 8 * dtype.itemsize, canonicalize_shape(shape))


@takes_out_sharding
def uniform(
    key: Any, shape: Any = (), dtype: Any = None, minval: Any = 0.0, maxval: Any = 1.0
) -> Array:
    """Uniform floats in [minval, maxval), which broadcast to `shape`."""
    key = typed_key("uniform", key)
    dtype = checked_dtype("uniform", dtype)
    if dtypes.finfo(dtype).bits < 8:
        raise TypeError(f"uniform only accepts dtypes of 8 bits or more, got {dtype.name}")
    return _uniform(key, minval, maxval, canonicalize_shape(shape), dtype)


@jitted(static_argnames=("shape", "dtype"))
def _uniform(key: Any, minval: Any, maxval: Any, shape: tuple[int, ...], dtype: np.dtype) -> Any:
    minval = lax.convert_element_type(minval, dtype)
    maxval = lax.convert_element_type(maxval, dtype)
    minval, maxval = (broadcast_to_rank(x, len(shape)) for x in (minval, maxval))

    bit_width = 8 if dtypes.finfo(dtype).nmant < 8 else 8 * dtype.itemsize
    floats = one_to_two(random_bits(key, bit_width, shape), bit_width, dtype)
    unit = lax.sub(floats, constant(1, dtype))

    # maxval - minval may round up: lax.max keeps draws from falling below minval.
    return lax.max(minval, lax.reshape(unit * (maxval - minval) + minval, shape))


def one_to_two(bits: Any, bit_width: int, dtype: np.dtype) -> Any:
    """Floats of `dtype` in [1, 2): the highest of the random bits as the fraction, the exponent of 1.0.

    `bits` is an unsigned integer array of `bit_width` bits. It is converted to the unsigned dtype of the
    float's size, and shifted to the right until as many bits are left as the fraction has
    (`dtypes.finfo(dtype).nmant`); then the bits of 1.0 are set, and all is read as a float. `constant(x,
    dtype)` is the number x as an operand."""
    unsigned = np.dtype(f"uint{8 * dtype.itemsize}")
    words = lax.convert_element_type(bits, unsigned)
    unused = bit_width - dtypes.finfo(dtype).nmant
    fraction = lax.shift_right_logical(words, constant(unused, unsigned))
    one = np.ones((), dtype).view(unsigned)
    return lax.bitcast_convert_type(lax.bitwise_or(fraction, constant(one, unsigned)), dtype)


# ---- integers ----


@takes_out_sharding
def randint(key: Any, shape: Any, minval: Any, maxval: Any, dtype: Any = None) -> Array:
    """Uniform integers in [minval, maxval), which broadcast to `shape`; minval if the range is empty.

    Raises TypeError if `dtype` is no integer dtype."""
    key = typed_key("randint", key)
    dtype = user_dtype(int if dtype is None else dtype, "randint")
    shape = canonicalize_shape(shape)
    if dtypes.kind(dtype) not in "iu":
        raise TypeError(f"randint only accepts integer dtypes, got {dtype.name}")
    drawn_as = dtype
    if dtype.itemsize < 4:  # with fewer bits some integers would be noticeably more likely
        drawn_as = np.dtype("int32")
        info = np.iinfo(dtype)
        minval = jnp.clip(jnp.asarray(minval).astype("int32"), min=info.min, max=info.max)
        maxval = jnp.clip(jnp.asarray(maxval).astype("int32"), min=info.min, max=info.max + 1)
    return _randint(key, minval, maxval, shape, drawn_as).astype(dtype)


@jitted(static_argnames=("shape", "dtype"))
def _randint(key: Any, minval: Any, maxval: Any, shape: tuple[int, ...], dtype: np.dtype) -> Any:
    checked_shape("randint", shape, minval, maxval)
    check_arraylike("randint", minval, maxval)
    minval, maxval = _as_integer(minval), _as_integer(maxval)

    # randint(key, shape, 0, 256, uint8) must reach 255, though 256 is no uint8.
    largest = constant(np.iinfo(dtype).max, dtype)
    above_range = lax.gt(maxval, _clip_to_integer(largest, maxval.dtype))
    minval, maxval = _clip_to_integer(minval, dtype), _clip_to_integer(maxval, dtype)
    minval, maxval = (broadcast_to_rank(x, len(shape)) for x in (minval, maxval))

    # A remainder of n bits favours small results; of 2n bits it does so 2**n times less.
    n_bits = 8 * dtype.itemsize
    key1, key2 = split_typed(key)
    higher, lower = random_bits(key1, n_bits, shape), random_bits(key2, n_bits, shape)

    span = lax.convert_element_type(maxval - minval, np.dtype(f"uint{n_bits}"))
    span = lax.select(maxval <= minval, lax.full_like(span, 1), span)
    one_more = above_range & (maxval > minval)
    # This may wrap to 0, which is right: the remainder by 0 changes nothing.
    span = lax.select(one_more, lax.add(span, constant_like(span, 1)), span)

    # (higher * 2**n + lower) % span, from 2**n % span, without a number of more than n bits.
    root = lax.rem(constant_like(span, 2 ** (n_bits // 2)), span)
    multiplier = lax.rem(lax.mul(root, root), span)
    offset = lax.add(lax.mul(lax.rem(higher, span), multiplier), lax.rem(lower, span))
    offset = lax.rem(offset, span)
    return lax.add(minval, lax.convert_element_type(offset, dtype))


def _as_integer(x: Any) -> Any:
    x = jnp.asarray(x)
    return x if dtypes.kind(x.dtype) in "iu" else x.astype(int)


def _clip_to_integer(x: Any, dtype: np.dtype) -> Any:
    """`x` in another integer dtype; a number out of range becomes the nearest in it."""
    old, new = np.iinfo(x.dtype), np.iinfo(dtype)
    low, high = max(old.min, new.min), min(old.max, new.max)
    return jnp.clip(x, weak_constant_like(x, low), weak_constant_like(x, high)).astype(dtype)


@takes_out_sharding
def bernoulli(key: Any, p: Any = 0.5, shape: Any = None, mode: str = "low") -> Array:
    """True with probability `p`, else False; the shape is by default that of `p`.

    mode="high" resolves probabilities below 1e-7 too, for twice the bits.
    Raises TypeError if `p` is not floating, ValueError for another mode."""
    shape = optional_shape(shape)
    if mode not in ("high", "low"):
        raise ValueError(f"got {mode=}, expected 'high' or 'low'")
    key = typed_key("bernoulli", key)
    dtype = dtype_of(p)
    if dtypes.kind(dtype) != "f":
        raise TypeError(f"bernoulli probability `p` must have a floating dtype, got {dtype.name}.")
    return _bernoulli(key, lax.convert_element_type(p, dtype), shape, mode)


@jitted(static_argnames=("shape", "mode"))
def _bernoulli(key: Any, p: Any, shape: tuple[int, ...] | None, mode: str) -> Any:
    shape = checked_shape("bernoulli", shape, p)
    dtype = dtype_of(p)
    if mode == "high":
        u1, u2 = uniform(key, (2, *shape), dtype)
        return u2 * 2.0 ** -dtypes.finfo(dtype).nmant < p - u1
    return uniform(key, shape, dtype) < p


@takes_out_sharding
def rademacher(key: Any, shape: Any = (), dtype: Any = None) -> Array:
    """-1 or 1, equally likely."""
    key = typed_key("rademacher", key)
    dtype = user_dtype(int if dtype is None else dtype, "rademacher")
    return _rademacher(key, canonicalize_shape(shape), dtype)


@jitted(static_argnames=("shape", "dtype"))
def _rademacher(key: Any, shape: tuple[int, ...], dtype: np.dtype) -> Any:
    heads = bernoulli(key, 0.5, shape).astype(dtype)
    return (2 * heads - 1).astype(dtype)


# ---- normal numbers ----


@takes_out_sharding
def normal(key: Any, shape: Any = (), dtype: Any = None) -> Array:
    """Normal numbers of mean 0 and variance 1; complex ones have variance 1/2 in each part."""
    key = typed_key("normal", key)
    shape = canonicalize_shape(shape)
    return _normal(key, shape, checked_dtype("normal", dtype, kinds="fc"))


@jitted(static_argnames=("shape", "dtype"))
def _normal(key: Any, shape: tuple[int, ...], dtype: np.dtype) -> Any:
    if dtypes.kind(dtype) == "f":
        return _normal_real(key, shape, dtype)
    key_re, key_im = split_typed(key)
    re = _normal_real(key_re, shape, real_dtype(dtype)).astype(dtype)
    im = _normal_real(key_im, shape, real_dtype(dtype)).astype(dtype)
    return (re + 1j * im) / constant(np.sqrt(2), dtype)


@jitted(static_argnames=("shape", "dtype"))
def _normal_real(key: Any, shape: tuple[int, ...], dtype: np.dtype) -> Any:
    above_minus_one = np.nextafter(np.array(-1.0, dtype), np.array(0.0, dtype), dtype=dtype)
    u = uniform(key, shape, dtype, constant(above_minus_one, dtype), constant(1, dtype))
    return lax.mul(constant(np.sqrt(2), dtype), lax.erf_inv(u))


@takes_out_sharding
def truncated_normal(
    key: Any, lower: Any, upper: Any, shape: Any = None, dtype: Any = None
) -> Array:
    """Normal numbers between `lower` and `upper`, whose shape is the default."""
    shape = optional_shape(shape)
    key = typed_key("truncated_normal", key)
    return _truncated_normal(key, lower, upper, shape, checked_dtype("truncated_normal", dtype))


@jitted(static_argnames=("shape", "dtype"))
def _truncated_normal(
    key: Any, lower: Any, upper: Any, shape: tuple[int, ...] | None, dtype: np.dtype
) -> Any:
    shape = checked_shape("truncated_normal", shape, lower, upper)
    sqrt2 = constant(np.sqrt(2), dtype)
    lower = lax.convert_element_type(lower, dtype)
    upper = lax.convert_element_type(upper, dtype)
    u = uniform(key, shape, dtype, lax.erf(lower / sqrt2), lax.erf(upper / sqrt2))
    out = sqrt2 * lax.erf_inv(u)
    # Rounding may push a draw to the bounds or past them.
    above = lax.nextafter(lax.stop_gradient(lower), constant(np.inf, dtype))
    below = lax.nextafter(lax.stop_gradient(upper), constant(-np.inf, dtype))
    return jnp.clip(out, above, below)
