"""Recorded cases of jnp.convolve, jnp.correlate and jax.scipy.signal."""

import importlib

import numpy as np
from golden_cases.codec import Group

MODES = ("full", "same", "valid")
VECTORS = [
    f"jnp.{f}({a}, {b}, '{mode}')"
    for f in ("convolve", "correlate")
    for a, b in (("x5", "v"), ("v", "x5"), ("x5[:4]", "x5 - 20"), ("v + 1j * w", "x5 * 2j"))
    for mode in MODES
] + [
    "jnp.convolve(ints, bools)",
    "jnp.correlate(ints, idx)",
    "jnp.convolve(ints, idx, preferred_element_type=jnp.int32)",
    "jnp.convolve(ints, idx, preferred_element_type=jnp.float32)",
    "jnp.correlate(halves, halves[:2], preferred_element_type=jnp.float32)",
    "jnp.convolve(v, w[:1], precision='highest')",
    "jax.vmap(lambda a: jnp.convolve(a, v))(m)",
    "jax.grad(lambda a: jnp.sum(jnp.correlate(a, w, 'same') ** 2))(x5)",
    "jax.jit(jnp.convolve)(x5, w)",
]
MATRICES = [
    f"signal.{f}({a}, {b}, '{mode}')"
    for f in ("convolve", "correlate", "convolve2d", "correlate2d")
    for a, b in (("image", "n"), ("n", "image"), ("m + 1j", "image[:2, :2] * (1 + 2j)"))
    for mode in MODES
] + [
    "signal.convolve(x5, v)",
    "signal.convolve(ints, idx)",
    "signal.convolve(t, t[:1, :2, :2], 'same')",
    "signal.convolve(np.float32(2), np.float32(3))",
    "signal.convolve2d(ints[:6].reshape(2, 3), bm, precision='highest')",
    "signal.correlate2d(m, m, 'same'), signal.correlate2d(m, m)",
    "jax.grad(lambda k: jnp.sum(signal.convolve(image, k, 'same') ** 2))(n)",
    "jax.vmap(lambda a: signal.correlate2d(a, m[:, :2]))(t)",
]
TRANSFORMS = [
    *[f"signal.fftconvolve(image, n, '{mode}')" for mode in MODES],
    *[f"signal.fftconvolve(n, image, '{mode}')" for mode in MODES],
    *[f"signal.fftconvolve(m + 1j, image[:2, :2], '{mode}')" for mode in MODES],
    "signal.fftconvolve(image, image[:, :2], 'same', 1)",
    "signal.fftconvolve(t, t[:1], axes=[0])",
    "signal.fftconvolve(x5, v), signal.fftconvolve(ints, idx)",
    "signal.fftconvolve(empty, v), signal.fftconvolve(np.float32(2), np.float32(3))",
    "signal.convolve(image, n, method='fft'), signal.correlate(image, n, method='fft')",
    "jax.grad(lambda a: jnp.sum(signal.fftconvolve(a, n) ** 2))(image)",
]
TRENDS = [
    "signal.detrend(x5 ** 2)",
    "signal.detrend(image)",
    "signal.detrend(image, 0, 'constant')",
    "signal.detrend(t ** 2, axis=1)",
    "signal.detrend(x5 ** 2, bp=2), signal.detrend(image.reshape(-1), bp=[7, 3])",
    "signal.detrend(ints ** 2)",
    "jax.jit(signal.detrend)(image)",
]
SPECTRA = [
    "signal.stft(wave, nperseg=8)",
    "signal.stft(waves.T, 10.0, 'boxcar', 8, 2, 10, axis=0)",
    "signal.stft(wave, window=('tukey', 0.3), nperseg=7, boundary='even', padded=False)",
    "signal.stft(wave, window=unit[:8], nperseg=8, boundary=None)",
    "signal.stft(wave, nperseg=8, boundary='odd', detrend='constant', return_onesided=False)",
    "signal.stft(wave + 1j, nperseg=8, boundary='constant')",
    "signal.stft(wave[:5], nperseg=8)",
    "signal.csd(wave, wave[:14] ** 2, nperseg=8)",
    "signal.csd(waves, waves[::-1] + 1j, 100.0, nperseg=5, average='median', scaling='spectrum')",
    "signal.csd(wave, None, nperseg=8, detrend='linear')",
    "signal.welch(wave, nperseg=8), signal.welch(ints)",
    "signal.welch(waves.T, nperseg=7, noverlap=2, nfft=9, axis=0, average='median')",
    "signal.istft(signal.stft(wave, nperseg=8)[2])",
    "signal.istft(signal.stft(waves, 5.0, nperseg=8)[2], 5.0, nperseg=8)[1]",
    "signal.istft(signal.stft(wave, nperseg=8, boundary=None)[2], window='boxcar', boundary=False)",
    "signal.istft(signal.stft(wave, nperseg=8, return_onesided=False)[2], input_onesided=False)",
    "signal.istft(waves[:, :5].T + 1j, time_axis=1, freq_axis=0)",
    "jax.jit(lambda x: signal.welch(x, nperseg=8)[1])(wave)",
    "jax.grad(lambda x: jnp.sum(signal.welch(x, nperseg=8)[1] ** 2))(wave)",
]
GROUPS = [
    Group("jnp.convolve and jnp.correlate", VECTORS, ulps=4, scaled=True),
    Group("scipy.signal: convolution", MATRICES, ulps=4, scaled=True),
    Group("scipy.signal: by Fourier transforms", TRANSFORMS, ulps=16, scaled=True),
    Group("scipy.signal: spectra", SPECTRA, ulps=32, scaled=True),
    Group("scipy.signal: detrend", TRENDS, ulps=1024, scaled=True),
]

