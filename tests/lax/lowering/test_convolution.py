"""Convolutions as kernels: each element of the result is a sum over its window."""

import numpy as np
import pytest
from lowering import aval, data, interpreted, stages

import tinyjax as jax
from tinyjax import lax
from tinyjax.compile.fusion.groups import HostGroup
from tinyjax.compile.target import CPU, GPU

CONVOLUTIONS = {  # of images (batch, feature, rows, columns) by kernels (out, in, rows, columns)
    "beside each other": (
        (2, 3, 4, 5),
        (4, 3, 2, 2),
        {"window_strides": (2, 2), "padding": "VALID"},
    ),
    "in padding": (
        (1, 2, 3, 4),
        (3, 2, 2, 3),
        {"window_strides": (1, 2), "padding": [(2, 1), (0, 3)]},
    ),
    "cut off": (
        (1, 2, 5, 6),
        (3, 2, 2, 1),
        {"window_strides": (1, 1), "padding": [(-1, 1), (0, -2)]},
    ),
    "with gaps": (
        *((2, 2, 4, 5), (3, 2, 2, 2)),
        {
            "window_strides": (1, 1),
            "padding": [(1, 0), (2, 1)],
            "lhs_dilation": (2, 1),
            "rhs_dilation": (1, 3),
        },
    ),
    "groups of features": (
        *((2, 6, 4, 4), (4, 3, 3, 3)),
        {"window_strides": (1, 1), "padding": "SAME", "feature_group_count": 2},
    ),
    "groups of images": (
        *((6, 2, 4, 4), (4, 2, 3, 3)),
        {"window_strides": (1, 1), "padding": "SAME", "batch_group_count": 2},
    ),
    "features last": (
        *((2, 4, 5, 3), (2, 2, 3, 4)),
        {
            "window_strides": (1, 1),
            "padding": "SAME",
            "dimension_numbers": ("NHWC", "HWIO", "NHWC"),
        },
    ),
}


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32"])
@pytest.mark.parametrize("name", CONVOLUTIONS)
@pytest.mark.parametrize("target", [CPU, GPU], ids=lambda target: target.name)
def test_a_kernel_sums_over_each_window(name, dtype, target):
    image, kernel, params = CONVOLUTIONS[name]
    arrays = [(4 * data(*shape)).astype(dtype) for shape in (image, kernel)]
    (found,), (expected,) = interpreted(
        lambda x, w: lax.conv_general_dilated(x, w, **params), *arrays, target=target
    )
    np.testing.assert_allclose(found, expected, rtol=2e-3, atol=1e-4)


# ---- on a CPU: a product that copies no windows ----

LAYOUT = ("NHWC", "HWIO", "NHWC")


def names_of_steps(f, *avals):
    """Of each kernel, those of its equations; "host" for what is none."""
    _, groups, _ = stages(f, *avals)
    return [
        "host" if isinstance(group, HostGroup) else " ".join(e.primitive.name for e in group.eqns)
        for group in groups
    ]


def test_a_cpu_pads_once_and_what_follows_is_in_the_kernel():
    def layer(x, w):
        y = lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=LAYOUT)
        return jax.nn.relu(y)

    found = names_of_steps(layer, aval(32, 14, 14, 32), aval(3, 3, 32, 64))
    assert found == ["pad", "conv_general_dilated max"]


def test_both_gradients_are_products_which_read_the_images_padded_once():
    def loss(x, w):
        y = lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=LAYOUT)
        return jax.numpy.sum(y * y)

    gradients = jax.grad(loss, argnums=(0, 1))
    found = names_of_steps(gradients, aval(4, 14, 14, 8), aval(3, 3, 8, 16))
    assert "host" not in found and len([name for name in found if "pad" in name]) == 2


def test_images_of_several_arrays_are_joined_before():
    def f(x, w):
        return lax.conv(jax.numpy.concatenate([x, x], 1).transpose(0, 1, 3, 2), w, (1, 1), "VALID")

    found = names_of_steps(f, aval(2, 3, 8, 9), aval(8, 6, 3, 3))
    assert [name.split()[-1] for name in found] == ["transpose", "conv_general_dilated"]


@pytest.mark.parametrize("groups", [3, 1])
def test_one_feature_for_each_group_is_a_sum_for_each_element(groups):
    f = lambda x, w: lax.conv_general_dilated(x, w, (1,), "VALID", feature_group_count=groups)  # noqa: E731
    found = names_of_steps(f, aval(2, 3, 9), aval(groups, 3 // groups, 2))
    assert found == ["conv_general_dilated"]


def test_a_kernel_of_which_each_element_is_read_once_is_multiplied_on_the_host():
    f = lambda x, w: lax.conv(x, w, (1, 1), "VALID")  # noqa: E731
    assert names_of_steps(f, aval(1, 3, 4, 4), aval(8, 3, 4, 4)) == ["host"]


@pytest.mark.parametrize("features", [30, 64])
def test_parts_of_a_panel_have_some_of_the_features(features):
    f = lambda x, w: lax.conv(x, w, (1, 1), "SAME")  # noqa: E731
    x, w = data(2, features, 5, 6), data(20, features, 3, 3)
    np.testing.assert_allclose(jax.jit(f)(x, w), f(x, w), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("strides", [(1, 1), (2, 3)])
def test_rows_and_features_that_fill_no_tile(padding, strides):
    def f(x, w):
        return lax.conv_general_dilated(x, w, strides, padding, dimension_numbers=LAYOUT)

    x, w = data(2, 5, 17, 3), data(3, 2, 3, 21)
    np.testing.assert_allclose(jax.jit(f)(x, w), f(x, w), rtol=1e-5, atol=1e-5)
