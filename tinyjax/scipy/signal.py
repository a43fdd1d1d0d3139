"""jax.scipy.signal: convolution and correlation over any number of axes.

Convolution has two methods: directly, at the cost of the product of both sizes, or by the convolution theorem
(the transform of a convolution is the product of the transforms), at the cost of sorting, nearly. Spectra are
in spectral_analysis.py, lines that are taken off in trends.py.

Sources: https://docs.jax.dev/en/latest/jax.scipy.html#module-jax.scipy.signal and
https://docs.scipy.org/doc/scipy/reference/signal.html, which has the definitions
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.core.array import Array
from tinyjax.core.missing_names import getattr_of
from tinyjax.lax.convolution_functions import conv_general_dilated
from tinyjax.lax.shape import canonicalize_axis
from tinyjax.numpy import fft
from tinyjax.numpy.promotion import promote_dtypes_inexact
from tinyjax.numpy.util import ensure_arraylike
from tinyjax.scipy.spectral_analysis import csd, istft, stft, welch  # noqa: F401
from tinyjax.scipy.trends import detrend  # noqa: F401

MODES = ("full", "same", "valid")


# ---- direct ----


def convolve(
    in1: Any, in2: Any, mode: str = "full", method: str = "auto", precision: Any = None
) -> Array:
    """The convolution of two arrays of the same number of axes, of floats.

    `mode`: "full", wherever they overlap; "same", of these the part in the middle that has in1's shape;
    "valid", where one covers the other whole. `method`: "direct", which "auto" is too, or "fft".
    Raises ValueError for other modes, methods and shapes; as scipy.signal.convolve."""
    if method == "fft":
        return fftconvolve(in1, in2, mode)
    if method not in ("auto", "direct"):
        raise ValueError(f"convolve: method must be 'auto', 'fft' or 'direct', got {method!r}")
    return _convolve("convolve", in1, in2, mode, precision)


def correlate(
    in1: Any, in2: Any, mode: str = "full", method: str = "auto", precision: Any = None
) -> Array:
    """The convolution with in2 conjugated and turned round; all else is as in `convolve`."""
    in1, in2 = ensure_arraylike("correlate", in1, in2)
    return convolve(in1, jnp.flip(in2.conj()), mode, method, precision)


def convolve2d(
    in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: float = 0,
    precision: Any = None
) -> Array:  # fmt: skip
    """`convolve` of two matrices.

    Raises NotImplementedError for a boundary other than "fill" and a fillvalue other than 0."""
    in1, in2 = _matrices("convolve2d", in1, in2, boundary, fillvalue)
    return _convolve("convolve2d", in1, in2, mode, precision)


def correlate2d(
    in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: float = 0,
    precision: Any = None
) -> Array:  # fmt: skip
    """`correlate` of two matrices; in mode "same", the middle is rounded to the other side."""
    in1, in2 = _matrices("correlate2d", in1, in2, boundary, fillvalue)
    return jnp.flip(_convolve("correlate2d", jnp.flip(in1), in2.conj(), mode, precision))


def _matrices(name: str, in1: Any, in2: Any, boundary: str, fillvalue: float) -> list[Array]:
    if boundary != "fill" or not np.equal(fillvalue, 0):
        raise NotImplementedError(
            f"{name}() only supports boundary='fill' and fillvalue=0, got {boundary!r} and {fillvalue}. "
            "Pad in1 with jnp.pad first"
        )
    in1, in2 = ensure_arraylike(name, in1, in2)
    if in1.ndim != 2 or in2.ndim != 2:
        raise ValueError(
            f"{name}() only supports 2-dimensional inputs, got shapes {in1.shape} and {in2.shape}"
        )
    return [in1, in2]


def _convolve(name: str, in1: Any, in2: Any, mode: str, precision: Any) -> Array:
    """The convolution by one conv_general_dilated, whose image is the larger of the two."""
    in1, in2 = ensure_arraylike(name, in1, in2)
    _check(name, in1, in2, mode)
    if not in1.size or not in2.size:
        raise ValueError(f"{name}: empty arrays, got shapes {in1.shape} and {in2.shape}")
    in1, in2 = promote_dtypes_inexact(in1, in2)
    wanted = in1.shape
    if not _covers(in1.shape, in2.shape):
        if not _covers(in2.shape, in1.shape):
            raise ValueError(
                f"{name}: one input must be smaller than the other in every dimension, got shapes "
                f"{in1.shape} and {in2.shape}"
            )
        in1, in2 = in2, in1
    pads = []
    for size, window, target in zip(in1.shape, in2.shape, wanted):
        cut = (size + window - 1 - target) // 2  # from the full result's start
        same = (window - 1 - cut, target + cut - size)
        pads.append({"full": (window - 1, window - 1), "same": same, "valid": (0, 0)}[mode])
    turned = jnp.flip(in2)
    out = conv_general_dilated(
        in1[None, None], turned[None, None], (1,) * in1.ndim, pads, precision=precision
    )
    return out[0, 0]


def _check(name: str, in1: Array, in2: Array, mode: str) -> None:
    if mode not in MODES:
        raise ValueError(f"{name}: mode must be one of {list(MODES)}, got {mode!r}")
    if in1.ndim != in2.ndim:
        raise ValueError(
            f"{name}: in1 and in2 must have the same number of dimensions, got shapes {in1.shape} and "
            f"{in2.shape}"
        )


def _covers(shape: Sequence[int], other: Sequence[int]) -> bool:
    return all(a >= b for a, b in zip(shape, other))


# ---- by Fourier transforms ----


def fftconvolve(
    in1: Any, in2: Any, mode: str = "full", axes: int | Sequence[int] | None = None
) -> Array:
    """`convolve` by Fourier transforms, along `axes` (all if None); along the others, in parallel.

    Raises ValueError for other modes, and for shapes that differ along the other axes or do not fit the
    mode; as scipy.signal.fftconvolve."""
    in1, in2 = promote_dtypes_inexact(*ensure_arraylike("fftconvolve", in1, in2))
    _check("fftconvolve", in1, in2, mode)
    if axes is None:
        axes = range(in1.ndim)
    along = [canonicalize_axis(axis, in1.ndim) for axis in np.atleast_1d(np.asarray(axes, int))]
    if any(m != n for i, (m, n) in enumerate(zip(in1.shape, in2.shape)) if i not in along):
        raise ValueError(
            f"fftconvolve: along axes other than {tuple(along)} the shapes must be equal, got "
            f"{in1.shape} and {in2.shape}"
        )
    if mode == "valid" and not _covers(in1.shape, in2.shape):
        if not _covers(in2.shape, in1.shape):
            raise ValueError(
                "fftconvolve: in mode 'valid', one input must be at least as large as the other in every "
                f"dimension, got shapes {in1.shape} and {in2.shape}"
            )
        in1, in2 = in2, in1
    if not along:
        return in1 * in2
    starts, sizes = [0] * in1.ndim, list(in1.shape)
    full = [in1.shape[axis] + in2.shape[axis] - 1 for axis in along]
    for axis, size in zip(along, full):
        m, n = in1.shape[axis], in2.shape[axis]
        starts[axis] = {"full": 0, "same": (size - m) // 2, "valid": n - 1}[mode]
        sizes[axis] = {"full": size, "same": m, "valid": m - n + 1}[mode]
    return lax.dynamic_slice(_product_of_transforms(in1, in2, full, along), starts, sizes)


def _product_of_transforms(x: Array, y: Array, sizes: list[int], axes: list[int]) -> Array:
    if not math.prod(sizes) or not x.size or not y.size:
        shape = list(x.shape)
        for axis, size in zip(axes, sizes):
            shape[axis] = size
        return jnp.zeros(shape, x.dtype)
    if jnp.iscomplexobj(x):
        forward, backward = fft.fftn, fft.ifftn
    else:
        forward, backward = fft.rfftn, fft.irfftn
    return backward(forward(x, sizes, axes) * forward(y, sizes, axes), sizes, axes)


__getattr__ = getattr_of(__name__)
