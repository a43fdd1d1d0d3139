"""A convolution as one product of matrices.

After this file you can say what makes convolutions fast: the elements that each place of the kernel
meets are copied beside each other, a row for each element of the result (*im2col*), and one product
with the kernel does the rest. Builds on NumPy alone.

Source: Chellapilla, Puri and Simard (2006), "High Performance Convolutional Neural Networks for
Document Processing"
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinyjax import dtypes
from tinyjax.core import impl_rules
from tinyjax.lax import slicing
from tinyjax.lax.sliding_windows import dilated, reduce_window_shape_tuple


def convolve(
    lhs: np.ndarray,
    rhs: np.ndarray,
    *,
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int],
    rhs_dilation: Sequence[int],
    dimension_numbers: Any,
    feature_group_count: int,
    batch_group_count: int,
    preferred_element_type: Any,
    **_: Any,
) -> np.ndarray:
    """The impl rule of conv_general_dilated."""
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    out_dtype = preferred_element_type or lhs.dtype
    dtype = sum_dtype(out_dtype)
    images = lhs.transpose(lhs_spec).astype(dtype, copy=False)
    kernels = rhs.transpose(rhs_spec).astype(dtype, copy=False)
    images = padded(images, padding, lhs_dilation)
    windows = windows_of(images, kernels.shape[2:], window_strides, rhs_dilation)
    out = product(windows, kernels, feature_group_count, batch_group_count)
    return out.transpose(np.argsort(out_spec)).astype(out_dtype, copy=False)


def sum_dtype(dtype: np.dtype) -> np.dtype:
    """Sums of 16-bit floats are kept in 32 bits."""
    is_half = dtypes.is_float(dtype) and dtype.itemsize <= 2
    return np.dtype(np.float32) if is_half else dtype


def padded(
    images: np.ndarray, padding: Sequence[tuple[int, int]], dilation: Sequence[int]
) -> np.ndarray:
    """(batch, feature, *spatial) with zeros between the elements and around them."""
    config = [(0, 0, 0), (0, 0, 0)]
    config += [(low, high, d - 1) for (low, high), d in zip(padding, dilation)]
    if not any(any(entry) for entry in config):
        return images
    return impl_rules[slicing.pad_p](images, images.dtype.type(0), padding_config=config)


def windows_of(
    images: np.ndarray, window: Sequence[int], strides: Sequence[int], dilation: Sequence[int]
) -> np.ndarray:
    """A view (batch, feature, *places, *window): which element each place of the kernel meets."""
    spatial, steps = images.shape[2:], images.strides[2:]
    extents = [dilated(size, d) for size, d in zip(window, dilation)]
    places = reduce_window_shape_tuple(spatial, extents, strides, [(0, 0)] * len(spatial))
    return np.lib.stride_tricks.as_strided(
        images,
        (*images.shape[:2], *places, *window),
        (
            *images.strides[:2],
            *(step * stride for step, stride in zip(steps, strides)),
            *(step * d for step, d in zip(steps, dilation)),
        ),
        writeable=False,
    )


def product(
    windows: np.ndarray, kernels: np.ndarray, feature_groups: int, batch_groups: int
) -> np.ndarray:
    """(batch, feature, *places): for each group, (batch and places, feature and window) by
    (feature and window, output)."""
    groups = feature_groups * batch_groups  # one of them is 1
    batch, features, *rest = windows.shape
    count = len(rest) // 2
    places, window = rest[:count], rest[count:]
    place_axes = range(3, 3 + count)
    window_axes = range(3 + count, 3 + 2 * count)
    if batch_groups > 1:
        windows = windows.reshape(groups, batch // groups, features, *rest)
    else:
        windows = windows.reshape(batch, groups, features // groups, *rest).swapaxes(0, 1)
    batch, features = windows.shape[1:3]
    summed = features * math.prod(window)
    rows = windows.transpose(0, 1, *place_axes, *window_axes, 2)
    rows = rows.reshape(groups, batch * math.prod(places), summed)
    outputs = kernels.shape[0] // groups
    columns = kernels.reshape(groups, outputs, features, *window)
    columns = columns.transpose(0, *range(3, 3 + count), 2, 1).reshape(groups, summed, outputs)
    out = np.matmul(rows, columns).reshape(groups, batch, *places, outputs)
    # (groups, batch, *places, outputs) -> (batch, groups and outputs, *places)
    out = np.moveaxis(np.moveaxis(out, 0, 1), -1, 2)
    return out.reshape(batch, groups * outputs, *places)
