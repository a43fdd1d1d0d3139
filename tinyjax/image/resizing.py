"""`jax.image`: images of another size.

Resizing is a product with one matrix an axis: its rows are the weights of the old pixels in a new one, a
kernel's values (a box, a tent, a cubic, a windowed sinc) around the place that it comes from. A wider kernel
makes a picture smaller without artefacts.

Sources: K. Turkowski, "Filters for common resampling tasks", 1990. R. G. Keys, "Cubic convolution
interpolation for digital image processing", 1981. https://docs.jax.dev/en/latest/jax.image.html
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.core.array import Array
from tinyjax.lax.shape import canonicalize_axis
from tinyjax.numpy.sinc_function import sinc
from tinyjax.numpy.util import canonicalize_shape, check_arraylike

# ---- kernels: weights by the distance, in pixels ----


def _tent(x: Any) -> Any:
    return jnp.maximum(0, 1 - x)


def _cubic(a: float) -> Callable[[Any], Any]:
    """Keys' cubic convolution: a = -1/2 is exact for parabolas, PyTorch has -3/4."""

    def kernel(x: Any) -> Any:
        near = ((a + 2) * x - (a + 3)) * x * x + 1
        far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
        return jnp.where(x >= 2, 0, jnp.where(x >= 1, far, near))

    return kernel


def _lanczos(radius: float) -> Callable[[Any], Any]:
    """sinc(x) sinc(x / radius), up to the radius."""

    def kernel(x: Any) -> Any:
        inside = sinc(x) * sinc(x / radius)
        return jnp.where(x > radius, 0, inside)

    return kernel


class ResizeMethod(enum.Enum):
    """How pixels are weighed. `resize` takes their names too: nearest, linear (bilinear, trilinear,
    triangle), cubic (bicubic, tricubic), cubic-pytorch, lanczos3, lanczos5, area.

    CUBIC_PYTORCH is CUBIC with `antialias`, and without it PyTorch's kernel, with edges that go on outside.
    AREA counts what part of an old pixel a new one covers."""

    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4
    CUBIC_PYTORCH = 5
    AREA = 6

    @staticmethod
    def from_string(s: str) -> ResizeMethod:
        """The method of this name. Raises ValueError for an unknown one."""
        if s not in NAMES:
            raise ValueError(f'Unknown resize method "{s}"; use one of {", ".join(NAMES)}')
        return NAMES[s]


NAMES = {
    "nearest": ResizeMethod.NEAREST,
    **dict.fromkeys(("linear", "bilinear", "trilinear", "triangle"), ResizeMethod.LINEAR),
    "lanczos3": ResizeMethod.LANCZOS3,
    "lanczos5": ResizeMethod.LANCZOS5,
    **dict.fromkeys(("cubic", "bicubic", "tricubic"), ResizeMethod.CUBIC),
    "cubic-pytorch": ResizeMethod.CUBIC_PYTORCH,
    "area": ResizeMethod.AREA,
}
KERNELS: dict[ResizeMethod, Callable[[Any], Any]] = {
    ResizeMethod.LINEAR: _tent,
    ResizeMethod.LANCZOS3: _lanczos(3.0),
    ResizeMethod.LANCZOS5: _lanczos(5.0),
    ResizeMethod.CUBIC: _cubic(-0.5),
    ResizeMethod.CUBIC_PYTORCH: _cubic(-0.5),
}

# ---- one axis ----


def _weights(
    old: int, new: int, scale: Any, translation: Any, method: ResizeMethod, antialias: bool
) -> Any:
    """The matrix (old, new) of weights: each column is of one new pixel, and sums to 1 inside."""
    inverse = 1 / scale
    # Pixel i covers [i, i + 1], and its place is the middle.
    places = (jnp.arange(new, dtype=scale.dtype) + 0.5) * inverse - translation * inverse - 0.5
    if method is ResizeMethod.CUBIC_PYTORCH and not antialias:
        pixels = jnp.arange(-2, old + 2)
        weights = _cubic(-0.75)(abs(places - pixels[:, None]))
        return jnp.zeros((old, new), scale.dtype).at[jnp.clip(pixels, 0, old - 1)].add(weights)
    distances = abs(places - jnp.arange(old, dtype=scale.dtype)[:, None])
    if method is ResizeMethod.AREA:
        weights = jnp.clip((1 + inverse) / 2 - distances, 0, jnp.minimum(1, inverse))
    else:
        weights = KERNELS[method](distances / (jnp.maximum(inverse, 1) if antialias else 1.0))
    total = jnp.sum(weights, axis=0)
    known = abs(total) > 1000 * float(np.finfo(np.float32).eps)
    weights = jnp.where(known, weights / jnp.where(total != 0, total, 1), 0)
    inside = (places >= -0.5) & (places <= old - 0.5)
    return jnp.where(inside, weights, 0)