ERRORS = {
    "signal": [
        ("jnp.convolve(m, v)", ["convolve", "1-dimensional"]),
        ("jnp.correlate(v, m)", ["correlate", "1-dimensional"]),
        ("jnp.convolve(v, v, 'most')", ["mode", "full", "valid"]),
        ("jnp.correlate(v, empty)", ["(3,)", "(0,)"]),
        ("jnp.convolve([1, 2], v)", ["convolve", "list"]),
        *(
            (f"signal.{call}", named)
            for call, named in (
                ("convolve(m, v)", ["dimensions"]),
                ("convolve(m, n, 'most')", ["mode", "full"]),
                ("convolve(m, n, method='slow')", ["method", "'fft'", "slow"]),
                ("convolve(m, n)", ["every dimension"]),
                ("convolve(empty, v)", ["(0,)"]),
                ("correlate(m, v)", ["dimensions"]),
                ("convolve2d(v, m)", ["2-dimensional"]),
                ("convolve2d(m, m, boundary='wrap')", ["boundary", "'fill'"]),
                ("correlate2d(m, m, fillvalue=1)", ["fillvalue"]),
                ("correlate2d(m, m, 'most')", ["mode", "full"]),
                ("fftconvolve(m, v)", ["dimension"]),
                ("fftconvolve(m, m, 'most')", ["mode", "full"]),
                ("fftconvolve(m, n, axes=1)", ["(2, 3)", "(3, 2)"]),
                ("fftconvolve(m, n, 'valid')", ["valid", "dimension"]),
                ("stft(image, nperseg=4, noverlap=4)", ["noverlap", "4"]),
                ("stft(image, nperseg=0)", ["nperseg"]),
                ("stft(image, nperseg=4, nfft=3)", ["nfft", "nperseg"]),
                ("stft(image, nperseg=4, boundary='wavy')", ["boundary", "wavy", "even"]),
                ("stft(image, window=v, nperseg=4)", ["window"]),
                ("stft(image, window='wavy', nperseg=4)", ["wavy"]),
                ("welch(image, scaling='wavy')", ["scaling", "wavy"]),
                ("welch(wave, nperseg=8, average='wavy')", ["average", "wavy", "median"]),
                ("csd(v, m)", ["rank"]),
                ("istft(v)", ["2d"]),
                ("istft(m, time_axis=0)", ["time", "frequency"]),
                ("detrend(v, type='wavy')", ["linear", "constant"]),
                ("detrend(v, bp=9)", ["less|up to"]),
                ("detrend(v, overwrite_data=True)", ["overwrite_data"]),
            )
        ),
    ]
}


def jaxprs(jax, jnp, lax):
    signal = importlib.import_module(f"{jax.__name__}.scipy.signal")
    a, v, m, k = jnp.ones(5), jnp.ones(4), jnp.ones((4, 5)), jnp.ones((2, 3))

    def of(f, *args):
        return lambda: jax.make_jaxpr(f)(*args)

    return {
        "jnp.convolve": of(jnp.convolve, a, v),
        "jnp.convolve, same": of(lambda a, v: jnp.convolve(a, v, "same"), a, jnp.arange(9)),
        "jnp.correlate": of(jnp.correlate, a, v),
        "jnp.correlate of complex": of(jnp.correlate, v + 1j, a + 1j),
        "signal.convolve": of(lambda a, b: signal.convolve(a, b, "same"), m, k),
        "signal.correlate": of(signal.correlate, k, m),
        "signal.convolve2d": of(lambda a, b: signal.convolve2d(a, b, "valid"), k, m),
        "signal.correlate2d": of(signal.correlate2d, m, k),
        "signal.fftconvolve": of(signal.fftconvolve, m, k),
        "signal.detrend, constant": of(lambda a: signal.detrend(a, type="constant"), m),
    }


def names(jax, jnp, lax):
    signal = importlib.import_module(f"{jax.__name__}.scipy.signal")

    def rounded(x):  # to float32: numbers that are the same on every processor
        return np.array(x, np.float32).astype(float)

    image = np.sin(rounded(rounded(0.7) * np.arange(1.0, 21) ** 2)).reshape(4, 5)
    wave = np.sin(rounded(rounded(0.37) * rounded(np.arange(20.0) ** rounded(1.3))))
    image, wave = jnp.array(image, jnp.float32), jnp.array(wave, jnp.float32)
    return {"signal": signal, "image": image, "wave": wave, "waves": jnp.stack([wave, wave**2])}
