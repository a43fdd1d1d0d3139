"""Fourier transforms as kernels: along one axis after the other.

A kernel transforms 16 rows at once, in private memory. A long row is first taken as a matrix, whose columns
are transformed before its rows (the four-step algorithm): so that memory stays in the first cache.
Where a row has an infinity, other results of it may be NaN than eagerly.

Source: D. Bailey, "FFTs in external or hierarchical memory", 1990
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.compile.kernel.rules import Fourier, lowering_rules, radices
from tinyjax.compile.passes.expand import expansions
from tinyjax.core.array import ShapedArray
from tinyjax.core.bind import Primitive, abstract_eval_rules, impl_rules, no_rule_reasons
from tinyjax.core.jaxpr import Jaxpr, JaxprEqn
from tinyjax.lax.fourier import FftType, fft_p
from tinyjax.transform.batching import batch_rules, moveaxis

LONG = 128  # elements of a row that is not taken as a matrix, if other rows fill vectors
LARGEST_PRIME = 7  # factor of a length: transforms of a prime length take its square
MIN_ROWS, MOST = 8, 2**18  # rows that fill a vector; elements that the second cache keeps
FEW = 512  # elements: without vectors, too, they take less time than a host step

fft_of_axis_p = Primitive(
    "fft_of_axis", axes="unclear", cost=lambda eqn: Fourier().work(eqn), makes_nan=True
)


def _fft_of_axis(
    x: np.ndarray, roots: np.ndarray, *turns: np.ndarray, axis: int, to: int, is_inverse: bool
) -> np.ndarray:
    fft = np.fft.ifft if is_inverse else np.fft.fft
    out = np.moveaxis(fft(x, axis=axis), axis, to)
    for turn in turns:
        out = out * turn.reshape(*turn.shape, *[1] * (out.ndim - to - 2))
    return out.astype(roots.dtype)


def _aval(
    x: ShapedArray, roots: ShapedArray, *_: ShapedArray, axis: int, to: int, **__: Any
) -> ShapedArray:
    shape = [*x.shape[:axis], *x.shape[axis + 1 :]]
    shape.insert(to, x.shape[axis])
    return ShapedArray(tuple(shape), roots.dtype)


def _batch(vals: Any, dims: Any, *, axis: int, to: int, is_inverse: bool) -> tuple[Any, int]:
    """The roots of unity are the same for all examples."""
    x = moveaxis(vals[0], dims[0], 0)
    return fft_of_axis_p.bind(x, *vals[1:], axis=axis + 1, to=to + 1, is_inverse=is_inverse), 0


impl_rules[fft_of_axis_p] = _fft_of_axis
abstract_eval_rules[fft_of_axis_p] = _aval
lowering_rules[fft_of_axis_p] = Fourier()
batch_rules[fft_of_axis_p] = _batch
no_rule_reasons[fft_of_axis_p, "jvp"] = "it is made of fft when a program is compiled"


def _expansion(eqn: JaxprEqn, _: Jaxpr) -> Callable[..., list[Any]] | None:
    aval, lengths = eqn.invars[0].aval, eqn.params["fft_lengths"]
    size = max(aval.size, eqn.outvars[0].aval.size)
    factors = [_factors(length, size // length) for length in lengths if length]
    if not factors or not all(factors) or not 0 < size <= MOST:
        return None
    if size > FEW and size < MIN_ROWS * max(map(max, factors)):
        return None
    kind, last = eqn.params["fft_type"], aval.ndim - 1

    def transformed(x: Any) -> list[Any]:
        if kind == FftType.RFFT:
            x = _real(x, lengths[-1])
        is_real = kind in (FftType.RFFT, FftType.IRFFT)
        for axis, length in enumerate(lengths[: len(lengths) - is_real], last + 1 - len(lengths)):
            x = _along(x, axis, length, kind in (FftType.IFFT, FftType.IRFFT))
        return [_inverse_real(x, lengths[-1]) if kind == FftType.IRFFT else x]

    return transformed


def _factors(length: int, rows: int) -> tuple[int, ...]:
    """One short length of many rows, or two whose product it is, as near as possible; none if there are no
    such."""
    if length < 2 or max(radices(length)) > LARGEST_PRIME:
        return ()
    if length <= (LONG if rows >= MIN_ROWS else LARGEST_PRIME):
        return (length,)
    factor = next(n for n in range(math.isqrt(length), 0, -1) if length % n == 0)
    return (factor, length // factor) if length // factor <= LONG else ()


# ---- complex numbers ----


def _along(x: Any, axis: int, length: int, is_inverse: bool = False) -> Any:
    """The transform along an axis, of complex numbers or of real ones."""
    dtype = np.result_type(x.dtype, np.complex64)
    roots = functools.partial(_roots, dtype=dtype, is_inverse=is_inverse)
    bind = functools.partial(fft_of_axis_p.bind, to=axis, is_inverse=is_inverse)
    if length == 1:
        return lax.convert_element_type(x, dtype)
    factors = _factors(length, x.size // length)
    if len(factors) == 1:
        return bind(x, roots(length), axis=axis)
    rows, columns = factors
    matrix = lax.reshape(x, (*x.shape[:axis], rows, columns, *x.shape[axis + 1 :]))
    matrix = bind(matrix, roots(rows), roots(length, rows, columns), axis=axis)
    return lax.reshape(bind(matrix, roots(columns), axis=axis + 1), x.shape)


@functools.cache
def _roots(length: int, *counts: int, dtype: np.dtype, is_inverse: bool) -> np.ndarray:
    """The powers of a root of unity: all of them, or those of row * column."""
    powers = np.outer(*map(np.arange, counts)) if counts else np.arange(length)
    return _root(powers if is_inverse else -powers, length).astype(dtype)


def _root(powers: np.ndarray, length: int) -> np.ndarray:
    """Powers of a root of unity. Quarter turns are exact: so is the zero imaginary part of a spectrum."""
    roots = np.exp(2j * np.pi / length * powers)
    return np.where(4 * powers % length == 0, np.round(roots), roots)


# ---- real numbers ----


def _real(x: Any, length: int) -> Any:
    """Half of the spectrum. Those at even places and those at odd ones are transformed as the real and the
    imaginary parts of half as many.
    """
    half, axis = length // 2, x.ndim - 1
    if length % 2:
        return _part(_along(x, axis, length), 0, half + 1)
    pairs = lax.reshape(x, (*x.shape[:axis], half, 2))
    even, odd = (lax.index_in_dim(pairs, n, axis + 1, keepdims=False) for n in (0, 1))
    z = _along(lax.complex(even, odd), axis, half)
    z = lax.concatenate([z, _part(z, 0, 1)], axis)
    return _joined(z, _mirrored(z), -0.5j * _root(-np.arange(half + 1), length))


def _inverse_real(x: Any, length: int) -> Any:
    """The inverse of `_real`; the imaginary parts of numbers that stand for themselves are ignored."""
    half, axis = length // 2, x.ndim - 1
    mirrored = _mirrored(_part(x, 1, half + 1))
    if length % 2:
        return lax.real(_along(lax.concatenate([x, mirrored], axis), axis, length, True))
    is_pair = np.arange(half + 1) % half != 0
    x = lax.complex(lax.real(x), _times(lax.imag(x), is_pair))
    turn = 0.5j * _root(np.arange(half), length)
    z = _joined(_part(x, 0, half), _mirrored(_part(x, 1, half + 1)), turn)
    z = _along(z, axis, half, True)
    return lax.reshape(lax.stack([lax.real(z), lax.imag(z)], z.ndim), (*x.shape[:axis], length))


def _joined(z: Any, w: Any, turn: np.ndarray) -> Any:
    return lax.add(_times(lax.add(z, w), np.full(turn.shape, 0.5)), _times(lax.sub(z, w), turn))


def _part(x: Any, start: int, stop: int) -> Any:
    return lax.slice_in_dim(x, start, stop, axis=x.ndim - 1)


def _mirrored(x: Any) -> Any:
    return lax.conj(lax.rev(x, (x.ndim - 1,)))


def _times(x: Any, factors: np.ndarray) -> Any:
    """x times factors along the last axis."""
    return lax.mul(x, lax.broadcast_in_dim(factors.astype(x.dtype), x.shape, (x.ndim - 1,)))


expansions[fft_p] = _expansion
