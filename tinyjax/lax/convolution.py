"""Convolutions: one primitive for all of them, conv_general_dilated, with its rules.

The gradients of a convolution are convolutions: by the image, of the cotangent with the kernel turned round;
by the kernel, of the image with the cotangent. Both swap strides and dilations. (As usual in machine
learning, the convolution itself does not turn the kernel round; in mathematics it is a
cross-correlation.)

Sources: https://www.openxla.org/stablehlo/spec#convolution and Dumoulin and Visin (2016), "A guide to
convolution arithmetic for deep learning"
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tinyjax.core import dtypes
from tinyjax.core.array import ShapedArray
from tinyjax.core.avals import get_aval
from tinyjax.core.bind import Primitive, abstract_eval_rules, impl_rules
from tinyjax.core.primitives import shape_of
from tinyjax.lax import shape as shapes
from tinyjax.lax.conversion import convert_type
from tinyjax.lax.convolution_dims import ConvDimensionNumbers, conv_shape_tuple, in_layout
from tinyjax.lax.convolution_product import convolve
from tinyjax.lax.placing import place_of_cotangent, placed
from tinyjax.lax.sliding_windows import dilated
from tinyjax.transform.batching import batch_rules, not_mapped
from tinyjax.transform.transposition import defbilinear

conv_general_dilated_p = Primitive(
    "conv_general_dilated", makes_nan=True, ignored_params=("out_sharding",)
)


# ---- abstract_eval ----


def check_window(window: Sequence[int], **given: Any) -> None:
    """Raises TypeError or ValueError unless each value has a positive integer for each of the axes."""
    for name, values in given.items():
        if not isinstance(values, (Sequence, np.ndarray)) or not all(map(_is_int, values)):
            raise TypeError(
                f"conv_general_dilated: {name} must be a sequence of integers, got {values!r}"
            )
        if len(values) != len(window):
            raise ValueError(
                f"conv_general_dilated: the window has {len(window)} axes, so {name} must have "
                f"{len(window)} entries, but it is {tuple(values)}"
            )
        if min(values, default=1) < 1:
            error = TypeError if "dilation" in name else ValueError
            raise error(f"conv_general_dilated: {name} must be positive, got {tuple(values)}")


def _is_int(x: Any) -> bool:
    return isinstance(x, (int, np.integer))


def _conv_aval(
    lhs: ShapedArray, rhs: ShapedArray, *, window_strides: tuple[int, ...],
    padding: tuple[tuple[int, int], ...], lhs_dilation: tuple[int, ...],
    rhs_dilation: tuple[int, ...], dimension_numbers: ConvDimensionNumbers,
    feature_group_count: int, batch_group_count: int, preferred_element_type: Any,
    out_sharding: Any = None, **_: Any,
) -> ShapedArray:  # fmt: skip
    images = [lhs.shape[axis] for axis in dimension_numbers.lhs_spec]
    kernels = [rhs.shape[axis] for axis in dimension_numbers.rhs_spec]
    window = kernels[2:]
    check_window(
        window, window_strides=window_strides, lhs_dilation=lhs_dilation, rhs_dilation=rhs_dilation
    )
    if min(window, default=1) < 1:
        raise ValueError(f"conv_general_dilated: the kernel has a window of {tuple(window)}")
    _check_groups(images, kernels, feature_group_count, batch_group_count)
    shape = conv_shape_tuple(
        [*images[:2], *_extents(lhs.shape, dimension_numbers.lhs_spec, lhs_dilation)],
        [*kernels[:2], *_extents(rhs.shape, dimension_numbers.rhs_spec, rhs_dilation)],
        window_strides,
        padding,
        batch_group_count,
    )
    dtype = _result_dtype(lhs, rhs, preferred_element_type)
    weak = lhs.weak_type and rhs.weak_type
    aval = ShapedArray(in_layout(shape, dimension_numbers.out_spec), dtype, weak)
    return placed(aval, out_sharding)


def _check_groups(images: Sequence[int], kernels: Sequence[int], features: int, batch: int) -> None:
    """Raises ValueError unless the numbers of groups divide the sizes of the grouped axes."""
    for name, count in (("feature_group_count", features), ("batch_group_count", batch)):
        if count < 1:
            raise ValueError(
                f"conv_general_dilated: {name} must be a positive integer, got {count}"
            )
    if features > 1 and batch > 1:
        raise ValueError(
            "conv_general_dilated: one of feature_group_count and batch_group_count must be 1, got "
            f"{features} and {batch}"
        )
    divided = [
        ("feature_group_count", features, "lhs feature", images[1]),
        ("feature_group_count", features, "rhs output feature", kernels[0]),
        ("batch_group_count", batch, "lhs batch", images[0]),
        ("batch_group_count", batch, "rhs output feature", kernels[0]),
    ]
    for name, count, what, size in divided:
        if size % count:
            raise ValueError(
                f"conv_general_dilated: {name} must divide the {what} dimension size, but {count} does "
                f"not divide {size}"
            )
    if images[1] // features != kernels[1]:
        raise ValueError(
            "conv_general_dilated: lhs feature dimension size divided by feature_group_count must equal "
            f"the rhs input feature dimension size, but {images[1]} // {features} != {kernels[1]}. Does "
            "dimension_numbers say what the axes are?"
        )


# Kind of dtype -> the kinds in which its sums may be kept.
_WIDER = {"b": "biufc", "u": "uif", "i": "if", "f": "f", "c": "c"}


def _result_dtype(lhs: ShapedArray, rhs: ShapedArray, preferred: Any) -> np.dtype:
    shapes.check_same_dtypes("conv_general_dilated", lhs, rhs)
    dtype = lhs.dtype
    if preferred is None or preferred == dtype:
        return dtype
    if dtypes.kind(preferred) not in _WIDER[dtypes.kind(dtype)]:
        raise TypeError(
            f"`preferred_element_type` {preferred.name} cannot hold sums of {dtype.name}: it must be of "
            "the same kind, or float for integers"
        )
    if preferred.itemsize < dtype.itemsize:
        raise TypeError(
            f"`preferred_element_type` {preferred.name} must not be narrower than the arguments' dtype, "
            f"{dtype.name}"
        )
    return preferred


# ---- transpose ----


class _Geometry(NamedTuple):
    """The parameters for the windows' positions and the groups."""

    window_strides: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    lhs_dilation: tuple[int, ...]
    rhs_dilation: tuple[int, ...]
    dimension_numbers: ConvDimensionNumbers
    feature_group_count: int
    batch_group_count: int

    def extents(
        self, lhs: Sequence[int], rhs: Sequence[int], out: Sequence[int]
    ) -> list[list[int]]:
        """The extents of the spatial axes of these shapes, with holes."""
        dilations = (self.lhs_dilation, self.rhs_dilation, self.window_strides)
        return [_extents(*each) for each in zip((lhs, rhs, out), self.dimension_numbers, dilations)]


