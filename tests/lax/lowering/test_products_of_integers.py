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
def test_kernels_convert_the_halves_of_products_that_blas_computes(dtype: str) -> None:
    x = jnp.asarray(np.random.default_rng(0).normal(size=(512, 512)), dtype)
    assert "matmul  e:f32[512,512] from" in jax.jit(jnp.dot).lower(x, x).as_text("groups")
    result = jax.jit(jnp.dot)(x, x)
    assert result.dtype == x.dtype
    np.testing.assert_array_equal(np.asarray(result), np.asarray(jnp.dot(x, x)))
