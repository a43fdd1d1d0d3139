"""Convolutions: lax.conv_general_dilated and what is made of it. What JAX gives is in golden/."""

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax

SIGNAL = np.array([1, 2, 3, 4], np.float32).reshape(1, 1, 4)
EDGE = np.array([1, -1], np.float32).reshape(1, 1, 2)


def conv(x, w, *args, **params):
    return lax.conv_general_dilated(x, w, *args, **params)[0, 0]


def test_the_kernel_is_not_turned_round():
    np.testing.assert_array_equal(conv(SIGNAL, EDGE, (1,), "VALID"), [-1, -1, -1])


def test_a_stride_leaves_results_out():
    np.testing.assert_array_equal(conv(SIGNAL, EDGE, (2,), "VALID"), [-1, -1])


def test_padding_adds_zeros_around():
    np.testing.assert_array_equal(conv(SIGNAL, EDGE, (1,), [(1, 1)]), [-1, -1, -1, -1, 4])


def test_negative_padding_crops():
    np.testing.assert_array_equal(conv(SIGNAL, EDGE, (1,), [(-1, -1)]), [-1])


def test_rhs_dilation_spreads_the_kernel():
    np.testing.assert_array_equal(conv(SIGNAL, EDGE, (1,), "VALID", None, (2,)), [-2, -2])


def test_lhs_dilation_spreads_the_image():
    np.testing.assert_array_equal(conv(SIGNAL, EDGE, (1,), [(0, 0)], (2,)), [1, -2, 2, -3, 3, -4])


def test_a_convolution_of_no_spatial_axis_is_a_product_of_matrices():
    a, b = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(4, 3)
    np.testing.assert_array_equal(lax.conv(a, b, (), "VALID"), a @ b.T)


def test_in_feature_groups_each_part_of_the_kernels_sees_a_part_of_the_features():
    x, w = np.ones((1, 2, 1), np.float32), np.array([3, 5], np.float32).reshape(2, 1, 1)
    out = lax.conv_general_dilated(x * [[[2], [10]]], w, (1,), "VALID", feature_group_count=2)
    np.testing.assert_array_equal(out[0, :, 0], [6, 50])


def test_in_batch_groups_each_part_of_the_kernels_sees_a_part_of_the_batch():
    x, w = np.ones((2, 1, 1), np.float32), np.array([3, 5], np.float32).reshape(2, 1, 1)
    out = lax.conv_general_dilated(x * [[[2]], [[10]]], w, (1,), "VALID", batch_group_count=2)
    np.testing.assert_array_equal(out[0, :, 0], [6, 50])


def test_conv_transpose_with_a_transposed_kernel_is_the_gradient_of_a_convolution():
    image, kernel = np.ones((1, 7, 6, 2), np.float32), np.ones((3, 2, 2, 4), np.float32)
    layout = ("NHWC", "HWIO", "NHWC")

    def smaller(x):
        return lax.conv_general_dilated(x, kernel, (2, 1), "VALID", dimension_numbers=layout)

    small, pull_back = jax.vjp(smaller, image)
    ct = jnp.arange(1.0 * small.size).reshape(small.shape)
    larger = lax.conv_transpose(ct, kernel, (2, 1), "VALID", transpose_kernel=True)
    np.testing.assert_array_equal(larger, pull_back(ct)[0])


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("base", [2, 3])
@pytest.mark.parametrize("spread", [1, 2])
def test_images_with_holes_are_those_with_zeros_in_them(stride, base, spread):
    x, w = np.arange(1.0, 31).reshape(2, 3, 5), np.arange(24.0).reshape(2, 3, 4)

    def convolved(x, base):
        return lax.conv_general_dilated(x, w, (stride,), [(3, 1)], (base,), (spread,))

    spread_out = np.zeros((2, 3, 4 * base + 1))
    spread_out[..., ::base] = x
    expected = convolved(spread_out, 1)
    np.testing.assert_array_equal(convolved(x, base), expected)
    np.testing.assert_array_equal(jax.jit(convolved, static_argnums=1)(x, base), expected)


def test_a_result_of_images_with_holes_may_be_empty():
    x, w = np.ones((2, 3, 2, 5)), np.ones((4, 3, 3, 2))
    assert lax.conv_general_dilated(x, w, (1, 1), [(0, 0)] * 2, (1, 2)).shape == (2, 4, 0, 8)


def test_a_hole_is_not_multiplied():
    kernel = np.array([1, np.inf], np.float32).reshape(1, 1, 2)

    def transposed(x, w):
        return lax.conv_transpose(x, w, (2,), "VALID", dimension_numbers=("NCH", "OIH", "NCH"))

    for f in transposed, jax.jit(transposed):
        out = f(SIGNAL, kernel)
        np.testing.assert_array_equal(out[0, 0], [np.inf, 1, np.inf, 2, np.inf, 3, np.inf, 4])


def test_patches_are_the_elements_of_each_window():
    patches = lax.conv_general_dilated_patches(SIGNAL, (3,), (1,), "VALID")
    np.testing.assert_array_equal(patches[0], [[1, 2], [2, 3], [3, 4]])


def test_a_local_convolution_has_a_kernel_for_each_place():
    kernels = np.array([[1, 10, 100], [0, 0, -1]], np.float32).reshape(1, 2, 3)
    np.testing.assert_array_equal(
        lax.conv_general_dilated_local(SIGNAL, kernels, (1,), "VALID", (2,))[0, 0], [1, 20, 296]
    )


def test_sums_of_16_bit_floats_are_kept_in_32():
    ones = jnp.ones((1, 1, 3000), jnp.float16)
    assert lax.conv(ones, ones, (1,), "VALID") == 3000


def test_a_convolution_of_traced_arrays_checks_its_window_too():
    with pytest.raises(ValueError, match="kernel has a window"):
        jax.jit(lax.conv, static_argnums=(2, 3))(SIGNAL, EDGE[:, :, :0], (1,), "VALID")


@pytest.mark.parametrize("image, stride", [((1, 2, 1), 1), ((1, 2, 0), 1), ((0, 2, 5), 2)])
def test_a_kernel_has_no_gradient_where_nothing_comes_out(image, stride):
    """The image is too small for a window, or there is none."""
    kernel = jnp.ones((3, 2, 2))
    conv = lambda x, w: lax.conv(x, w, (stride,), "VALID")  # noqa: E731
    loss = lambda x, w: jnp.sum(conv(x, w) ** 2)  # noqa: E731
    x = jnp.ones(image)
    assert conv(x, kernel).size == 0
    for grad in (jax.grad(loss, (0, 1)), jax.jit(jax.grad(loss, (0, 1)))):
        for got, of in zip(grad(x, kernel), (x, kernel), strict=True):
            assert (got.shape, got.dtype, np.any(got)) == (of.shape, of.dtype, False)
    second = jax.jacrev(jax.grad(lambda w: loss(x, w)))(kernel)
    assert (second.shape, np.any(second)) == (kernel.shape * 2, False)
