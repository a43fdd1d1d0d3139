"""Fourier transforms as kernels: what they compute, and for which sizes."""

import functools
from typing import Any

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp

NAMES = ["fft", "ifft", "rfft", "irfft", "fft2", "ifft2", "rfft2", "irfft2"]


def operand(name: str, shape: tuple[int, ...], dtype: Any = np.complex64) -> np.ndarray:
    rng = np.random.default_rng(0)
    z = (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)
    if name.startswith("irfft"):
        return z[..., : shape[-1] // 2 + 1]
    return z.real if name.startswith("rfft") else z


def steps(fun: Any, x: np.ndarray) -> str:
    return jax.jit(fun).lower(x).as_text("schedule")


@pytest.mark.parametrize(
    ("shape", "names"), [((9, 30), NAMES[:4]), ((2, 12, 7), NAMES[4:]), ((8, 256), NAMES[2:4])]
)
def test_each_kind_in_kernels(shape: tuple[int, ...], names: list[str]) -> None:
    sizes: dict[str, Any] = {"irfft": {"n": shape[-1]}, "irfft2": {"s": shape[-2:]}}
    operands = {name: operand(name, shape) for name in names}

    def transformed(numpy: Any, xs: dict[str, Any]) -> dict[str, Any]:
        return {n: getattr(numpy.fft, n)(x, **sizes.get(n, {})) for n, x in xs.items()}

    compiled = jax.jit(lambda xs: transformed(jnp, xs))
    assert "host" not in compiled.lower(operands).as_text("schedule")
    found = compiled(operands)
    for name, expected in transformed(np, operands).items():
        assert found[name].dtype == (np.float32 if name.startswith("ir") else np.complex64)
        np.testing.assert_allclose(found[name], expected, atol=1e-6 * np.abs(expected).max())


def test_the_highest_frequency_of_real_numbers_has_a_real_part_alone() -> None:
    spectrum = np.asarray(jax.jit(jnp.fft.rfft)(operand("rfft", (20, 256))))
    assert not spectrum.imag[:, [0, -1]].any()


def test_double_precision() -> None:
    with jax.enable_x64(True):
        x = operand("fft", (20, 100), np.complex128)
        np.testing.assert_allclose(jax.jit(jnp.fft.fft)(x), np.fft.fft(x), atol=1e-12)


def test_a_middle_axis_and_a_batch() -> None:
    x = operand("fft", (3, 24, 10))
    found = jax.jit(jax.vmap(lambda x: jnp.fft.fft(x, axis=0)))(x)
    np.testing.assert_allclose(found, np.fft.fft(x, axis=1), atol=1e-5)


def test_sizes_with_large_primes_and_empty_arrays_are_host_steps() -> None:
    assert "host" in steps(jnp.fft.fft, operand("fft", (16, 22)))
    assert "host" in steps(jnp.fft.fft, operand("fft", (0, 8)))


@pytest.mark.parametrize("shape", [(2,), (7,), (30,), (49,), (128,), (343,), (3, 50), (2, 2, 64)])
def test_few_rows_are_kernels_too(shape: tuple[int, ...]) -> None:
    for name in NAMES[:4]:
        x = operand(name, shape)
        sizes = {"n": shape[-1]} if name == "irfft" else {}
        fun = functools.partial(getattr(jnp.fft, name), **sizes)
        assert "host" not in steps(fun, x)
        expected = getattr(np.fft, name)(x, **sizes)
        np.testing.assert_allclose(jax.jit(fun)(x), expected, atol=1e-6 * np.abs(expected).max())


def test_a_loop_with_transforms_has_no_host_steps() -> None:
    def smooth(x: Any) -> Any:
        step = lambda _, x: jnp.fft.irfft(jnp.fft.rfft(x) * 0.5) + x  # noqa: E731
        return jax.lax.fori_loop(0, 3, step, x)

    x = operand("rfft", (16, 64))
    assert "host" not in steps(smooth, x)
    np.testing.assert_allclose(jax.jit(smooth)(x), 3.375 * x, rtol=1e-4, atol=1e-5)
