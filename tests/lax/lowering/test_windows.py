"""Pooling and its gradient as kernels: they choose as the impl rules do, also among equals and NaNs."""

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax

RNG = np.random.RandomState(0)
# Few values, so that windows have equals; NaNs, and the least of all, which padding has as well.
IMAGE = RNG.choice(np.float32([0, 1, 2, np.nan, -np.inf]), (2, 7, 8, 3))
WINDOWS = {
    "beside each other": ((1, 2, 2, 1), (1, 2, 2, 1), "VALID"),
    "overlapping": ((1, 3, 2, 1), (1, 2, 1, 1), "VALID"),
    "in padding": ((1, 3, 3, 1), (1, 2, 2, 1), [(0, 0), (2, 1), (1, 3), (0, 0)]),
    "with gaps": ((1, 2, 1, 2), (1, 3, 2, 2), "VALID"),
    "none": ((1, 2, 9, 1), (1, 2, 9, 1), "VALID"),
    "over images": ((2, 1, 1, 3), (1, 1, 1, 1), "SAME"),
}


def pool(x, windows, smallest=False):
    if smallest:
        return lax.reduce_window(x, jnp.inf, lax.min, *WINDOWS[windows])
    return lax.reduce_window(x, -jnp.inf, lax.max, *WINDOWS[windows])


def host_steps(function, *args):
    text = jax.jit(function).lower(*args).as_text("schedule")
    return [line for line in text.splitlines() if ": host" in line]


@pytest.mark.parametrize("smallest", [False, True])
@pytest.mark.parametrize("windows", WINDOWS)
def test_a_cotangent_goes_to_the_element_chosen(windows, smallest):
    pooled, pullback = jax.vjp(lambda x: pool(x, windows, smallest), IMAGE)
    cts = RNG.randn(*pooled.shape).astype(np.float32)
    assert not host_steps(pullback, cts)
    np.testing.assert_array_equal(jax.jit(pullback)(cts)[0], pullback(cts)[0])


@pytest.mark.parametrize("smallest", [False, True])
@pytest.mark.parametrize("windows", WINDOWS)
def test_a_tangent_is_that_of_the_element_chosen(windows, smallest):
    def tangent(t):
        return jax.jvp(lambda x: pool(x, windows, smallest), (IMAGE,), (t,))[1]

    t = RNG.randn(*IMAGE.shape).astype(np.float32)
    assert not host_steps(tangent, t)
    np.testing.assert_array_equal(jax.jit(tangent)(t), tangent(t))


def test_an_image_with_holes_chooses_too():
    def tangent(t):
        window = {"base_dilation": (2,), "window_dilation": (3,)}
        f = lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (2,), (1,), "VALID", **window)  # noqa: E731
        return jax.jvp(f, (IMAGE[0, 0, :, 0],), (t,))[1]

    t = np.arange(8, dtype=np.float32)
    assert not host_steps(tangent, t)
    np.testing.assert_array_equal(jax.jit(tangent)(t), tangent(t))


def test_large_windows_are_left_to_the_host():
    x = np.ones((20, 20), np.float32)
    gradient = jax.grad(lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (9, 9), (9, 9)).sum())
    (step,) = host_steps(gradient, x)
    assert "81 elements" in step
    np.testing.assert_array_equal(jax.jit(gradient)(x), gradient(x))


@pytest.mark.parametrize("padding", ["SAME", [(0, 0), (2, 1), (-1, 3), (0, 0)]])
@pytest.mark.parametrize("dtype", ["float32", "uint8", "bool"])
@pytest.mark.parametrize("dilation", [(1, 1, 1, 1), (1, 2, 3, 1)])
def test_windows_of_an_array_that_is_padded_before_test_nothing(padding, dtype, dilation):
    x = jnp.asarray(RNG.randint(0, 2, (2, 5, 30, 3))).astype(dtype)

    def largest(x):
        least = {"float32": -jnp.inf, "uint8": 0, "bool": False}[dtype]
        least = np.asarray(least, dtype)
        options = {"base_dilation": dilation, "window_dilation": (1, 1, 2, 1)}
        return lax.reduce_window(x, least, lax.max, (1, 3, 3, 1), (1, 2, 1, 1), padding, **options)

    pad, window = jax.jit(largest).lower(x).compiler_ir("kernel")
    assert "pad" in pad.name and "select" not in str(window)
    np.testing.assert_array_equal(jax.jit(largest)(x), largest(x))


@pytest.mark.parametrize("windows", sorted(set(WINDOWS) - {"none"}))
def test_a_custom_function_combines_in_a_kernel(windows):
    image = np.nan_to_num(IMAGE, neginf=-3).astype(np.int32)
    x, init = (image, image > 0), (np.int32(5), np.bool_(True))

    def closer(a, b):
        return jnp.where(abs(b[0] - 2) < abs(a[0] - 2), b[0], a[0]), a[1] ^ b[1]

    def pooled(x):
        return lax.reduce_window(x, init, closer, *WINDOWS[windows])

    assert not host_steps(pooled, x)
    for found, expected in zip(jax.jit(pooled)(x), pooled(x)):
        np.testing.assert_array_equal(found, expected)