def _geometry(params: dict[str, Any]) -> _Geometry:
    return _Geometry(*[params[name] for name in _Geometry._fields])


def _transpose_lhs(ct: Any, lhs: Any, rhs: Any, **params: Any) -> Any:
    """Each element of the image gets the cotangents of its windows times the kernel: a convolution with
    the kernel turned round, inputs and outputs swapped."""
    conv = _geometry(params)
    lhs_spec, rhs_spec, out_spec = conv.dimension_numbers
    extents = conv.extents(lhs.aval.shape, shape_of(rhs), shape_of(ct))
    pads = []
    for image, kernel, result, (low, _) in zip(*extents, conv.padding):
        before = kernel - 1 - low
        pads.append((before, image + kernel - 1 - result - before))
    groups = conv.feature_group_count * conv.batch_group_count  # one of them is 1
    if groups > 1:
        rhs = shapes.split_axis(rhs, rhs_spec[0], groups)
        rhs = merge_axes(rhs, rhs_spec[0], rhs_spec[1])
    rhs = shapes.rev(rhs, rhs_spec[2:])
    backward = conv._replace(
        window_strides=conv.lhs_dilation,
        padding=tuple(pads),
        lhs_dilation=conv.window_strides,
        dimension_numbers=ConvDimensionNumbers(out_spec, _swapped(rhs_spec), lhs_spec),
        feature_group_count=groups,
        batch_group_count=1,
    )
    params |= backward._asdict() | _place(lhs.aval, ct, rhs)
    out = conv_general_dilated_p.bind(*_of_one_dtype(ct, rhs), **params)
    if conv.batch_group_count > 1:  # the groups come out as features, and belong to the batch
        out = shapes.split_axis(out, lhs_spec[1], conv.batch_group_count)
        out = merge_axes(out, lhs_spec[1], lhs_spec[0])
    return convert_type(out, lhs.aval.dtype, lhs.aval.weak_type)


def _transpose_rhs(ct: Any, lhs: Any, rhs: Any, **params: Any) -> Any:
    """Each entry of the kernel was multiplied with many elements of the image: its cotangent is the sum
    of the cotangents there, each times its element. So the cotangent is the kernel, and batch and
    features swap their roles."""
    if 0 in shape_of(ct):
        return None  # no cotangent adds anything, and a kernel may not be empty
    conv = _geometry(params)
    lhs_spec, rhs_spec, out_spec = conv.dimension_numbers
    extents = conv.extents(shape_of(lhs), rhs.aval.shape, shape_of(ct))
    pads = [
        (low, result + kernel - 1 - image - low)
        for image, kernel, result, (low, _) in zip(*extents, conv.padding)
    ]
    backward = conv._replace(
        window_strides=conv.rhs_dilation,
        padding=tuple(pads),
        rhs_dilation=conv.window_strides,
        dimension_numbers=ConvDimensionNumbers(*map(_swapped, (lhs_spec, out_spec, rhs_spec))),
        feature_group_count=conv.batch_group_count,
        batch_group_count=conv.feature_group_count,
    )
    params |= backward._asdict() | _place(rhs.aval, ct, lhs)
    out = conv_general_dilated_p.bind(*_of_one_dtype(lhs, ct), **params)
    return convert_type(out, rhs.aval.dtype, rhs.aval.weak_type)


