"""Recorded cases of Fourier and cosine transforms."""

import importlib

import numpy as np
from golden_cases.codec import Group

GROUPS = [
    Group(
        "jnp.fft",
        [
            "jnp.fft.fft(x), jnp.fft.fft(jnp.arange(5)), jnp.fft.fft(x.astype(jnp.float16))",
            "jnp.fft.fft(z, n=5, axis=0, norm='ortho'), jnp.fft.fft(z, norm='forward')",
            "jnp.fft.ifft(z), jnp.fft.ifft(z, n=2, norm='forward'), jnp.fft.ifft(z, norm='ortho')",
            "jnp.fft.rfft(x), jnp.fft.rfft(x, axis=0), jnp.fft.rfft(x, n=4, norm='ortho')",
            "jnp.fft.irfft(z), jnp.fft.irfft(z, n=7), jnp.fft.irfft(z, 3, 0, 'ortho'), jnp.fft.irfft(x)",
            "jnp.fft.hfft(z), jnp.fft.hfft(z, n=5, norm='ortho'), jnp.fft.hfft(z, norm='forward')",
            "jnp.fft.ihfft(x), jnp.fft.ihfft(x, n=4, norm='ortho'), jnp.fft.ihfft(x, norm='forward')",
            "jnp.fft.fft2(z), jnp.fft.ifft2(z, s=(1, 4)), jnp.fft.fft2(t, axes=(0, 2))",
            "jnp.fft.rfft2(x), jnp.fft.irfft2(z), jnp.fft.irfft2(z, norm='ortho')",
            "jnp.fft.fftn(x, axes=(1, 0)), jnp.fft.fftn(z, s=(4,)), jnp.fft.fftn(np.float32(1))",
            "jnp.fft.rfftn(t, s=(2, 1), axes=(2, 0)), jnp.fft.irfftn(t, axes=(1, 2))",
            "jnp.fft.fftn(four_axes), jnp.fft.rfftn(four_axes)",
            "jnp.fft.ifftn(four_axes), jnp.fft.irfftn(four_axes, norm='forward')",
            "jnp.fft.fft(jnp.zeros(0)), jnp.fft.irfft(jnp.zeros((2, 1)))",
            "jnp.fft.fftfreq(5, d=0.1), jnp.fft.fftfreq(6), jnp.fft.fftfreq(4, dtype=jnp.float16)",
            "jnp.fft.rfftfreq(5, 0.5), jnp.fft.rfftfreq(6)",
            "jnp.fft.fftshift(x), jnp.fft.fftshift(jnp.arange(5)), jnp.fft.fftshift(t, axes=(0, 2))",
            "jnp.fft.ifftshift(x), jnp.fft.ifftshift(jnp.arange(5)), jnp.fft.ifftshift(t, axes=1)",
            "lax.fft(z, 'irfft', (2, 4)), lax.fft(x, lax.FftType.RFFT, (2, 3)), lax.fft(z, 'fft', ())",
            "jax.jit(jnp.fft.rfft)(x), jax.vmap(jnp.fft.irfft, 1, 1)(z)",
            "lax.FftType.RFFT, str(lax.FftType.RFFT)",
        ],
        ulps=16,
        scaled=True,
    ),
    Group(
        "jnp.fft, 64 bit",
        [
            "jnp.fft.fft(jnp.arange(3)), jnp.fft.rfft(jnp.arange(3)), jnp.fft.irfft(jnp.arange(3.0))",
            "jnp.fft.fft(x), jnp.fft.fftfreq(3)",
        ],
        config={"jax_enable_x64": True},
        scaled=True,
    ),
    Group(
        "derivatives of jnp.fft",
        [
            "jax.grad(lambda x: jnp.abs(jnp.fft.fft(x)).sum())(x)",
            "jax.grad(lambda x: jnp.abs(jnp.fft.rfft(x) ** 2).sum())(x)",
            "jax.grad(lambda x: jnp.abs(jnp.fft.rfft2(x, s=(3, 4)) ** 2).sum())(x)",
            "jax.grad(lambda x: (jnp.fft.irfft(z * x) ** 3).sum())(x)",
            "jax.grad(lambda x: (jnp.fft.irfft2(z * x, s=(2, 5)) ** 3).sum())(x)",
            "jax.grad(lambda z: (jnp.fft.hfft(z) ** 3).sum())(z)",
            "jax.grad(lambda x: jnp.abs(jnp.fft.rfftn(x) ** 2).sum())(four_axes)",
            "jax.hessian(lambda x: jnp.abs(jnp.fft.rfft(x)).sum())(x[0])",
            "jax.jvp(jnp.fft.ifft, (z,), (2 * z,))",
            "jax.vjp(jnp.fft.irfft, z)[1](jnp.ones((2, 4)))",
            "jax.jit(jax.vmap(jax.grad(lambda x: jnp.abs(jnp.fft.rfft(x)).sum())))(x)",
        ],
        ulps=64,
        scaled=True,
    ),
    Group(
        "jax.scipy.fft",
        [
            "dct(x), dct(x, axis=0, norm='ortho'), dct(z, n=5), dct(x, n=2), dct(jnp.arange(4))",
            "idct(x), idct(x, axis=0, norm='ortho'), idct(z, n=5), idct(x, n=2), idct(jnp.arange(4))",
            "dctn(x), dctn(t, axes=(0, 2), norm='ortho'), dctn(x, s=(4,)), dctn(x, axes=0)",
            "idctn(x), idctn(t, axes=(0, 2), norm='ortho'), idctn(x, s=(4,)), idctn(x, axes=0)",
            "dct(x.astype(jnp.float16))",
            "jax.grad(lambda x: (dct(x) ** 3).sum())(x), jax.grad(lambda x: (idct(x) ** 3).sum())(x)",
        ],
        ulps=64,
        scaled=True,
    ),
]

