"""Convolutions as a GPU's kernels: each element of the result is a sum over its window."""

import numpy as np
import pytest
from lowering import data, interpreted

from tinyjax import lax
from tinyjax.compile.codegen.codegen import GPU

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
def test_a_gpu_sums_over_each_window(name, dtype):
    image, kernel, params = CONVOLUTIONS[name]
    arrays = [(4 * data(*shape)).astype(dtype) for shape in (image, kernel)]
    (found,), (expected,) = interpreted(
        lambda x, w: lax.conv_general_dilated(x, w, **params), *arrays, target=GPU
    )
    np.testing.assert_allclose(found, expected, rtol=2e-3, atol=1e-4)
