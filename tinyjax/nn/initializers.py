"""Initial weights of networks: functions (key, shape, dtype) -> array.

A layer adds up fan_in products, so weights of variance 1 / fan_in keep the size of what passes through.

`zeros` and `ones` are initializers; the others make one: `glorot_normal()(key, (3, 2))`.
Initializers raise what jax.random raises for keys, shapes and dtypes.
Source: https://docs.jax.dev/en/latest/jax.nn.initializers.html
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinyjax import lax, random
from tinyjax import numpy as jnp
from tinyjax.core import dtypes
from tinyjax.core.array import Array
from tinyjax.core.declared_functions import named
from tinyjax.lax.elementwise import real_dtype
from tinyjax.numpy.util import canonicalize_shape, user_dtype

Initializer = Callable[..., Array]
Axes = int | Sequence[int]


def _dtype(dtype: Any) -> np.dtype:
    return dtypes.default_dtype(float) if dtype is None else user_dtype(dtype)


# ---- constants ----


def zeros(key: Any, shape: Any, dtype: Any = None) -> Array:
    """Zeros; the key is not looked at."""
    return jnp.zeros(shape, _dtype(dtype))


def ones(key: Any, shape: Any, dtype: Any = None) -> Array:
    """Ones; the key is not looked at."""
    return jnp.ones(shape, _dtype(dtype))


def constant(value: Any, dtype: Any = None) -> Initializer:
    """An initializer that gives arrays full of `value`."""

    def init(key: Any, shape: Any, dtype: Any = dtype) -> Array:
        return jnp.full(shape, value, _dtype(dtype))

    return init


# ---- one scale for all shapes ----


def uniform(scale: Any = 1e-2, dtype: Any = None) -> Initializer:
    """An initializer that draws uniform numbers in [0, scale)."""

    def init(key: Any, shape: Any, dtype: Any = dtype) -> Array:
        dtype = _dtype(dtype)
        return random.uniform(key, shape, dtype) * jnp.array(scale, dtype)

    return init


def normal(stddev: Any = 1e-2, dtype: Any = None) -> Initializer:
    """An initializer that draws normal numbers of standard deviation `stddev`."""

    def init(key: Any, shape: Any, dtype: Any = dtype) -> Array:
        dtype = _dtype(dtype)
        return _scaled_normal(key, shape, dtype, jnp.array(stddev, dtype))

    return init


def truncated_normal(
    stddev: Any = 1e-2, dtype: Any = None, lower: Any = -2.0, upper: Any = 2.0
) -> Initializer:
    """An initializer that draws normal numbers between `lower` and `upper`, times `stddev`.

    Cutting the tails makes their standard deviation smaller than `stddev`."""

    def init(key: Any, shape: Any, dtype: Any = dtype) -> Array:
        dtype = _dtype(dtype)
        draws = random.truncated_normal(key, lower, upper, shape, dtype)
        return draws * jnp.array(stddev, dtype)

    return init


# ---- a scale from the shape ----


def variance_scaling(
    scale: Any,
    mode: str,
    distribution: str,
    in_axis: Axes = -2,
    out_axis: Axes = -1,
    batch_axis: Axes = (),
    dtype: Any = None,
) -> Initializer:
    """An initializer that draws numbers of mean 0 and variance scale / n.

    n is, by `mode`, "fan_in", "fan_out", "fan_avg" or "fan_geo_avg" of the shape: the sizes of in_axis
    and out_axis, times those of all axes that have no role (the window of a convolution); batch_axis
    is not counted. `distribution` is "truncated_normal" (at 2 standard deviations), "normal" or
    "uniform"; complex numbers lie in a disk. The initializer raises ValueError for another mode or
    distribution, and for shapes of less than two axes where in_axis is the default."""

    def init(key: Any, shape: Any, dtype: Any = dtype) -> Array:
        shape, dtype = canonicalize_shape(shape), _dtype(dtype)
        n = _fan(mode, *_compute_fans(shape, in_axis, out_axis, batch_axis))
        variance = jnp.array(scale / n if n else 0, dtype=dtype)
        if distribution == "normal":
            return _scaled_normal(key, shape, dtype, jnp.sqrt(variance))
        if distribution == "truncated_normal":
            return _scaled_truncated_normal(key, shape, dtype, variance)
        if distribution == "uniform":
            return _scaled_uniform(key, shape, dtype, variance)
        raise ValueError(f"invalid distribution for variance scaling initializer: {distribution}")

    return init


def _fan(mode: str, fan_in: float, fan_out: float) -> float:
    if mode == "fan_in":
        return fan_in
    if mode == "fan_out":
        return fan_out
    if mode == "fan_avg":
        return (fan_in + fan_out) / 2
    if mode == "fan_geo_avg":
        return (fan_in * fan_out) ** 0.5
    raise ValueError(f"invalid mode for variance scaling initializer: {mode}")


def _compute_fans(
    shape: tuple[int, ...], in_axis: Axes, out_axis: Axes, batch_axis: Axes
) -> tuple[float, float]:
    """How many numbers a weight's result is the sum of, and how many results it has a part in."""
    if isinstance(in_axis, int) and in_axis == -2 and len(shape) <= 1:
        raise ValueError(
            f"Can't compute input and output sizes of a {len(shape)}-dimensional weights tensor with "
            "default in_axis. Must be at least 2D or specify in_axis explicitly."
        )

    def size(axes: Axes) -> int:
        return shape[axes] if isinstance(axes, int) else math.prod(shape[axis] for axis in axes)

    in_size, out_size = size(in_axis), size(out_axis)
    parts = in_size * out_size * size(batch_axis)
    window = math.prod(shape) / parts if parts else 0
    return in_size * window, out_size * window