def _place(aval: ShapedArray, *cts: Any) -> dict[str, Any]:
    """The place of a cotangent, if types have one."""
    place = place_of_cotangent(aval, *cts)
    return {} if place is None else {"out_sharding": place}


def _extents(shape: Sequence[int], spec: Sequence[int], dilation: Sequence[int]) -> list[int]:
    """The extents of the spatial axes, with holes."""
    return [dilated(shape[axis], d) for axis, d in zip(spec[2:], dilation)]


def _swapped(spec: Sequence[int]) -> tuple[int, ...]:
    return (spec[1], spec[0], *spec[2:])


def _of_one_dtype(x: Any, y: Any) -> list[Any]:
    """Both sides in the wider of their dtypes: a cotangent may be in the preferred element type."""
    dtype = max(get_aval(x).dtype, get_aval(y).dtype, key=lambda dtype: dtype.itemsize)
    return [v if get_aval(v).dtype == dtype else convert_type(v, dtype) for v in (x, y)]


# ---- batch ----


def _conv_batch(vals: Any, dims: Any, **params: Any) -> Any:
    """For a batch of no examples: an empty array of the right shape."""
    if params.get("out_sharding") is not None:
        raise NotImplementedError(
            "conv_general_dilated with out_sharding under vmap: give it the examples as one batch"
        )
    if shapes.batch_size(vals, dims):
        return _conv_examples(vals, dims, **params)
    avals = [
        get_aval(x).update(shape=shapes.without(shape_of(x), () if dim is not_mapped else (dim,)))
        for x, dim in zip(vals, dims)
    ]
    one = _conv_aval(*avals, **params)
    return shapes.broadcast(one.dtype.type(0), (0, *one.shape)), 0


def _conv_examples(
    vals: Any,
    dims: Any,
    *,
    dimension_numbers: ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
    **params: Any,
) -> Any:
    """More images are a longer batch, more kernels more features. If both are batched, each kernel has its
    own images: they become features, with one more group for each."""
    (lhs, rhs), (lhs_dim, rhs_dim) = vals, dims
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    size = shapes.batch_size(vals, dims)
    groups = feature_group_count * batch_group_count  # one of them is 1

    def bind(lhs: Any, rhs: Any, features: int, batch: int) -> Any:
        counts = {"feature_group_count": features, "batch_group_count": batch}
        return conv_general_dilated_p.bind(
            lhs, rhs, dimension_numbers=dimension_numbers, **counts, **params
        )

    if lhs_dim is not not_mapped and rhs_dim is not not_mapped:
        in_batch = batch_group_count > 1
        lhs = merge_axes(lhs, lhs_dim, lhs_spec[0] if in_batch else lhs_spec[1])
        rhs = merge_axes(rhs, rhs_dim, rhs_spec[0])
        if in_batch:
            out = bind(lhs, rhs, feature_group_count, batch_group_count * size)
        else:
            out = bind(lhs, rhs, feature_group_count * size, batch_group_count)
        return shapes.split_axis(out, out_spec[1], size), out_spec[1]

    if rhs_dim is not_mapped:
        lhs = _merge_in_groups(lhs, lhs_dim, lhs_spec[0], batch_group_count)
        out = bind(lhs, rhs, feature_group_count, batch_group_count)
        return shapes.split_axis(out, out_spec[0], size), out_spec[0]

    rhs = _merge_in_groups(rhs, rhs_dim, rhs_spec[0], groups)
    out = bind(lhs, rhs, feature_group_count, batch_group_count)
    if groups > 1:
        out = shapes.split_axis(out, out_spec[1], groups)
        out = shapes.split_axis(out, out_spec[1] + 1, size)
        return merge_axes(out, out_spec[1], out_spec[1] + 1), out_spec[1]
    return shapes.split_axis(out, out_spec[1], size), out_spec[1]


def _merge_in_groups(x: Any, dim: int, axis: int, groups: int) -> Any:
    """Merges the batch dim into an axis of groups, directly behind the group's index."""
    if groups == 1:
        return merge_axes(x, dim, axis)
    x = shapes.split_axis(x, axis + (dim <= axis), groups)
    dim += dim > axis
    x = merge_axes(x, dim, axis + 1)
    return merge_axes(x, axis, axis)


def merge_axes(x: Any, source: int, destination: int) -> Any:
    """Merges axis `source` into axis `destination`, which is counted without `source`."""
    axes = shapes.insert([i for i in range(len(shape_of(x))) if i != source], destination, source)
    sizes = [shape_of(x)[axis] for axis in axes]
    merged = math.prod(sizes[destination : destination + 2])
    sizes[destination : destination + 2] = [merged]
    return shapes.reshape(x, sizes, None if axes == sorted(axes) else axes)


impl_rules[conv_general_dilated_p] = convolve
abstract_eval_rules[conv_general_dilated_p] = _conv_aval
defbilinear(conv_general_dilated_p, _transpose_lhs, _transpose_rhs)
batch_rules[conv_general_dilated_p] = _conv_batch
