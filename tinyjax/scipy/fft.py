"""`jax.scipy.fft`: cosine transforms, each by a Fourier transform of the same length.

A cosine transform of n numbers takes a Fourier transform of n: the even places in their order and then the
odd ones backwards are a signal whose spectrum, turned by a quarter of a step, has the half-steps of the
cosines.

Source: J. Makhoul, "A fast cosine transform in one and two dimensions" (1980), and
https://docs.scipy.org/doc/scipy/reference/generated/scipy.fft.dct.html, for the definitions
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core import dtypes, type_promotion
from tinyjax.core.array import Array
from tinyjax.core.declared_functions import named
from tinyjax.core.missing_names import getattr_of
from tinyjax.lax.elementwise import to_complex_dtype
from tinyjax.lax.shape import canonicalize_axis
from tinyjax.numpy.fft import fft, ifft
from tinyjax.numpy.joining import concatenate, stack
from tinyjax.numpy.manipulation import flip, moveaxis, reshape
from tinyjax.numpy.promotion import promote_dtypes_inexact
from tinyjax.numpy.util import check_arraylike


def _over_axes(
    name: str, transform: Callable, x: Any, type: int, s: Any, axes: Any, norm: str | None
) -> Array:
    """`transform` of the last axis, of each of `axes` in turn, cut or padded to the lengths `s`."""
    if type != 2:
        raise NotImplementedError(f"Only DCT type 2 is implemented, got type {type}.")
    if norm not in (None, "backward", "ortho"):
        raise ValueError(f"jax.scipy.fft.{name}: norm={norm!r} is not implemented")
    check_arraylike(name, x)
    (x,) = promote_dtypes_inexact(x)
    x = x.astype(type_promotion.promote_types(x.dtype, np.float32))  # no transform of 16 bits
    s = None if s is None else np.atleast_1d(s).tolist()
    if axes is None:
        count = x.ndim if s is None else len(s)
        if count > x.ndim:
            raise ValueError(f"s must have at most x.ndim ({x.ndim}) elements, got {count}")
        axes = range(x.ndim - count, x.ndim)
    axes = [canonicalize_axis(i, x.ndim) for i in np.atleast_1d(axes).tolist()]
    if len(set(axes)) < len(axes):
        raise ValueError(f"repeated axis: {tuple(axes)}")
    lengths = [x.shape[i] for i in axes] if s is None else s
    if len(lengths) != len(axes):
        raise ValueError(f"s and axes have different lengths: {lengths} and {axes}")
    if any(n < 1 for n in lengths):
        raise ValueError(f"jax.scipy.fft.{name}: lengths must be at least 1, got {tuple(lengths)}")
    transform = functools.partial(transform, norm=norm)
    for axis, n in zip(axes, lengths):
        last = _of_length(moveaxis(x, axis, -1), n)
        if dtypes.kind(last.dtype) == "c":
            last = lax.complex(transform(lax.real(last)), transform(lax.imag(last)))
        else:
            last = transform(last)
        x = moveaxis(last, -1, axis)
    return x


def _of_length(x: Any, n: int) -> Any:
    zero = np.zeros((), x.dtype)
    return lax.pad(x, zero, [(0, 0, 0)] * (x.ndim - 1) + [(0, n - x.shape[-1], 0)])


def _turns(x: Any) -> np.ndarray:
    """exp(-i pi k / (2 n)) for each k."""
    n = x.shape[-1]
    return np.exp(-0.5j * np.pi * np.arange(n) / n).astype(to_complex_dtype(x.dtype))


def _ortho(x: Any, norm: str | None) -> np.ndarray:
    """What the orthogonal transform is of the plain one, for each k."""
    n = x.shape[-1]
    if norm != "ortho":
        return np.ones(n, x.dtype)
    return (np.array([1 / np.sqrt(4 * n)] + [1 / np.sqrt(2 * n)] * (n - 1))).astype(x.dtype)


def _dct(x: Any, norm: str | None) -> Any:
    signal = concatenate([x[..., ::2], flip(x[..., 1::2], -1)], -1)
    out = 2 * lax.real(fft(signal) * _turns(x))
    return out * _ortho(out, norm)


def _idct(x: Any, norm: str | None) -> Any:
    """The inverse of dct. Half of a real signal's spectrum is enough; the first number counts once, so it is
    halved."""
    n = x.shape[-1]
    counts = np.array([0.5] + [1.0] * (n - 1), x.dtype)
    signal = lax.real(ifft(x * counts / _ortho(x, norm) / _turns(x)))
    even, odd = signal[..., : (n + 1) // 2], flip(signal[..., (n + 1) // 2 :], -1)
    pairs = reshape(stack([even, _of_length(odd, (n + 1) // 2)], -1), (*x.shape[:-1], -1))
    return pairs[..., :n]


_OF = """`x` is cut or padded with zeros to length `n` along `axis`. norm 'ortho' makes the transform an
orthogonal matrix. Raises NotImplementedError for other types, ValueError for other norms and n < 1."""


def _one_axis(name: str, transform: Callable, doc: str) -> Callable[..., Array]:
    @named(name, f"{doc}; as scipy.fft.{name}.\n\n{_OF}")
    def along_axis(
        x: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None
    ) -> Array:
        return _over_axes(name, transform, x, type, None if n is None else (n,), (axis,), norm)

    return along_axis


def _many_axes(name: str, transform: Callable, doc: str) -> Callable[..., Array]:
    @named(name, f"{doc}; as scipy.fft.{name}.")
    def along_axes(
        x: Any,
        type: int = 2,
        s: Sequence[int] | None = None,
        axes: Sequence[int] | None = None,
        norm: str | None = None,
    ) -> Array:
        return _over_axes(name, transform, x, type, s, axes, norm)

    return along_axes


dct = _one_axis(
    "dct",
    _dct,
    "The cosine transform (of type 2): out[k] is 2 times the sum of x[m] cos(pi k (2 m + 1) / (2 n))",
)
idct = _one_axis("idct", _idct, "The inverse of dct with the same norm")
dctn = _many_axes(
    "dctn", _dct, "dct along each of `axes`, with the lengths `s`; by default all axes"
)
idctn = _many_axes("idctn", _idct, "The inverse of dctn with the same norm")

__getattr__ = getattr_of(__name__)