def _scaled_normal(key: Any, shape: Any, dtype: np.dtype, scale: Any) -> Array:
    """Normal numbers times `scale`. Floats' draws are multiplied once, by sqrt(2) * scale."""
    if dtypes.kind(dtype) != "f":
        return random.normal(key, shape, dtype) * scale
    low = np.nextafter(np.array(-1, dtype), np.array(0, dtype), dtype=dtype)
    draws = random.uniform(key, shape, dtype, low, np.array(1, dtype))
    return (jnp.array(np.sqrt(2), dtype) * scale) * lax.erf_inv(draws)


def _scaled_truncated_normal(key: Any, shape: Any, dtype: np.dtype, variance: Any) -> Array:
    # The divisors are the standard deviations of what the cut at 2 leaves over.
    if dtypes.kind(dtype) == "f":
        stddev = jnp.sqrt(variance) / jnp.array(0.87962566103423978, dtype)
        return random.truncated_normal(key, -2, 2, shape, dtype) * stddev
    stddev = jnp.sqrt(variance) / jnp.array(0.95311164380491208, dtype)
    return _complex_truncated_normal(key, 2, shape, dtype) * stddev


def _scaled_uniform(key: Any, shape: Any, dtype: np.dtype, variance: Any) -> Array:
    if dtypes.kind(dtype) == "f":
        return random.uniform(key, shape, dtype, -1) * jnp.sqrt(3 * variance)
    return _complex_uniform(key, shape, dtype) * jnp.sqrt(variance)


def _complex_uniform(key: Any, shape: Any, dtype: np.dtype) -> Array:
    """Uniform in a disk of the complex plane, with variance 1."""
    key_r, key_theta = random.split(key)
    real = real_dtype(dtype)
    r = jnp.sqrt(2 * random.uniform(key_r, shape, real)).astype(dtype)
    theta = 2 * np.pi * random.uniform(key_theta, shape, real).astype(dtype)
    return r * jnp.exp(1j * theta)


