"""The functions that convolve: conv_general_dilated, and conv, conv_transpose, ... on top of it.

A transposed convolution puts holes between the elements of a small image to make a larger one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinyjax.core import dtypes
from tinyjax.core.array import Array
from tinyjax.core.primitives import shape_of
from tinyjax.lax import shape as shapes
from tinyjax.lax.convolution import check_window, conv_general_dilated_p
from tinyjax.lax.convolution_dims import conv_dimension_numbers, transposed_pads
from tinyjax.lax.creation import unit_matrix
from tinyjax.lax.dot_product import dot_general
from tinyjax.lax.placing import place_params
from tinyjax.lax.precision import canonicalize_precision
from tinyjax.lax.sliding_windows import dilated, padtype_to_pads


def conv_general_dilated(
    lhs: Any, rhs: Any, window_strides: Sequence[int], padding: str | Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int] | None = None, rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None, feature_group_count: int = 1, batch_group_count: int = 1,
    precision: Any = None, preferred_element_type: Any = None, out_sharding: Any = None,
) -> Array:  # fmt: skip
    """The convolution of images `lhs` with kernels `rhs`, over any number of spatial axes.

    Element (n, o, p) is the sum over c and k of lhs[n, c, p * stride + k * rhs_dilation] * rhs[o, c, k],
    of the images with `lhs_dilation - 1` holes between the elements and padded: by (low, high) an axis,
    or as 'VALID', 'SAME' and 'SAME_LOWER' specify (see padtype_to_pads). `dimension_numbers` is the layout
    of the axes (see conv_dimension_numbers). With `feature_group_count`, the features are in that many
    groups, and each part of the kernels sees one of them; with `batch_group_count`, one part of the batch.
    Both sides are of one dtype, in which sums are kept, or in a wider `preferred_element_type`.
    `out_sharding` splits the result over devices.
    Raises TypeError and ValueError for parameters that fit neither each other nor the shapes."""
    dims = conv_dimension_numbers(shape_of(lhs), shape_of(rhs), dimension_numbers)
    window = [shape_of(rhs)[axis] for axis in dims.rhs_spec[2:]]
    ones = (1,) * len(window)
    spread = tuple(rhs_dilation or ones)
    check_window(window, window_strides=window_strides, rhs_dilation=spread)
    if isinstance(padding, str):
        if any(d != 1 for d in lhs_dilation or ()):
            raise ValueError(
                f"padding {padding!r} is not defined for dilated images (lhs_dilation "
                f"{tuple(lhs_dilation or ())}). Give a pair (low, high) for each axis, or use "
                "lax.conv_transpose, which has string padding"
            )
        spatial = [shape_of(lhs)[axis] for axis in dims.lhs_spec[2:]]
        extents = [dilated(size, d) for size, d in zip(window, spread)]
        padding = padtype_to_pads(spatial, extents, window_strides, padding)
    preferred = preferred_element_type
    return conv_general_dilated_p.bind(
        lhs,
        rhs,
        window_strides=tuple(window_strides),
        padding=_pairs(padding),
        lhs_dilation=tuple(lhs_dilation or ones),
        rhs_dilation=spread,
        dimension_numbers=dims,
        feature_group_count=feature_group_count,
        batch_group_count=batch_group_count,
        precision=canonicalize_precision(precision),
        preferred_element_type=None if preferred is None else dtypes.canonicalize_dtype(preferred),
        **place_params("conv_general_dilated", out_sharding),
    )


def _pairs(padding: Any) -> tuple[tuple[int, int], ...]:
    try:
        return tuple((int(low), int(high)) for low, high in padding)
    except TypeError:
        raise ValueError(
            "padding argument to conv_general_dilated should be a string or a sequence of (low, high) "
            f"pairs, got {padding}"
        ) from None


def conv(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: str,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Array:
    """conv_general_dilated of (batch, feature, *spatial) by (output, input, *spatial)."""
    return conv_with_general_padding(
        lhs, rhs, window_strides, padding, None, None, precision, preferred_element_type
    )


def conv_with_general_padding(
    lhs: Any, rhs: Any, window_strides: Sequence[int], padding: str | Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int] | None, rhs_dilation: Sequence[int] | None, precision: Any = None,
    preferred_element_type: Any = None,
) -> Array:  # fmt: skip
    """The same with a (low, high) padding for each axis, and dilations."""
    options = {"precision": precision, "preferred_element_type": preferred_element_type}
    return conv_general_dilated(
        lhs, rhs, window_strides, padding, lhs_dilation, rhs_dilation, **options
    )


# ---- transposed ----

_LAYOUTS = {
    2: ("NC", "IO", "NC"),
    3: ("NHC", "HIO", "NHC"),
    4: ("NHWC", "HWIO", "NHWC"),
    5: ("NHWDC", "HWDIO", "NHWDC"),
}


def conv_transpose(
    lhs: Any, rhs: Any, strides: Sequence[int], padding: str | Sequence[tuple[int, int]],
    rhs_dilation: Sequence[int] | None = None, dimension_numbers: Any = None,
    transpose_kernel: bool = False, precision: Any = None, preferred_element_type: Any = None,
    use_consistent_padding: bool = False,
) -> Array:  # fmt: skip
    """A convolution that makes `strides` times as many elements: the image is spread, with holes.

    With padding 'SAME' or 'VALID' the shapes are those that a convolution of this stride and padding
    makes the image from. Pairs (low, high) pad the spread image; with `use_consistent_padding` they pad
    that forward convolution instead. `transpose_kernel` turns the kernel round and swaps its inputs and
    outputs, so that the result is the gradient of that convolution, as in TensorFlow and Keras.
    `dimension_numbers` are by default ('NHWC', 'HWIO', 'NHWC'), with as many spatial axes as there are.
    Raises what conv_general_dilated raises; ValueError for another word than 'SAME' and 'VALID'."""
    ndim = len(shape_of(lhs))
    if dimension_numbers is None:
        if ndim not in _LAYOUTS:
            raise ValueError(
                f"conv_transpose: images of {ndim} axes have no default dimension_numbers, say which "
                "axis is what"
            )
        dimension_numbers = _LAYOUTS[ndim]
    dims = conv_dimension_numbers(shape_of(lhs), shape_of(rhs), dimension_numbers)
    window_axes = dims.rhs_spec[2:]
    spread = rhs_dilation or (1,) * len(window_axes)
    check_window(window_axes, strides=strides, rhs_dilation=spread)
    window = [dilated(shape_of(rhs)[axis], d) for axis, d in zip(window_axes, spread)]
    if isinstance(padding, str):
        padding = transposed_pads(window, strides, padding)
    elif use_consistent_padding:
        padding = [(size - 1 - low, size - 1 - high) for size, (low, high) in zip(window, padding)]
    if transpose_kernel:
        for axis in window_axes:
            rhs = shapes.rev(rhs, (axis,))
        axes = list(range(ndim))
        outputs, inputs = dims.rhs_spec[:2]
        axes[outputs], axes[inputs] = inputs, outputs
        rhs = shapes.transpose(rhs, axes)
    options = {"precision": precision, "preferred_element_type": preferred_element_type}
    steps = (1,) * len(window)
    return conv_general_dilated(lhs, rhs, steps, padding, strides, spread, dims, **options)


# ---- the windows themselves ----


def conv_general_dilated_patches(
    lhs: Any, filter_shape: Sequence[int], window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]], lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None, dimension_numbers: Any = None, precision: Any = None,
    preferred_element_type: Any = None,
) -> Array:  # fmt: skip
    """The elements of each window of `filter_shape`, as the features at the window's position.

    The result has size(feature) * prod(filter_shape) features: all places in the window of the first
    feature, then those of the second, ... It is a convolution by a kernel of zeros and ones. Parameters
    and errors are those of conv_general_dilated; `dimension_numbers` gives the layout of rhs second."""
    filter_shape = tuple(filter_shape)
    dims = conv_dimension_numbers(shape_of(lhs), (1, 1, *filter_shape), dimension_numbers)
    features = shape_of(lhs)[dims.lhs_spec[1]]
    count = math.prod(filter_shape)
    unit = unit_matrix(count, dtypes.dtype(lhs))
    kernel = shapes.broadcast_in_dim(unit, (features, count, count), (1, 2))
    kernel = shapes.reshape(kernel, (features * count, 1, *filter_shape))
    kernel = shapes.transpose(kernel, np.argsort(dims.rhs_spec).tolist())
    options = {"precision": precision, "preferred_element_type": preferred_element_type}
    where = (window_strides, padding, lhs_dilation, rhs_dilation, dims)
    return conv_general_dilated(lhs, kernel, *where, features, **options)


def conv_general_dilated_local(
    lhs: Any, rhs: Any, window_strides: Sequence[int], padding: str | Sequence[tuple[int, int]],
    filter_shape: Sequence[int], lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None, dimension_numbers: Any = None, precision: Any = None,
) -> Array:  # fmt: skip
    """A convolution with a separate kernel at each position of the result.

    The window's shape is `filter_shape`; `rhs` has (outputs, inputs * prod(filter_shape), *positions of the
    result), in the layout of `dimension_numbers`. Other parameters and errors are those of
    conv_general_dilated."""
    dims = conv_dimension_numbers(shape_of(lhs), shape_of(rhs), dimension_numbers)
    where = (window_strides, padding, lhs_dilation, rhs_dilation)
    like_images = dims._replace(out_spec=dims.lhs_spec)
    patches = conv_general_dilated_patches(lhs, filter_shape, *where, like_images, precision)
    summed = ((dims.lhs_spec[1],), (dims.rhs_spec[1],))
    at_places = (dims.lhs_spec[2:], dims.rhs_spec[2:])
    out = dot_general(patches, rhs, (summed, at_places), precision)
    # dot_general gives (*places, batch, outputs).
    count = len(dims.lhs_spec) - 2
    order = (count, count + 1, *range(count))
    return shapes.transpose(out, [order[dims.out_spec.index(axis)] for axis in range(count + 2)])
