"""Products of small integers and of halves in floats: the integers are exact, also the largest ones."""

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp


@pytest.mark.parametrize(
    ("dtype", "floats"), [("int8", "f32"), ("uint8", "f32"), ("int16", None), ("int32", None)]
)
def test_products_of_small_integers_are_exact_in_floats(dtype: str, floats: str | None) -> None:
    product = lambda x, y: jnp.matmul(x, y, preferred_element_type=jnp.int32)  # noqa: E731
    bounds = np.iinfo(dtype)
    x = np.random.default_rng(0).choice([bounds.min, bounds.max, 1], (20, 100)).astype(dtype)
    passes = jax.jit(product).lower(x, x.T).as_text("simplified")
    assert (f"{floats or 'i32'}[20,20] = dot_general") in passes
    expected = x.astype(np.int64) @ x.T.astype(np.int64)
    np.testing.assert_array_equal(jax.jit(product)(x, x.T), expected.astype(np.int32))


@pytest.mark.parametrize("padding", ["VALID", "SAME"])
def test_convolutions_of_small_integers_are_exact(padding: str) -> None:
    images = np.random.default_rng(0).choice([-128, 127], (1, 3, 9, 9)).astype(np.int8)
    kernels = np.full((4, 3, 3, 3), -128, np.int8)
    f = lambda x, y: jax.lax.conv_general_dilated(  # noqa: E731
        x, y, (1, 1), padding, preferred_element_type=jnp.int32
    )
    simplified = jax.jit(f).lower(images, kernels).as_text("simplified")
    assert "f32[1,4," in simplified and "padding=((0, 0), (0, 0))" in simplified
    np.testing.assert_array_equal(jax.jit(f)(images, kernels), f(images, kernels))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_the_halves_of_large_products_are_converted_once(dtype: str) -> None:
    x = jnp.asarray(np.random.default_rng(0).normal(size=(512, 512)), dtype)
    groups = jax.jit(jnp.dot).lower(x, x).as_text("groups")
    assert "0: kernel  c:f32[512,512], d:f32[512,512] from a, b  # convert_element_type" in groups
    result = jax.jit(jnp.dot)(x, x)
    assert result.dtype == x.dtype
    found, expected = (np.asarray(y, np.float32) for y in (result, jnp.dot(x, x)))
    np.testing.assert_allclose(found, expected, rtol=float(jnp.finfo(dtype).eps), atol=1e-4)
