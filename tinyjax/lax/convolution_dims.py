"""Which axis is what in a convolution, and how large the result is.

("NHWC", "HWIO", "NHWC") says that images are (batch, height, width, channels), kernels (height, width,
inputs, outputs), and the result has the images' layout.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Union

import numpy as np

from tinyjax.lax.sliding_windows import dilated, padtype_to_pads, reduce_window_shape_tuple


class ConvDimensionNumbers(NamedTuple):
    """The axes of images, kernels and results by their roles; those of the window come last.

    - lhs_spec: (batch, feature, *spatial), the axes of the left side
    - rhs_spec: (output feature, input feature, *spatial), the axes of the right side, the kernel
    - out_spec: (batch, feature, *spatial), the axes of the result"""

    lhs_spec: Sequence[int]
    rhs_spec: Sequence[int]
    out_spec: Sequence[int]


ConvGeneralDilatedDimensionNumbers = Union[None, ConvDimensionNumbers, tuple[str, str, str]]  # noqa: UP007

_ROLES = (("N", "C"), ("O", "I"), ("N", "C"))  # required letters of the three layouts


def conv_dimension_numbers(
    lhs_shape: Sequence[int], rhs_shape: Sequence[int], dimension_numbers: Any
) -> ConvDimensionNumbers:
    """ConvDimensionNumbers from three layouts such as ("NHWC", "HWIO", "NHWC"), or from None.

    N is the batch, C the features, O and I the kernel's output and input features; every other letter is
    an axis of the window. None is (batch, feature, *spatial) and (output, input, *spatial). Raises
    TypeError for layouts that do not fit the shapes."""
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return dimension_numbers
    ndim = len(lhs_shape)
    if ndim != len(rhs_shape):
        raise TypeError(
            f"convolution requires lhs and rhs ndim to be equal, got {ndim} and {len(rhs_shape)}. "
            "Images without batch or channel axis need one of size 1"
        )
    if ndim < 2:
        raise IndexError(
            f"convolution requires a batch and a feature axis, but lhs has {ndim} axes"
        )
    if dimension_numbers is None:
        return ConvDimensionNumbers(*[tuple(range(ndim))] * 3)
    if not isinstance(dimension_numbers, (tuple, list)):
        raise TypeError(
            "convolution dimension_numbers must be a tuple of three layouts or None, got "
            f"{dimension_numbers}"
        )
    if len(dimension_numbers) != 3:
        raise TypeError(
            "convolution dimension_numbers must have length 3 (for images, kernels and results), got "
            f"{len(dimension_numbers)}"
        )
    if not all(isinstance(layout, str) for layout in dimension_numbers):
        kinds = ", ".join(type(layout).__name__ for layout in dimension_numbers)
        raise TypeError(f"convolution dimension_numbers elements must be strings, got {kinds}")
    for i, layout in enumerate(dimension_numbers):
        if len(layout) != ndim:
            raise TypeError(
                f"convolution dimension_numbers[{i}], {layout!r}, must have a letter for each axis of "
                f"lhs and rhs, whose shapes are {tuple(lhs_shape)} and {tuple(rhs_shape)}"
            )
    return ConvDimensionNumbers(*conv_general_permutations(dimension_numbers))


def conv_general_permutations(
    dimension_numbers: Sequence[str],
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """The three specs of ConvDimensionNumbers; axes of the window in the order that the kernel has.

    Raises TypeError for layouts with a letter missing, or twice."""
    for i, (layout, (first, second)) in enumerate(zip(dimension_numbers, _ROLES)):
        if len(set(layout)) != len(layout):
            raise TypeError(
                f"convolution dimension_numbers[{i}] cannot have duplicate letters, got {layout!r}"
            )
        if first not in layout or second not in layout:
            raise TypeError(
                f"convolution dimension_numbers[{i}] must contain {first!r} and {second!r} once each, "
                f"got {layout!r}"
            )
    window = [letter for letter in dimension_numbers[1] if letter not in "OI"]
    for i, (layout, roles) in enumerate(zip(dimension_numbers, _ROLES)):
        if set(layout) != {*roles, *window}:
            raise TypeError(
                "convolution dimension_numbers must have the same letters for the window, but "
                f"dimension_numbers[{i}] is {layout!r} and the kernel's are {window}"
            )
    lhs, rhs, out = (
        tuple(layout.index(letter) for letter in (*roles, *window))
        for layout, roles in zip(dimension_numbers, _ROLES)
    )
    return lhs, rhs, out


# ---- sizes ----


def conv_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    strides: Sequence[int],
    pads: str | Sequence[tuple[int, int]],
    batch_group_count: int = 1,
) -> tuple[int, ...]:
    """The shape (batch, feature, *spatial) of a convolution of (batch, feature, *spatial) by
    (output, input, *spatial). Raises TypeError for another number of pads than of spatial axes."""
    if isinstance(pads, str):
        pads = padtype_to_pads(lhs_shape[2:], rhs_shape[2:], strides, pads)
    if len(pads) != len(lhs_shape) - 2:
        raise TypeError(
            f"Wrong number of explicit pads for convolution: expected {len(lhs_shape) - 2}, got "
            f"{len(pads)}."
        )
    windows = reduce_window_shape_tuple(lhs_shape[2:], rhs_shape[2:], strides, pads)
    return (lhs_shape[0] // batch_group_count, rhs_shape[0], *windows)


def conv_general_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    dimension_numbers: Sequence[str],
) -> tuple[int, ...]:
    """The shape of a convolution with these layouts."""
    lhs, rhs, out = conv_general_permutations(dimension_numbers)
    shape = conv_shape_tuple(
        np.take(lhs_shape, lhs).tolist(), np.take(rhs_shape, rhs).tolist(), window_strides, padding
    )
    return in_layout(shape, out)


def conv_transpose_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    dimension_numbers: Sequence[str],
) -> tuple[int, ...]:
    """The shape of a transposed convolution with these layouts."""
    lhs_spec, rhs_spec, out = conv_general_permutations(dimension_numbers)
    lhs, rhs = np.take(lhs_shape, lhs_spec).tolist(), np.take(rhs_shape, rhs_spec).tolist()
    if isinstance(padding, str):
        padding = transposed_pads(rhs[2:], window_strides, padding)
    spread = [dilated(size, stride) for size, stride in zip(lhs[2:], window_strides)]
    shape = conv_shape_tuple([*lhs[:2], *spread], rhs, (1,) * len(spread), padding)
    return in_layout(shape, out)


def in_layout(values: Sequence[Any], spec: Sequence[int]) -> tuple[Any, ...]:
    """Reorders entries for (batch, feature, *spatial), such as sizes, to the order of a spec's axes."""
    placed = dict(zip(spec, values))
    return tuple(placed[axis] for axis in range(len(spec)))