ERRORS = {
    "lax.fft": [
        ("lax.fft(z, 'rfft', (3,))", ["rfft", "real"]),
        ("lax.fft(z, 'foo', (3,))", ["foo"]),
        ("lax.fft(z, 7, (3,))", ["7"]),
        ("lax.fft(z, 'fft', (4,))", ["(2, 3)", "(4,)"]),
        ("lax.fft(x, 'rfft', (4,))", ["(2, 3)", "(4,)"]),
        ("lax.fft(z, 'fft', (2, 2, 3))", ["(2, 3)", "(2, 2, 3)"]),
        ("lax.fft(x.astype(jnp.float16), 'rfft', (3,))", ["float16"]),
    ],
    "jnp.fft": [
        ("jnp.fft.rfft(z)", ["real"]),
        ("jnp.fft.fft(x, n=0)", ["positive"]),
        ("jnp.fft.fft(x, n=2.5)", ["float"]),
        ("jnp.fft.fft(x, axis=3)", ["axis 3", "dimension 2"]),
        ("jnp.fft.fft(x, axis=(0, 1))", ["fftn", "(0, 1)"]),
        ("jnp.fft.fft(x, norm='bar')", ["bar", "ortho"]),
        ("jnp.fft.fft(np.float32(1))", ["axis -1"]),
        ("jnp.fft.fft([1.0, 2.0])", ["list"]),
        ("jnp.fft.fft2(x, axes=(0,))", ["fft2", "(0,)"]),
        ("jnp.fft.fft2(x[0])", ["axis -2"]),
        ("jnp.fft.fftn(x, axes=(0, 0))", ["repeated", "(0, 0)"]),
        ("jnp.fft.fftn(x, s=(1, 2), axes=(0,))", ["different lengths"]),
        ("jnp.fft.fftn(x, s=(1, 2, 3))", ["(1, 2, 3)"]),
        ("jnp.fft.fftfreq([1, 2])", ["fftfreq", "[1, 2]"]),
        ("jnp.fft.rfftfreq(5, d=[1, 2])", ["rfftfreq", "[1, 2]"]),
        ("jnp.fft.fftshift(x, axes=5)", []),
    ],
    "jax.scipy.fft": [
        ("dct(x, type=1)", ["type"]),
        ("dct(x, norm='forward')", ["dct", "forward"]),
        ("idct(x, axis=5)", ["axis 5"]),
        ("dctn(x, axes=(0, 0))", ["(0, 0)"]),
        ("dctn(x, s=(2, 2, 2))", ["3"]),
        ("idct([1.0])", ["idct", "list"]),
    ],
}


def names(jax, jnp, lax):
    x = np.array([[1.0, -2.0, 0.5], [3.0, 0.25, -1.5]], np.float32)
    four_axes = np.cos(np.arange(16, dtype=np.float32)).reshape(2, 2, 2, 2)
    scipy_fft = importlib.import_module(f"{jax.__name__}.scipy.fft")
    transforms = {n: getattr(scipy_fft, n) for n in ("dct", "idct", "dctn", "idctn")}
    return {
        "x": jnp.array(x),
        "z": jnp.array(x + 1j * x[::-1]),
        "four_axes": jnp.array(four_axes),
        **transforms,
    }


def jaxprs(jax, jnp, lax):
    jaxpr, given = jax.make_jaxpr, names(jax, jnp, lax)
    x, z, four_axes = given["x"], given["z"], given["four_axes"]
    integers = np.ones((2, 3), np.int32)
    return {
        "fft, lax": lambda: jaxpr(lambda x: lax.fft(x, lax.FftType.RFFT, (2, 3)))(x),
        "fft, ortho": lambda: jaxpr(lambda a: jnp.fft.fft(a, 5, 0, "ortho"))(integers),
        "fft, cut": lambda: jaxpr(lambda z: jnp.fft.ifft(z, 2, norm="forward"))(z),
        "fft, half a spectrum": lambda: jaxpr(lambda z: jnp.fft.irfft(z, 7, norm="ortho"))(z),
        "fft, hfft": lambda: jaxpr(lambda z: jnp.fft.hfft(z, norm="ortho"))(z),
        "fft, ihfft": lambda: jaxpr(lambda x: jnp.fft.ihfft(x, norm="forward"))(x),
        "fft, two axes": lambda: jaxpr(lambda z: jnp.fft.fftn(z, (3, 1), (1, 0)))(z),
        "fft, four axes": lambda: jaxpr(jnp.fft.rfftn)(four_axes),
        "fft, four axes back": lambda: jaxpr(jnp.fft.irfftn)(four_axes),
        "fft, fftfreq": lambda: jaxpr(lambda: jnp.fft.fftfreq(5, d=0.1))(),
        "fft, fftshift": lambda: jaxpr(jnp.fft.fftshift)(x),
        "fft, vmap": lambda: jaxpr(jax.vmap(jnp.fft.fft, 1))(z),
        "fft, grad of rfft": lambda: jaxpr(jax.grad(lambda x: jnp.fft.rfft(x).real.sum()))(x),
        "fft, grad of irfft": lambda: jaxpr(jax.grad(lambda x: jnp.fft.irfft(z * x).sum()))(x),
        "fft, jvp": lambda: jaxpr(lambda z: jax.jvp(jnp.fft.fft, (z,), (z,)))(z),
    }
