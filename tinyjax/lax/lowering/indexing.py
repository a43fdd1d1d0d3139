"""The lowering rules of primitives that move elements: slices, padding, concatenation, gathers.

Each rule reads its operand at another place, which it computes from the place asked for.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.compile.kernel.indices import Index, index
from tinyjax.compile.kernel.rules import IndexMap, lowering_rules
from tinyjax.compile.kernel.writer import BOOL, Number
from tinyjax.lax.creation import empty2_p, iota_p
from tinyjax.lax.windows import index_dtype


def _iota(ctx: Any, *, dtype: np.dtype, dimension: int, **_: Any) -> Number:
    return ctx.op("convert", ctx.position.coords[dimension], dtype=dtype)


def _rev(ctx: Any, x: Any, *, dimensions: Sequence[int]) -> Number:
    return x.at(
        index(size - 1) - coord if axis in dimensions else coord
        for axis, (coord, size) in enumerate(zip(ctx.position.coords, x.aval.shape))
    )


def _slice(ctx: Any, x: Any, *, start_indices: Any, strides: Any, **_: Any) -> Number:
    strides = strides or (1,) * len(start_indices)
    triples = zip(ctx.position.coords, start_indices, strides)
    return x.at(coord * int(stride) + int(start) for coord, start, stride in triples)


def every(ctx: Any, conditions: Iterable[Number]) -> Number:
    """Whether all of them hold."""
    return functools.reduce(operator.and_, conditions, ctx.constant(True, BOOL))


def one_of(
    ctx: Any, condition: Number, yes: Callable[[], Number], no: Callable[[], Number]
) -> Number:
    """`yes()` if the condition holds, else `no()`. If it is known, only that one is computed."""
    if condition.is_known:
        return yes() if condition.value.value else no()
    return ctx.op("select", condition, yes(), no())


def is_inside(ctx: Any, at: Index | Number, last: int) -> list[Number]:
    """0 <= at, and at <= last."""
    return [ctx.op("ge", at, 0), ctx.op("le", at, last)]


def clip(at: Index, size: int) -> Index:
    """The nearest index inside an axis of that size."""
    return at.max(0).min(size - 1)


def element_or(
    ctx: Any, x: Any, places: Sequence[Index], dilations: Sequence[int], other: Callable[[], Number]
) -> Number:
    """The operand's element at `places`, counted with holes of `dilation - 1` between the elements;
    `other()` in a hole or outside. The read is clipped to the operand, so it is never out of bounds."""
    if not x.aval.size:
        return other()
    coords, conditions = [], list[Number]()
    for at, size, dilation in zip(places, x.aval.shape, dilations):
        last = (size - 1) * dilation
        conditions += is_inside(ctx, at, last)
        at = clip(at, last + 1)
        conditions.append(ctx.op("eq", at % dilation, 0))
        coords.append(at // dilation)
    return one_of(ctx, every(ctx, conditions), lambda: x.at(coords), other)


def _pad(ctx: Any, x: Any, value: Any, *, padding_config: Any) -> Number:
    places = [coord - int(low) for coord, (low, _, _) in zip(ctx.position.coords, padding_config)]
    dilations = [int(interior) + 1 for _, _, interior in padding_config]
    return element_or(ctx, x, places, dilations, lambda: value.at(()))


def _concatenate(ctx: Any, *operands: Any, dimension: int) -> Number:
    """Reads each operand at the nearest place inside it, and selects."""
    coords, start = list(ctx.position.coords), 0
    along = coords[dimension]
    elements = []
    for operand in operands:
        size = operand.aval.shape[dimension]
        if along.lo < start + size and along.hi >= start:
            coords[dimension] = clip(along - start, size)
            elements.append((start, operand.at(coords)))
        start += size
    (_, chosen), *others = elements
    for start, element in others:
        chosen = ctx.op("select", ctx.op("ge", along, start), element, chosen)
    return chosen


def _stack(ctx: Any, *operands: Any, axis: int) -> Number:
    coords = list(ctx.position.coords)
    along = coords.pop(axis)
    chosen = operands[along.lo].at(coords)
    for number, operand in enumerate(operands[along.lo + 1 : along.hi + 1], start=along.lo + 1):
        is_here = ctx.op("ge", along, number)
        chosen = ctx.op("select", is_here, operand.at(coords), chosen)
    return chosen


def _split(ctx: Any, x: Any, *, sizes: Sequence[int], axis: int) -> Number:
    coords = list(ctx.position.coords)
    coords[axis] = coords[axis] + sum(sizes[: ctx.out_number])
    return x.at(coords)


def _unstack(ctx: Any, x: Any, *, axis: int) -> Number:
    coords = list(ctx.position.coords)
    coords.insert(axis, index(ctx.out_number))
    return x.at(coords)


def _dynamic_slice(ctx: Any, x: Any, *starts: Any, slice_sizes: Sequence[int]) -> Number:
    """The window is moved to be inside."""
    return x.at(
        ctx.index(start.at(()), size - slice_size + 1) + coord
        for coord, start, size, slice_size in zip(
            ctx.position.coords, starts, x.aval.shape, slice_sizes
        )
    )


def _gather(
    ctx: Any, x: Any, indices: Any, *, dimension_numbers: Any, slice_sizes: Any, mode: Any,
    fill_value: Any, **_: Any,
) -> Number:  # fmt: skip
    """An element of the window at the index vector, moved to be inside.

    The result's axes are the window's (offset_dims) and those of the indices but the last."""
    numbers, coords = dimension_numbers, ctx.position.coords
    batch = [coord for axis, coord in enumerate(coords) if axis not in numbers.offset_dims]
    window = iter([coords[axis] for axis in numbers.offset_dims])
    places, conditions = [], []
    for axis, (size, slice_size) in enumerate(zip(x.aval.shape, slice_sizes)):
        if axis in numbers.operand_batching_dims:
            paired = numbers.operand_batching_dims.index(axis)
            places.append(batch[numbers.start_indices_batching_dims[paired]])
            continue
        place = index(0)
        if axis in numbers.start_index_map:
            start = indices.at([*batch, index(numbers.start_index_map.index(axis))])
            if mode is lax.GatherScatterMode.FILL_OR_DROP:
                start = start.astype(index_dtype(x.aval.shape))
                conditions += is_inside(ctx, start, size - slice_size)
            place = ctx.index(start, size - slice_size + 1)
        if axis not in numbers.collapsed_slice_dims:
            place = place + next(window)
        places.append(place)
    return one_of(
        ctx,
        every(ctx, conditions),
        lambda: x.at(places),
        lambda: ctx.constant(fill_value, x.aval.dtype),
    )


lowering_rules[iota_p] = IndexMap(_iota)
lowering_rules[empty2_p] = IndexMap(lambda ctx, *, dtype, **_: ctx.constant(0, dtype))
lowering_rules[lax.dynamic_slice_p] = IndexMap(_dynamic_slice)
lowering_rules[lax.gather_p] = IndexMap(_gather)
lowering_rules[lax.squeeze_p] = IndexMap(
    lambda ctx, x, **_: x.at_position(ctx.position.reshaped(x.aval.shape))
)
lowering_rules[lax.rev_p] = IndexMap(_rev)
lowering_rules[lax.tile_p] = IndexMap(
    lambda ctx, x, **_: x.at(i % size for i, size in zip(ctx.position.coords, x.aval.shape))
)
lowering_rules[lax.slice_p] = IndexMap(_slice)
lowering_rules[lax.pad_p] = IndexMap(_pad, joins=True)
lowering_rules[lax.concatenate_p] = IndexMap(_concatenate, joins=True)
lowering_rules[lax.stack_p] = IndexMap(_stack, joins=True)
lowering_rules[lax.split_p] = IndexMap(_split)
lowering_rules[lax.unstack_p] = IndexMap(_unstack)