def _complex_truncated_normal(key: Any, upper: float, shape: Any, dtype: np.dtype) -> Array:
    """Complex normal numbers of absolute value up to `upper`; variance 1 before the cut."""
    key_r, key_theta = random.split(key)
    real = real_dtype(dtype)
    inside = 1 - jnp.exp(jnp.array(-(upper**2), dtype))
    t = inside * random.uniform(key_r, shape, real).astype(dtype)
    theta = 2 * np.pi * random.uniform(key_theta, shape, real).astype(dtype)
    return jnp.sqrt(-jnp.log(1 - t)) * jnp.exp(1j * theta)


def _variance_scaling(
    name: str, scale: float, mode: str, distribution: str
) -> Callable[..., Initializer]:
    """variance_scaling under the name of those who proposed its settings."""
    made = functools.partial(variance_scaling, scale, mode, distribution)

    @named(name, f"An initializer: variance_scaling({scale}, {mode!r}, {distribution!r}).")
    def make(
        in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Any = None
    ) -> Initializer:
        return made(in_axis=in_axis, out_axis=out_axis, batch_axis=batch_axis, dtype=dtype)

    return make


# Glorot and Bengio (2010), LeCun et al. (1998), He et al. (2015).
glorot_uniform = xavier_uniform = _variance_scaling("glorot_uniform", 1.0, "fan_avg", "uniform")
glorot_normal = xavier_normal = _variance_scaling(
    "glorot_normal", 1.0, "fan_avg", "truncated_normal"
)
lecun_uniform = _variance_scaling("lecun_uniform", 1.0, "fan_in", "uniform")
lecun_normal = _variance_scaling("lecun_normal", 1.0, "fan_in", "truncated_normal")
he_uniform = kaiming_uniform = _variance_scaling("he_uniform", 2.0, "fan_in", "uniform")
he_normal = kaiming_normal = _variance_scaling("he_normal", 2.0, "fan_in", "truncated_normal")


# ---- matrices that keep lengths ----


def orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: Any = None) -> Initializer:
    """An initializer that draws matrices whose columns, along `column_axis`, are orthonormal, times `scale`.

    All other axes together are the rows; of a matrix with fewer rows than columns, the rows are
    orthonormal. The initializer raises ValueError for shapes of less than two axes.
    Source: Saxe et al., "Exact solutions to the nonlinear dynamics of learning" (2013)."""

    def init(key: Any, shape: Any, dtype: Any = dtype) -> Array:
        from tinyjax.random.multivariate import orthogonal as draw  # it needs linear algebra

        shape, dtype = canonicalize_shape(shape), _dtype(dtype)
        if len(shape) < 2:
            raise ValueError(f"orthogonal initializer requires at least a 2D shape, got {shape}")
        columns = shape[column_axis]
        others = list(shape)
        del others[column_axis]
        matrix = draw(key, math.prod(others), (), dtype, m=columns)
        return scale * jnp.moveaxis(matrix.reshape(*others, columns), -1, column_axis)

    return init


def delta_orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: Any = None) -> Initializer:
    """An initializer of convolutions: an orthogonal matrix at the window's center, zero elsewhere.

    Shapes are (*window, fan_in, fan_out), of windows with one to three axes. The initializer raises
    ValueError for others, and where fan_in > fan_out.
    Source: Xiao et al., "Dynamical isometry and a mean field theory of CNNs" (2018), section 3."""

    def init(key: Any, shape: Any, dtype: Any = dtype) -> Array:
        shape, dtype = canonicalize_shape(shape), _dtype(dtype)
        if len(shape) not in (3, 4, 5):
            raise ValueError(
                f"Delta orthogonal initializer requires a 3D, 4D or 5D shape, got {shape}"
            )
        *window, fan_in, fan_out = shape
        if fan_in > fan_out:
            raise ValueError(f"`fan_in` must be at most `fan_out`, got {fan_in} and {fan_out}")
        matrix = orthogonal(scale, column_axis, dtype)(key, (fan_in, fan_out))
        center = tuple((size - 1) // 2 for size in window)
        return jnp.zeros(shape, dtype).at[center].set(matrix)

    return init
