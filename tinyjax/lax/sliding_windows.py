"""Windows that slide over an array: their number and their elements.

*Dilated* means with holes between the elements, `dilation - 1` of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tinyjax.core.bind import impl_rules
from tinyjax.lax import slicing


def padtype_to_pads(
    in_shape: Sequence[int],
    window_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: str,
) -> list[tuple[int, int]]:
    """The (low, high) padding of each axis that 'VALID', 'SAME' or 'SAME_LOWER' stands for.

    'VALID' has none; with the others there are ceil(size / stride) windows, and an odd element of
    padding goes to the end, or to the start. Raises RuntimeError for another word."""
    word = padding.upper()
    if word not in ("VALID", "SAME", "SAME_LOWER"):
        raise RuntimeError(f"padding must be 'VALID', 'SAME' or 'SAME_LOWER', got {padding!r}")
    if word == "VALID":
        return [(0, 0)] * len(in_shape)
    pads = []
    for size, window, stride in zip(in_shape, window_shape, window_strides):
        total = max((-(-size // stride) - 1) * stride + window - size, 0)
        low = total // 2 if word == "SAME" else total - total // 2
        pads.append((low, total - low))
    return pads


def dilated(size: int, dilation: int) -> int:
    """The extent of `size` elements with holes between them."""
    return 0 if size == 0 else (size - 1) * dilation + 1


def reduce_window_shape_tuple(
    operand_shape: Sequence[int],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> tuple[int, ...]:
    """How many windows there are along each axis."""
    ones = (1,) * len(operand_shape)
    sizes = []
    for size, window, stride, (low, high), base, spread in zip(
        operand_shape,
        window_dimensions,
        window_strides,
        padding,
        base_dilation or ones,
        window_dilation or ones,
    ):
        room = dilated(size, base) + low + high - dilated(window, spread)
        sizes.append(max(room // stride + 1, 0) if window else 0)
    return tuple(sizes)


def window_elements(
    x: np.ndarray, fill: Any, *, window_dimensions: Sequence[int], window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]], base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Iterator[np.ndarray]:  # fmt: skip
    """For each place in a window: the element there of all windows, `fill` where there is none."""
    ones = (1,) * x.ndim
    config = [(low, high, base - 1) for (low, high), base in zip(padding, base_dilation or ones)]
    padded = impl_rules[slicing.pad_p](x, np.asarray(fill, x.dtype), padding_config=config)
    for place in window_places(padded.shape, window_dimensions, window_strides, window_dilation):
        yield padded[place]


def window_places(
    shape: Sequence[int],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    window_dilation: Sequence[int] | None = None,
) -> Iterator[tuple[slice, ...]]:
    """For each place in a window: its index in an array of this shape, for all windows."""
    ones = (1,) * len(shape)
    no_padding = ((0, 0),) * len(shape)
    counts = reduce_window_shape_tuple(
        shape, window_dimensions, window_strides, no_padding, ones, window_dilation
    )
    for place in np.ndindex(*window_dimensions):
        starts = [i * spread for i, spread in zip(place, window_dilation or ones)]
        yield tuple(
            slice(start, start + (count - 1) * stride + 1 if count else start, stride)
            for start, count, stride in zip(starts, counts, window_strides)
        )


def check_windows(
    name: str, ndim: int, *, window_dimensions: Sequence[int], window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]], base_dilation: Sequence[int] = (),
    window_dilation: Sequence[int] = (),
) -> None:  # fmt: skip
    given = {
        "window_dimensions": window_dimensions,
        "window_strides": window_strides,
        "padding": padding,
        "base_dilation": base_dilation or (1,) * ndim,
        "window_dilation": window_dilation or (1,) * ndim,
    }
    for what, value in given.items():
        if len(value) != ndim:
            raise TypeError(
                f"{name}: {what} {tuple(value)} has {len(value)} entries, the operand has {ndim} axes. "
                "Give one for each"
            )
        if what == "padding":
            continue
        if not all(isinstance(size, (int, np.integer)) for size in value):
            raise TypeError(f"{name}: {what} {tuple(value)} must be integers")
        least = 0 if what == "window_dimensions" else 1
        if any(int(size) < least for size in value):  # type: ignore[call-overload]
            raise TypeError(
                f"{name}: {what} {tuple(value)} must be at least {least} along each axis"
            )


def with_batch_axis(params: dict[str, Any]) -> dict[str, Any]:
    """The windows' parameters with a first axis that they do not extend along."""
    new = {name: (1, *value) for name, value in params.items() if name != "padding"}
    return new | {"padding": ((0, 0), *params["padding"])}


WINDOW_PARAMS = (
    "window_dimensions", "window_strides", "padding", "base_dilation", "window_dilation"
)  # fmt: skip


def batched_windows(params: dict[str, Any]) -> dict[str, Any]:
    return params | with_batch_axis({n: params[n] for n in WINDOW_PARAMS if n in params})
