"""jnp.fft: discrete Fourier transforms, and the frequencies of their results.

They add to `lax.fft` a length (cut, or padded with zeros), other axes than the last (moved there and back)
and a norm.

Sources: https://docs.jax.dev/en/latest/jax.numpy.html#module-jax.numpy.fft and
https://numpy.org/doc/stable/reference/routines.fft.html, which has the definitions
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core.array import Array
from tinyjax.core.declared_functions import named
from tinyjax.core.missing_names import getattr_of
from tinyjax.lax.fourier import FftType
from tinyjax.lax.fourier import fft as lax_fft
from tinyjax.lax.shape import canonicalize_axis
from tinyjax.numpy.creation import array
from tinyjax.numpy.elementary import sqrt
from tinyjax.numpy.manipulation import moveaxis, roll
from tinyjax.numpy.padding import pad
from tinyjax.numpy.ranges import arange
from tinyjax.numpy.reductions import prod
from tinyjax.numpy.ufuncs import conj, divide, multiply, remainder
from tinyjax.numpy.util import ensure_arraylike

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft",
    "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip

Shape = Sequence[int]

# ---- shared by all of them ----


def _transform(
    name: str, kind: FftType, a: Any, s: Shape | None, axes: Sequence[int] | None, norm: str | None
) -> Array:
    """The transform of `a` over `axes`, of lengths `s`: the docstrings of fft and fftn say the rest."""
    a = ensure_arraylike(f"jax.numpy.fft.{name}", a)
    if norm not in (None, "backward", "ortho", "forward"):
        raise ValueError(f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".')
    if s is not None:
        s = tuple(operator.index(n) for n in s)
        if any(n < 1 for n in s):
            raise ValueError(f"Shape should be positive, got {s}")
    axes = _canonical_axes(name, a, s, axes)
    last = tuple(range(a.ndim - len(axes), a.ndim))
    a = moveaxis(a, axes, last)
    if s is not None:
        a = _of_size(a, _halved(s) if kind == FftType.IRFFT else s)
    elif kind == FftType.IRFFT:
        s = (*a.shape[last[0] : -1], max(0, 2 * (a.shape[-1] - 1)))
    else:
        s = a.shape[a.ndim - len(axes) :]
    out = _at_most_three_axes(kind, a, tuple(s))
    factor = _norm_factor(name, out.dtype, s, norm)
    return moveaxis(out if factor is None else multiply(out, factor), last, axes)


def _canonical_axes(
    name: str, a: Any, s: Shape | None, axes: Sequence[int] | None
) -> tuple[int, ...]:
    if axes is None:
        count = a.ndim if s is None else len(s)
        if count > a.ndim:
            raise ValueError(
                f"FFT input shape {a.shape} must have at least as many input dimensions as s has "
                f"entries, got {s}"
            )
        return tuple(range(a.ndim - count, a.ndim))
    if s is not None and len(s) != len(axes):
        raise ValueError(f"Shape and axes have different lengths: {s} and {tuple(axes)}")
    found = tuple(canonicalize_axis(i, a.ndim) for i in axes)
    if len(set(found)) < len(found):
        raise ValueError(f"jax.numpy.fft.{name} does not support repeated axes. Got axes {axes}.")
    return found


def _halved(s: Shape) -> Shape:
    """The lengths of a half spectrum."""
    return (*s[:-1], s[-1] // 2 + 1)


def _of_size(a: Any, s: Shape) -> Any:
    """`a` with its last axes cut, or filled up with zeros, to the lengths `s`."""
    sizes = a.shape[: a.ndim - len(s)] + tuple(s)
    kept = tuple(min(n, size) for n, size in zip(a.shape, sizes))
    if kept != a.shape:
        a = lax.slice(a, (0,) * a.ndim, kept)
    return pad(a, [(0, size - n) for n, size in zip(kept, sizes)])


def _at_most_three_axes(kind: FftType, a: Any, s: Shape) -> Any:
    """XLA transforms at most three axes at once: more are transformed in two parts.

    The real side of a transform is the last axis alone; all others are from complex to complex."""
    count = len(s)
    if count <= 3:
        return lax_fft(a, kind, s)
    first, ndim = count // 2, a.ndim
    batch = range(ndim - count)
    turned = (
        *batch,
        *range(ndim - count + first, ndim),
        *range(ndim - count, ndim - count + first),
    )
    back = tuple(np.argsort(turned).tolist())

    def leading(a: Any, kind: FftType) -> Any:
        return lax.transpose(_at_most_three_axes(kind, lax.transpose(a, turned), s[:first]), back)

    if kind == FftType.IRFFT:
        return _at_most_three_axes(kind, leading(a, FftType.IFFT), s[first:])
    a = _at_most_three_axes(kind, a, s[first:])
    return leading(a, FftType.IFFT if kind == FftType.IFFT else FftType.FFT)


def _norm_factor(name: str, dtype: Any, s: Shape, norm: str | None) -> Any:
    """The factor for a result; lax.fft has already divided an inverse's by the count."""
    if norm in (None, "backward"):
        return None
    count = prod(array(s, dtype))
    factor = sqrt(count) if norm == "ortho" else count
    return factor if name.startswith("i") else divide(1, factor)