def _scaled(
    x: Any, shape: tuple[int, ...], axes: Sequence[int], scale: Any, translation: Any,
    method: ResizeMethod, antialias: bool, precision: Any,
) -> Any:  # fmt: skip
    for i, axis in enumerate(axes):
        weights = _weights(x.shape[axis], shape[axis], scale[i], translation[i], method, antialias)
        out = jnp.tensordot(x, weights.astype(x.dtype), (axis, 0), precision=precision)
        x = jnp.moveaxis(out, -1, axis)
    return x


def _as_method(method: str | ResizeMethod) -> ResizeMethod:
    return ResizeMethod.from_string(method) if isinstance(method, str) else method


def resize(
    image: Any,
    shape: Sequence[int],
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: Any = lax.Precision.HIGHEST,
) -> Array:
    """`image` with the sizes of `shape`, one an axis, by a ResizeMethod or its name.

    The result is of floats, but for "nearest". With `antialias` a smaller image averages all pixels that
    fall into one. Raises ValueError for another number of sizes or an unknown method, TypeError for lists."""
    check_arraylike("resize", image)
    image, shape, method = _checked(image, shape, method)
    if method is ResizeMethod.NEAREST:
        return _nearest(image, shape)
    image = _as_float(image)
    axes = [i for i, (old, new) in enumerate(zip(image.shape, shape)) if old != new]
    scale = [jnp.float32(1.0 if not shape[i] else shape[i] / image.shape[i]) for i in axes]
    zeros = [jnp.float32(0)] * len(axes)
    return _scaled(image, shape, axes, scale, zeros, method, antialias, precision)


def _checked(
    image: Any, shape: Sequence[int], method: str | ResizeMethod
) -> tuple[Any, tuple[int, ...], ResizeMethod]:
    """The arguments in the types that they are used in. Raises ValueError for another number of sizes."""
    image, shape = jnp.asarray(image), canonicalize_shape(shape)
    if len(shape) != image.ndim:
        raise ValueError(
            "shape must have a size for each axis of image: "
            f"len(shape) is {len(shape)}, and image.ndim {image.ndim}"
        )
    return image, shape, _as_method(method)


def _is_float(x: Any) -> bool:
    return jnp.issubdtype(x.dtype, jnp.inexact)


def _as_float(x: Any) -> Any:
    return x if _is_float(x) else x.astype(jnp.result_type(x, jnp.float32))


def _nearest(x: Any, shape: tuple[int, ...]) -> Any:
    for axis, (old, new) in enumerate(zip(x.shape, shape)):
        if old != new:
            places = jnp.floor((jnp.arange(new, dtype=jnp.float32) + 0.5) * old / new)
            x = jnp.take(x, places.astype(jnp.int32), axis=axis)
    return x


def scale_and_translate(
    image: Any,
    shape: Sequence[int],
    spatial_dims: Sequence[int],
    scale: Any,
    translation: Any,
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: Any = lax.Precision.HIGHEST,
) -> Array:
    """What is at x in `image` stands at x * scale + translation in the result, of the sizes of `shape`.

    `scale` and `translation` have a number for each axis in `spatial_dims`; pixels that come from outside
    are 0. Raises ValueError for the method "nearest", another number of sizes, or axes named twice."""
    check_arraylike("scale_and_translate", image, scale, translation)
    image, shape, method = _checked(image, shape, method)
    if method is ResizeMethod.NEAREST:
        raise ValueError(
            "Nearest neighbor resampling is not supported by scale_and_translate: use resize"
        )
    axes = [canonicalize_axis(i, image.ndim) for i in spatial_dims]
    if len(set(axes)) != len(axes):
        raise ValueError(f"spatial_dims must be distinct axes, got {tuple(spatial_dims)}")
    image = _as_float(image)
    scale, translation = jnp.asarray(scale), jnp.asarray(translation)
    return _scaled(image, shape, axes, scale, translation, method, antialias, precision)
