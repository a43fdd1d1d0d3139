"""Spectra of jax.scipy.signal: stft and its inverse, csd and welch.

The signal is cut into segments that overlap, each is faded in and out by a window, and transformed. `welch`
is the mean of the squares over all segments.

Sources: https://docs.scipy.org/doc/scipy/reference/signal.html and Welch (1967), "The use of fast
Fourier transform for the estimation of power spectra"
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import tinyjax.numpy as jnp
from tinyjax.core.array import Array
from tinyjax.lax.shape import canonicalize_axis
from tinyjax.numpy import fft
from tinyjax.numpy.promotion import promote_dtypes_inexact
from tinyjax.numpy.util import ensure_arraylike
from tinyjax.scipy.trends import detrend as without_trend

# boundary -> how jnp.pad makes what is before and after the signal
_EXTENSIONS: dict[str, dict[str, str]] = {
    "even": {"mode": "reflect"},
    "odd": {"mode": "reflect", "reflect_type": "odd"},
    "constant": {"mode": "edge"},
    "zeros": {"mode": "constant"},
}


def _window(window: Any, nperseg: int | None, dtype: Any) -> Any:
    """The window's numbers: of a name, or an array of `nperseg` (or any number of) them."""
    if isinstance(window, (str, tuple)):
        from scipy.signal import get_window  # slow to import

        return jnp.asarray(get_window(window, nperseg or 256), dtype)
    if np.ndim(window) != 1:
        raise ValueError(f"window must be a name or have one axis, got shape {np.shape(window)}")
    if nperseg not in (None, len(window)):
        raise ValueError(
            f"nperseg is {nperseg}, different from the length of window, {len(window)}"
        )
    return jnp.asarray(window, dtype)


def _lengths(nperseg: int, noverlap: int | None, nfft: int | None) -> tuple[int, int]:
    """(noverlap, nfft), by default half of a segment and a whole one. Raises ValueError."""
    nfft = nperseg if nfft is None else int(nfft)
    noverlap = nperseg // 2 if noverlap is None else int(noverlap)
    if nfft < nperseg:
        raise ValueError(f"nfft must be greater than or equal to nperseg, got {nfft} and {nperseg}")
    if noverlap >= nperseg:
        raise ValueError(f"noverlap must be less than nperseg, got {noverlap} and {nperseg}")
    return noverlap, nfft


def _segment_size(nperseg: int | None, window: Any, length: int) -> int:
    if nperseg is not None and int(nperseg) < 1:
        raise ValueError(f"nperseg must be a positive integer, got {nperseg}")
    if not isinstance(window, (str, tuple)):
        return int(nperseg or len(window))
    if (nperseg or 0) > length:
        warnings.warn(
            f"nperseg {nperseg} is greater than the signal's length, {length}, which is used",
            stacklevel=4,
        )
    return min(int(nperseg or 256), length)


def _spectra(
    x: Array, y: Array, fs: Any, window: Any, nperseg: int | None, noverlap: int | None,
    nfft: int | None, detrend: Any, return_onesided: bool, scaling: str,
    boundary: str | None = None, padded: bool = False,
) -> tuple[Any, Any, Any, Any, Any, bool]:  # fmt: skip
    """(frequencies, times, spectra of x, of y, scale, whether they are one-sided) of segments along
    the last axis: spectra are (..., segments, frequencies)."""
    if scaling not in ("density", "spectrum"):
        raise ValueError(f"Unknown scaling: {scaling!r}; use 'density' or 'spectrum'")
    size = _segment_size(nperseg, window, x.shape[-1])
    weights = _window(window, size, x.real.dtype)
    noverlap, nfft = _lengths(size, noverlap, nfft)
    step = size - noverlap
    onesided = bool(return_onesided)
    if onesided and (jnp.iscomplexobj(x) or jnp.iscomplexobj(y)):
        warnings.warn(
            "the signal is complex: its spectrum is two-sided, return_onesided=False", stacklevel=3
        )
        onesided = False
    extend = _EXTENSIONS[boundary] if boundary is not None else {}
    around = size // 2 if boundary is not None else 0
    length = x.shape[-1] + 2 * around
    after = (-(length - size) % step) % size if padded else 0
    length += after
    starts = np.arange(0, length - size + 1, step)

    def transformed(signal: Array) -> Array:
        before = [(0, 0)] * (signal.ndim - 1)
        if around:
            signal = jnp.pad(signal, [*before, (around, around)], **extend)
        signal = jnp.pad(signal, [*before, (0, after)])
        segments = signal[..., starts[:, None] + np.arange(size)]
        if callable(detrend):
            segments = detrend(segments)
        elif detrend:
            segments = without_trend(segments, type=detrend)
        return (fft.rfft if onesided else fft.fft)(segments * weights, n=nfft)

    spectrum = transformed(x)
    squares = fs * jnp.sum(weights * weights) if scaling == "density" else jnp.sum(weights) ** 2
    freqs = (fft.rfftfreq if onesided else fft.fftfreq)(nfft, 1 / fs)
    middles = starts + (0 if boundary is not None else size / 2)
    times = jnp.asarray(middles, weights.dtype) / fs
    return (
        *(freqs, times, spectrum),
        *(spectrum if y is x else transformed(y), 1 / squares, onesided and nfft > 1),
    )


