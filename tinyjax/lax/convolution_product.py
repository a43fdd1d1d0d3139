"""A convolution as one product of matrices.

The elements of each window are copied beside each other, a row for each element of the result (*im2col*),
and then one product with the kernel suffices. Images with holes are convolved without, for each phase of the
result (convolution_dims.py), or with zeros there if it has many.

Source: Chellapilla, Puri and Simard (2006), "High Performance Convolutional Neural Networks for
Document Processing"
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinyjax.core import dtypes
from tinyjax.core.bind import impl_rules
from tinyjax.lax import slicing
from tinyjax.lax.convolution_dims import phases
from tinyjax.lax.sliding_windows import dilated, reduce_window_shape_tuple


def convolve(lhs: np.ndarray, rhs: np.ndarray, **params: Any) -> np.ndarray:
    """The impl rule of conv_general_dilated."""
    found = phases(lhs.shape, rhs.shape, params)
    if found is None:
        return _convolve(lhs, rhs, **params)
    axis, outs = found.out_axis, list[np.ndarray]()
    for part, of_part in zip(found.parts, found.params):
        chosen = (slice(None),) * found.kernel_axis + (slice(part.start, part.stop, part.step),)
        outs.append(convolve(lhs, rhs[chosen], **of_part))
    shape = list(outs[0].shape)
    shape[axis] *= len(outs)
    interleaved = np.stack(outs, axis + 1).reshape(shape)
    return interleaved[(slice(None),) * axis + (slice(found.size),)]


def _convolve(
    lhs: np.ndarray, rhs: np.ndarray, *, window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]], lhs_dilation: Sequence[int], rhs_dilation: Sequence[int],
    dimension_numbers: Any, feature_group_count: int, batch_group_count: int,
    preferred_element_type: Any, **_: Any,
) -> np.ndarray:  # fmt: skip
    """The convolution as one product."""
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    out_dtype = preferred_element_type or lhs.dtype
    dtype = sum_dtype(out_dtype)
    images = padded(lhs.astype(dtype, copy=False), lhs_spec[2:], padding, lhs_dilation)
    kernels = rhs.astype(dtype, copy=False).transpose(rhs_spec)
    windows = windows_of(
        images.transpose(lhs_spec), kernels.shape[2:], window_strides, rhs_dilation
    )
    out = product(windows, kernels, feature_group_count, batch_group_count)
    return out.transpose(np.argsort(out_spec)).astype(out_dtype, copy=False)


def sum_dtype(dtype: np.dtype) -> np.dtype:
    """Sums of 16-bit floats are kept in 32 bits."""
    is_half = dtypes.is_float(dtype) and dtype.itemsize <= 2
    return np.dtype(np.float32) if is_half else dtype


def padded(
    images: np.ndarray, spatial: Sequence[int], padding: Sequence[tuple[int, int]],
    dilation: Sequence[int],
) -> np.ndarray:  # fmt: skip
    """The images with zeros between the elements of their `spatial` axes, and around them."""
    config = [(0, 0, 0)] * images.ndim
    for axis, (low, high), d in zip(spatial, padding, dilation):
        config[axis] = (low, high, d - 1)
    if not any(any(entry) for entry in config):
        return images
    return impl_rules[slicing.pad_p](images, images.dtype.type(0), padding_config=config)


def windows_of(
    images: np.ndarray, window: Sequence[int], strides: Sequence[int], dilation: Sequence[int]
) -> np.ndarray:
    """A view (batch, feature, *places, *window): the elements of the window at each place."""
    spatial, steps = images.shape[2:], images.strides[2:]
    extents = [max(1, dilated(size, d)) for size, d in zip(window, dilation)]
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
    if batch_groups > 1:
        parts = np.split(windows, batch_groups, axis=0)
    else:
        parts = np.split(windows, feature_groups, axis=1)
    outs = [_matmul(*group) for group in zip(parts, np.split(kernels, len(parts)))]
    return outs[0] if len(outs) == 1 else np.concatenate(outs, axis=1)


def _matmul(windows: np.ndarray, kernels: np.ndarray) -> np.ndarray:
    """(batch, output, *places) from the windows and the kernels of one group.

    Axes are copied in the order that they have in memory, so that runs of elements stay together."""
    count = (windows.ndim - 2) // 2
    rows = _in_memory_order(windows, (0, *range(2, 2 + count)))
    summed = _in_memory_order(windows, (1, *range(2 + count, windows.ndim)))
    sizes = [windows.shape[axis] for axis in rows]
    row_count, sum_count = math.prod(sizes), math.prod(windows.shape[axis] for axis in summed)
    if _shortest_step(windows, summed) < _shortest_step(windows, rows):
        left = windows.transpose(*rows, *summed).reshape(row_count, sum_count)
    else:
        left = windows.transpose(*summed, *rows).reshape(sum_count, row_count).T
    # The kernels' axes are (output, feature, *window).
    order = [1 if axis == 1 else axis - count for axis in summed]
    right = kernels.transpose(*order, 0).reshape(sum_count, len(kernels))
    out = np.matmul(left, right).reshape(*sizes, len(kernels))
    places = [rows.index(axis) for axis in range(2, 2 + count)]
    return out.transpose(rows.index(0), len(rows), *places)


def _in_memory_order(x: np.ndarray, axes: Sequence[int]) -> list[int]:
    """The axes from the one whose elements lie farthest apart to the one whose lie closest."""
    return sorted(axes, key=lambda axis: -abs(x.strides[axis]))


def _shortest_step(x: np.ndarray, axes: Sequence[int]) -> tuple[float, int]:
    """A sort key: the shortest step in memory along these axes; for equal steps, the longer axis comes
    first."""
    steps = [(abs(x.strides[axis]), -x.shape[axis]) for axis in axes if x.shape[axis] > 1]
    return min(steps, default=(math.inf, 0))
