"""The discrete Fourier transform over the last axes: `lax.fft`, one primitive of four kinds.

A Fourier transform is its own transpose. For real inputs, half of the spectrum represents the other half too,
so its cotangent counts twice. jnp.fft is written with it.

Source: https://docs.scipy.org/doc/scipy/tutorial/fft.html, for the formulas
"""

from __future__ import annotations

import enum
import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinyjax.compile.kernel.rules import OnHost, lowering_rules
from tinyjax.core import dtypes, type_promotion
from tinyjax.core.array import Array, ShapedArray
from tinyjax.core.bind import Primitive, abstract_eval_rules, as_array, impl_rules
from tinyjax.core.missing_names import getattr_of
from tinyjax.core.primitives import mul, shape_of
from tinyjax.lax.arithmetic import div
from tinyjax.lax.complex_numbers import conj
from tinyjax.lax.conversion import convert_element_type
from tinyjax.lax.creation import full
from tinyjax.lax.dynamic_slicing import dynamic_update_slice
from tinyjax.lax.elementwise import constant, real_dtype, to_inexact_dtype
from tinyjax.lax.shape import broadcast_in_dim
from tinyjax.transform.batching import batch_rules, moveaxis
from tinyjax.transform.jit.api import jitted
from tinyjax.transform.transposition import deflinear2


class FftType(enum.IntEnum):
    """Which transform: complex to complex and back, or real to half of a spectrum and back."""

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3


# ---- the primitive ----


def _operations(eqn: Any) -> int:
    """XLA's count: it multiplies the logarithms of several lengths, instead of adding them."""
    logarithms = [length.bit_length() - 1 for length in eqn.params["fft_lengths"]]
    return 8 * eqn.invars[0].aval.size * math.prod(logarithms)


fft_p = Primitive("fft", axes="first operand", cost=_operations, makes_nan=True)


MANY = 2**17  # from this number of elements on, threads share the work


def _fft_impl(x: np.ndarray, *, fft_type: FftType, fft_lengths: tuple[int, ...]) -> np.ndarray:
    import scipy.fft

    if not fft_lengths:
        return x
    if not x.size or not math.prod(fft_lengths):
        out = _fft_aval(ShapedArray(x.shape, x.dtype), fft_type=fft_type, fft_lengths=fft_lengths)
        return np.zeros(out.shape, out.dtype)
    workers = None if x.size < MANY else os.cpu_count()
    name = fft_type.name.lower()  # fft, ifft, rfft, irfft; names for several axes end with n
    if len(fft_lengths) == 1:
        return getattr(scipy.fft, name)(x, *fft_lengths, workers=workers)
    axes = tuple(range(-len(fft_lengths), 0))
    return getattr(scipy.fft, f"{name}n")(x, fft_lengths, axes, workers=workers)