MAX_PHASES = 16  # of a result: each convolution takes long to compile


class Phases(NamedTuple):
    """A convolution of images with holes along an axis as several of the images alone, one for each *phase*
    of the result: every n-th element, for which the same elements of the kernel fall into holes."""

    kernel_axis: int
    parts: list[range]  # of the kernel's axis, for each phase
    params: list[dict[str, Any]]  # of the convolution by that part
    out_axis: int
    size: int  # this many of the interleaved phases' elements are the result


def phases(
    lhs_shape: Sequence[int], rhs_shape: Sequence[int], params: dict[str, Any]
) -> Phases | None:
    """The phases along the first axis with holes; None if there is none, or there would be too many.

    For result `phase + q * base`, the kernel's element i is at `phase * stride + i * spread - low`, and
    q * stride elements of the images farther: it meets one of them if `base` divides that."""
    number = next((n for n, base in enumerate(params["lhs_dilation"]) if base > 1), None)
    if number is None or math.prod(params["lhs_dilation"]) > MAX_PHASES:
        return None
    names = ("lhs_dilation", "window_strides", "rhs_dilation", "padding")
    base, stride, spread, (low, high) = (params[name][number] for name in names)
    lhs_axis, rhs_axis, out_axis = (spec[2 + number] for spec in params["dimension_numbers"])
    size, window, pads = lhs_shape[lhs_axis], rhs_shape[rhs_axis], (low, high)
    (results,) = reduce_window_shape_tuple([size], [window], [stride], [pads], [base], [spread])
    common = math.gcd(base, spread)
    step, dilation, count = base // common, spread // common, max(1, -(-results // base))
    found = Phases(rhs_axis, [], [], out_axis, results)
    for phase in range(base):
        ahead, rest = divmod(low - phase * stride, common)
        part = range(ahead * pow(dilation, -1, step) % step, 0 if rest else window, step)
        start = (phase * stride + part.start * spread - low) // base
        extent = (count - 1) * stride + max(1, dilated(len(part), dilation))
        new = zip(names, (1, stride, dilation, (-start, start + extent - size)))
        replaced = {n: (*params[n][:number], value, *params[n][number + 1 :]) for n, value in new}
        found.parts.append(part)
        found.params.append(params | replaced)
    return found


def transposed_pads(
    window: Sequence[int], strides: Sequence[int], padding: str
) -> list[tuple[int, int]]:
    """The padding of a transposed convolution, whose input is spread by `strides`. 'SAME' makes n
    elements from ceil(n / stride); 'VALID' makes the largest n from which a 'VALID' convolution makes the
    input's size.

    Raises ValueError for another word."""
    word = padding.upper()
    if word not in ("SAME", "VALID"):
        raise ValueError(f"padding of conv_transpose must be 'SAME' or 'VALID', got {padding!r}")
    pads = []
    for size, stride in zip(window, strides):
        if word == "SAME":
            total = size + stride - 2
            low = size - 1 if stride > size - 1 else (total + 1) // 2
        else:
            total = size + stride - 2 + max(size - stride, 0)
            low = size - 1
        pads.append((low, total - low))
    return pads