def stft(
    x: Any, fs: Any = 1.0, window: Any = "hann", nperseg: int = 256, noverlap: int | None = None,
    nfft: int | None = None, detrend: Any = False, return_onesided: bool = True,
    boundary: str | None = "zeros", padded: bool = True, axis: int = -1,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """(frequencies, times, spectra): the Fourier transforms of windowed segments along `axis`.

    `axis` becomes that of the frequencies, and the segments are the last axis. Segments have `nperseg`
    elements and share `noverlap`, by default half, with the next; `nfft` pads them. `boundary` says
    what is around the signal: "even", "odd", "constant", "zeros" or None, nothing; `padded`, that zeros
    fill the last segment. Raises ValueError for lengths that do not fit; as scipy.signal.stft."""
    (x,) = promote_dtypes_inexact(ensure_arraylike("stft", x))
    if boundary is not None and boundary not in _EXTENSIONS:
        raise ValueError(
            f"Unknown boundary option {boundary!r}, must be one of: {[*_EXTENSIONS, None]}"
        )
    axis = canonicalize_axis(axis, x.ndim)
    x = jnp.moveaxis(x, axis, -1)
    freqs, times, spectrum, _, scale, _ = _spectra(
        *(x, x, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, "spectrum"),
        *(boundary, padded),
    )
    spectrum = jnp.moveaxis(spectrum * jnp.sqrt(scale), -1, axis)
    return freqs, times, spectrum


def csd(
    x: Any, y: Any, fs: Any = 1.0, window: Any = "hann", nperseg: int | None = None,
    noverlap: int | None = None, nfft: int | None = None, detrend: Any = "constant",
    return_onesided: bool = True, scaling: str = "density", axis: int = -1, average: str = "mean",
) -> tuple[Array, Array]:  # fmt: skip
    """(frequencies, spectrum): conj(spectrum of x) * (spectrum of y), the mean over segments.

    y None is x. `scaling` is "density", per hertz, or "spectrum"; `average` "mean" or "median". Other
    parameters are those of stft; as scipy.signal.csd."""
    if average not in ("mean", "median"):
        raise ValueError(f'average must be "median" or "mean", got {average}')
    x = ensure_arraylike("csd", x)
    is_one = y is None or y is x
    x, y = promote_dtypes_inexact(x, x if is_one else ensure_arraylike("csd", y))
    if x.ndim != y.ndim:
        raise ValueError(
            f"csd: x and y must have the same rank, got shapes {x.shape} and {y.shape}"
        )
    axis = canonicalize_axis(axis, x.ndim)
    x, y = jnp.moveaxis(x, axis, -1), jnp.moveaxis(y, axis, -1)
    missing = x.shape[-1] - y.shape[-1]
    none = [(0, 0)] * (x.ndim - 1)
    if missing > 0:
        y = jnp.pad(y, [*none, (0, missing)])
    elif missing < 0:
        x = jnp.pad(x, [*none, (0, -missing)])
    freqs, _, of_x, of_y, scale, onesided = _spectra(
        *(x, x if is_one else y, fs, window, nperseg, noverlap, nfft, detrend),
        *(return_onesided, scaling),
    )
    power = jnp.conj(of_x) * of_y * scale
    if is_one:
        power = power.real
    if onesided:  # each frequency but the first, and a last one without a partner, stands for two
        size = nfft or _segment_size(nperseg, window, x.shape[-1])
        last = None if size % 2 else -1
        power = power.at[..., 1:last].multiply(2)
    if average == "mean" or power.shape[-2] == 1:
        power = power.mean(-2)
    else:
        power = _median(power) / _median_bias(power.shape[-2])
    return freqs, jnp.moveaxis(power, -1, axis)


def _median(power: Array) -> Array:
    if jnp.iscomplexobj(power):
        return jnp.median(power.real, -2) + 1j * jnp.median(power.imag, -2)
    return jnp.median(power, -2)


def _median_bias(count: int) -> float:
    """How much larger the median of `count` exponential variables is than their mean."""
    pairs = 2 * np.arange(1.0, (count - 1) // 2 + 1)
    return 1 + np.sum(1 / (pairs + 1) - 1 / pairs)


def welch(
    x: Any, fs: Any = 1.0, window: Any = "hann", nperseg: int | None = None,
    noverlap: int | None = None, nfft: int | None = None, detrend: Any = "constant",
    return_onesided: bool = True, scaling: str = "density", axis: int = -1, average: str = "mean",
) -> tuple[Array, Array]:  # fmt: skip
    """(frequencies, power spectrum) of x: csd(x, x)."""
    return csd(
        *(x, None, fs, window, nperseg, noverlap, nfft, detrend),
        *(return_onesided, scaling, axis, average),
    )


def istft(
    Zxx: Any, fs: Any = 1.0, window: Any = "hann", nperseg: int | None = None,
    noverlap: int | None = None, nfft: int | None = None, input_onesided: bool = True,
    boundary: bool = True, time_axis: int = -1, freq_axis: int = -2,
) -> tuple[Array, Array]:  # fmt: skip
    """(times, signal) of the spectra that stft gives: segments are added up where they overlap.

    `boundary`: whether stft had extended the signal. Time becomes the last axis. Raises ValueError for
    less than two axes, for one that is time and frequency, and for lengths that do not fit."""
    (spectra,) = promote_dtypes_inexact(ensure_arraylike("istft", Zxx))
    if spectra.ndim < 2:
        raise ValueError(f"istft: the spectra must have at least 2d, got shape {spectra.shape}")
    freq = canonicalize_axis(freq_axis, spectra.ndim)
    time = canonicalize_axis(time_axis, spectra.ndim)
    if freq == time:
        raise ValueError(f"istft: time and frequency axes must differ, both are {freq}")
    spectra = jnp.moveaxis(spectra + 0j, (time, freq), (-2, -1))
    by_default = 2 * (spectra.shape[-1] - 1) if input_onesided else spectra.shape[-1]
    size = int(nperseg or by_default)
    if nfft is None and not (input_onesided and size == by_default + 1):
        nfft = by_default
    noverlap, nfft = _lengths(size, noverlap, nfft)
    weights = _window(window, size, spectra.real.dtype)
    pieces = (fft.irfft if input_onesided else fft.ifft)(spectra, n=nfft)[..., :size]
    count, step = spectra.shape[-2], size - noverlap
    places = np.arange(count)[:, None] * step + np.arange(size)
    length = size + (count - 1) * step
    signal = jnp.zeros((*pieces.shape[:-2], length), pieces.dtype)
    signal = signal.at[..., places].add(pieces * weights * jnp.sum(weights))
    overlap = jnp.zeros(length, weights.dtype).at[places].add(weights**2)
    if boundary:
        signal, overlap = (x[..., size // 2 : length - size // 2] for x in (signal, overlap))
    signal = signal / jnp.where(overlap > 1e-10, overlap, 1)
    return jnp.arange(signal.shape[-1], dtype=weights.dtype) / fs, signal