def _fft_aval(x: ShapedArray, *, fft_type: FftType, fft_lengths: tuple[int, ...]) -> ShapedArray:
    kind = fft_type.name
    if len(fft_lengths) > x.ndim:
        raise ValueError(
            f"{kind} input shape {x.shape} must have at least as many input dimensions as fft_lengths "
            f"{fft_lengths}."
        )
    if not fft_lengths:
        return x
    batch = x.shape[: x.ndim - len(fft_lengths)]
    half = (*fft_lengths[:-1], fft_lengths[-1] // 2 + 1 if fft_lengths[-1] else 0)
    if fft_type == FftType.RFFT:
        if x.dtype not in (np.float32, np.float64):
            raise ValueError(f"RFFT input must be float32 or float64, got {x.dtype.name}")
    elif dtypes.kind(x.dtype) != "c":
        raise ValueError(f"{kind} input must be complex64 or complex128, got {x.dtype.name}")
    expected = half if fft_type == FftType.IRFFT else fft_lengths
    # A spectrum of no elements may have any length: JAX's irfft uses -2.
    if x.shape[len(batch) :] != expected and math.prod(fft_lengths) > 0:
        raise ValueError(
            f"{kind} input shape {x.shape} minor dimensions must be equal to "
            + (
                f"{half}, the half of a spectrum of fft_lengths {fft_lengths}"
                if fft_type == FftType.IRFFT
                else f"fft_lengths {fft_lengths}"
            )
        )
    if fft_type == FftType.RFFT:
        return ShapedArray((*batch, *half), np.result_type(x.dtype, np.complex64))
    if fft_type == FftType.IRFFT:
        return ShapedArray((*batch, *fft_lengths), real_dtype(x.dtype))
    return ShapedArray(x.shape, x.dtype)


# ---- transposes ----


def _fft_transpose(
    ct: Any, x: Any, *, fft_type: FftType, fft_lengths: tuple[int, ...]
) -> list[Any]:
    """The matrix of a transform, exp(-2 pi i k n / N), is symmetric: it is its own transpose."""
    if fft_type == FftType.RFFT:
        return [_rfft_transpose(ct, fft_lengths)]
    if fft_type == FftType.IRFFT:
        return [_irfft_transpose(ct, fft_lengths)]
    return [fft(ct, fft_type, fft_lengths)]


@jitted(static_argnames=("fft_lengths",))
def _rfft_transpose(ct: Any, fft_lengths: tuple[int, ...]) -> Any:
    """The real part of the sum of ct_k exp(-2 pi i k n / N) over half of the spectrum.

    irfft sums over all of it, so that the frequencies that stand for two are halved before."""
    counts = _counts(ct, fft_lengths[-1])
    out = fft(div(conj(ct), counts), FftType.IRFFT, fft_lengths)
    return mul(constant(out, math.prod(fft_lengths)), out)


def _irfft_transpose(ct: Any, fft_lengths: tuple[int, ...]) -> Any:
    """The conjugate of rfft, doubled at the frequencies that stand for two."""
    out = fft(ct, FftType.RFFT, fft_lengths)
    counts = _counts(out, fft_lengths[-1])
    return conj(mul(mul(constant(out, 1 / math.prod(fft_lengths)), counts), out))


def _counts(spectrum: Any, length: int) -> Any:
    """How many frequencies of a real signal of `length` each element of the last axis represents: one for
    the first, and for the last if the length is even; two for all others. Broadcasts with `spectrum`."""
    shape, dtype = shape_of(spectrum), dtypes.dtype(spectrum)
    counts, one = full(shape[-1:], 2, dtype), full((1,), 1, dtype)
    counts = dynamic_update_slice(counts, one, (0,))
    if length % 2 == 0:
        counts = dynamic_update_slice(counts, full((1,), 1, dtype), (shape[-1] - 1,))
    last = len(shape) - 1
    return broadcast_in_dim(counts, (1,) * last + shape[-1:], (last,))


impl_rules[fft_p] = _fft_impl
abstract_eval_rules[fft_p] = _fft_aval
deflinear2(fft_p, _fft_transpose)
batch_rules[fft_p] = lambda vals, dims, **params: (fft(moveaxis(vals[0], dims[0], 0), **params), 0)
lowering_rules[fft_p] = OnHost("a fast Fourier transform: SciPy's is as good as they get")


# ---- the function ----


@jitted(static_argnames=("fft_type", "fft_lengths"))
def fft(x: Any, fft_type: FftType | str, fft_lengths: Sequence[int]) -> Array:
    """The Fourier transform over the last len(fft_lengths) axes of `x`.

    fft_type is 'fft', 'ifft' (complex to complex; reals are converted), 'rfft' (real to the half of a
    spectrum: the last axis has length n // 2 + 1 then) or 'irfft', its inverse, whose last axis has the
    length fft_lengths[-1] (for both that many). The inverses divide by the number of elements.
    Raises ValueError for an unknown type, complex input of 'rfft', 16-bit floats there, and lengths
    that are not those of `x`."""
    kind = _as_fft_type(fft_type)
    x = as_array(x)
    dtype = dtypes.dtype(x)
    if kind == FftType.RFFT:
        if dtypes.kind(dtype) == "c":
            raise ValueError("only real valued inputs supported for rfft")
        x = convert_element_type(x, to_inexact_dtype(dtype))
    else:
        x = convert_element_type(
            x, type_promotion.promote_types(to_inexact_dtype(dtype), np.complex64)
        )
    return fft_p.bind(x, fft_type=kind, fft_lengths=tuple(fft_lengths))


def _as_fft_type(fft_type: FftType | str) -> FftType:
    if isinstance(fft_type, str):
        if fft_type.upper() not in FftType.__members__:
            raise ValueError(f"Unknown FFT type '{fft_type}': use one of fft, ifft, rfft, irfft")
        return FftType[fft_type.upper()]
    if not isinstance(fft_type, FftType):
        raise TypeError(f"Unknown FFT type value '{fft_type}': use lax.FftType, or its name")
    return fft_type


__getattr__ = getattr_of(__name__)