def _of_one_axis(
    name: str, kind: FftType, a: Any, n: int | None, axis: int, norm: str | None
) -> Array:
    if isinstance(axis, (tuple, list)):
        raise ValueError(
            f"jax.numpy.fft.{name} does not support multiple axes. Please use jax.numpy.fft.{name}n. "
            f"Got axis = {axis!r}."
        )
    return _transform(name, kind, a, None if n is None else (n,), (axis,), norm)


# ---- one axis ----

_ERRORS = """

`a` is cut or padded with zeros to the length `n` (the lengths `s`). norm 'ortho' divides by the root of how
many numbers there are, 'forward' by how many. Raises ValueError for an unknown norm, lengths < 1, axes that
are not there, named twice, or of another number, and in rfft for complex numbers."""


def _one_axis(name: str, kind: FftType, doc: str) -> Callable[..., Array]:
    @named(name, f"{doc}; as numpy.fft.{name}.{_ERRORS}")
    def along_axis(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
        return _of_one_axis(name, kind, a, n, axis, norm)

    return along_axis


fft = _one_axis("fft", FftType.FFT, "The transform: out[k] is the sum of a[m] exp(-2 pi i k m / n)")
ifft = _one_axis("ifft", FftType.IFFT, "The inverse of fft, with the same norm")
rfft = _one_axis(
    "rfft", FftType.RFFT, "The first n // 2 + 1 numbers of the fft of reals, which say the others"
)
irfft = _one_axis(
    "irfft",
    FftType.IRFFT,
    "The inverse of rfft: n real numbers, by default 2 * (a.shape[axis] - 1)",
)


def hfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The real spectrum of a Hermitian signal, given its first half: a[-m] is conj(a[m]).

    As numpy.fft.hfft; n is the length of the result, by default 2 * (a.shape[axis] - 1)."""
    a = ensure_arraylike("jax.numpy.fft.hfft", a)
    out = _of_one_axis("hfft", FftType.IRFFT, conj(a), n, axis, norm)
    return multiply(out, out.shape[axis])


def ihfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The inverse of hfft, from a real spectrum; as numpy.fft.ihfft."""
    a = ensure_arraylike("jax.numpy.fft.ihfft", a)
    if n is None and a.shape and a.shape[axis] == 0:
        raise ValueError(
            f"ihfft of an axis without elements: axis {axis} of {a.shape}. Give a length n"
        )
    out = _of_one_axis("ihfft", FftType.RFFT, a, n, axis, norm)
    return multiply(conj(out), 1 / (a.shape[axis] if n is None else n))


# ---- several axes ----


def _many_axes(
    name: str, kind: FftType, doc: str, default: tuple[int, int] | None = None
) -> Callable[..., Array]:
    """A transform over `axes`, by default all of them; over two axes, if there is a `default`."""

    @named(name, f"{doc}; as numpy.fft.{name}.{_ERRORS}")
    def along_axes(
        a: Any,
        s: Shape | None = None,
        axes: Sequence[int] | None = default,
        norm: str | None = None,
    ) -> Array:
        if default is not None and (axes is None or len(axes) != 2):
            raise ValueError(f"jax.numpy.fft.{name} only supports 2 axes. Got axes = {axes!r}.")
        return _transform(name, kind, a, s, axes, norm)

    return along_axes


fftn = _many_axes("fftn", FftType.FFT, "fft along each of `axes`")
ifftn = _many_axes("ifftn", FftType.IFFT, "The inverse of fftn")
rfftn = _many_axes(
    "rfftn", FftType.RFFT, "rfft along the last of `axes`, then fft along the others"
)
irfftn = _many_axes("irfftn", FftType.IRFFT, "The inverse of rfftn")
fft2 = _many_axes("fft2", FftType.FFT, "fftn over two axes", (-2, -1))
ifft2 = _many_axes("ifft2", FftType.IFFT, "ifftn over two axes", (-2, -1))
rfft2 = _many_axes("rfft2", FftType.RFFT, "rfftn over two axes", (-2, -1))
irfft2 = _many_axes("irfft2", FftType.IRFFT, "irfftn over two axes", (-2, -1))


# ---- frequencies ----


def fftfreq(n: int, d: Any = 1.0, *, dtype: Any = None, device: Any = None) -> Array:
    """The frequencies of fft's results: 0, 1, ..., and then the negative ones, by n * d.

    d is the time between two samples. As numpy.fft.fftfreq. Raises ValueError for lists."""
    _check_frequencies("fftfreq", n, d)
    k = arange(n, dtype=dtype or float, device=device)
    k = remainder(k + n // 2, n) - n // 2
    return divide(k, array(d * n, dtype=k.dtype)).astype(k.dtype)


def rfftfreq(n: int, d: Any = 1.0, *, dtype: Any = None, device: Any = None) -> Array:
    """The frequencies of rfft's results: those that are not negative; as numpy.fft.rfftfreq."""
    _check_frequencies("rfftfreq", n, d)
    k = arange(n // 2 + 1, dtype=dtype or float, device=device)
    return divide(k, array(d * n, dtype=k.dtype)).astype(k.dtype)


def _check_frequencies(name: str, n: Any, d: Any) -> None:
    if isinstance(n, (list, tuple)):
        raise ValueError(
            f"The n argument of jax.numpy.fft.{name} only takes an int. Got n = {n!r}."
        )
    if isinstance(d, (list, tuple)):
        raise ValueError(
            f"The d argument of jax.numpy.fft.{name} only takes a single value. Got d = {d!r}."
        )


def fftshift(x: Any, axes: int | Sequence[int] | None = None) -> Array:
    """`x` rolled so that frequency 0 is in the middle of `axes` (by default all); as numpy.fft.fftshift."""
    x = ensure_arraylike("fftshift", x)
    which = _shifted_axes(x, axes)
    return roll(x, tuple(x.shape[i] // 2 for i in which), which)


def ifftshift(x: Any, axes: int | Sequence[int] | None = None) -> Array:
    """The inverse of fftshift; as numpy.fft.ifftshift."""
    x = ensure_arraylike("ifftshift", x)
    which = _shifted_axes(x, axes)
    return roll(x, tuple(-(x.shape[i] // 2) for i in which), which)


def _shifted_axes(x: Any, axes: int | Sequence[int] | None) -> tuple[int, ...]:
    if axes is None:
        return tuple(range(x.ndim))
    return (axes,) if isinstance(axes, int) else tuple(axes)


__getattr__ = getattr_of(__name__)
