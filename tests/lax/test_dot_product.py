"""Products: which dtype the sums are kept in, gradients, and how they are printed."""

import ml_dtypes
import numpy as np
import pytest

import tinyjax as jax
from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.core.tracing import make_jaxpr
from tinyjax.transform.vjp import grad


def f32(values):
    return np.array(values, np.float32)


def test_the_gradient_of_a_bfloat16_product_is_bfloat16():
    x = np.ones(3, ml_dtypes.bfloat16)
    gradient = grad(lambda a: lax.dot(a, x, preferred_element_type=np.float32))(x)
    assert gradient.dtype == ml_dtypes.bfloat16


def test_the_sums_of_a_float16_product_are_kept_in_float32():
    x = np.full(4096, 1, np.float16)
    assert float(lax.dot(x, x)) == 4096  # in float16, the sum would stop at 2048


@pytest.mark.parametrize(
    "lhs, rhs, preferred, want",
    [
        ("float32", "float32", None, "float32"),
        ("int8", "float32", None, "float32"),
        ("uint32", "int32", None, "int32"),
        ("bfloat16", "bfloat16", "float32", "float32"),
        ("float32", "float32", "bfloat16", "bfloat16"),
        ("float32", "complex64", None, "complex64"),
        ("int8", "int8", "int32", "int32"),
    ],
)
def test_dtype_of_a_product(lhs, rhs, preferred, want):
    out = lax.dot(np.ones(2, lhs), np.ones(2, rhs), preferred_element_type=preferred)
    assert (out.dtype.name, float(out.real if want == "complex64" else out)) == (want, 2)


def test_dot_general_shows_dimension_numbers_as_lists_and_no_nones():
    text = str(make_jaxpr(lambda a, b: lax.dot(a, b, precision="high"))(f32([1]), f32([1])))
    assert "dimension_numbers=(([0], [0]), ([], []))" in text
    assert "precision=(Precision.HIGH, Precision.HIGH)" in text
    assert "preferred" not in text


def test_operands_of_float16_products_are_converted_once():
    x, w = jnp.ones((8, 9, 9, 4), jnp.float16), jnp.ones((3, 3, 4, 16), jnp.float16)
    dims = ("NHWC", "HWIO", "NHWC")

    def convolution(x, w):
        return lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=dims)

    for fun, args in ((convolution, (x, w)), (lax.dot, (x.reshape(-1, 36), w.reshape(36, 16)))):
        text = jax.jit(fun).lower(*args).as_text("groups")
        assert f"f32{[*args[1].shape]}".replace(" ", "") in text
        np.testing.assert_array_equal(jax.jit(fun)(*args), fun(*args))
