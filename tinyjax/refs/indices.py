"""The elements of a Ref that are read or written: the parsed index of `ref[...]`.

Integers and slices are parameters of the equation, arrays are operands.

Source: https://docs.jax.dev/en/latest/array_refs.html
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tinyjax.core.avals import get_aval
from tinyjax.core.bind import Tracer
from tinyjax.core.dtypes import kind
from tinyjax.core.shape_errors import NonConcreteBooleanIndexError
from tinyjax.numpy.slices import Slice

#: In an indexer, it stands for an operand: an array of positions, or the start of a Slice.
OPERAND = "operand"

# An entry for each axis: an int, a Slice or OPERAND. The empty one is all of the Ref, as in ref[...].
Indexer = tuple[int | Slice | str, ...]


def parse_index(index: Any, shape: tuple[int, ...]) -> tuple[Indexer, list[Any]]:
    """The indexer of ref[index], and its operands, in order.

    Raises ValueError for an index out of range, a backward slice or too many entries, TypeError for an
    invalid index, a `ds` with negative numbers or longer than its axis, NonConcreteBooleanIndexError for a
    mask."""
    items = index if isinstance(index, tuple) else (index,)
    if items == () or index is Ellipsis or index is None:
        return (), []
    ellipses = sum(item is Ellipsis for item in items)
    if ellipses > 1:
        raise ValueError(f"Only one ellipsis is supported. Got {index}")
    if not ellipses:
        items = (*items, Ellipsis)
    if len(items) - 1 > len(shape):
        has_none = any(item is None for item in items)
        advice = ". A Ref takes no None: read it first, as in ref[...][:, None]" if has_none else ""
        raise ValueError(
            f"`indices` must not be longer than `shape`: indices={index}, {shape=}{advice}"
        )
    at = next(i for i, item in enumerate(items) if item is Ellipsis)
    rest = (slice(None),) * (len(shape) - len(items) + 1)
    operands: list[Any] = []
    entries = [
        _entry(item, size, operands)
        for item, size in zip((*items[:at], *rest, *items[at + 1 :]), shape)
    ]
    return tuple(entries), operands


def _entry(item: Any, size: int, operands: list[Any]) -> int | Slice | str:
    """The indexer's entry for one axis; operands are appended."""
    if isinstance(item, slice):
        start, stop, step = item.indices(size)
        if step < 1:
            raise ValueError(f"slice must have a step >= 1 (found: {step})")
        _check_start(start, size)
        return Slice(start, len(range(start, stop, step)), step)
    if isinstance(item, Slice):
        return _slice_entry(item, size, operands)
    item = np.asarray(item, np.int32 if item == [] else None) if type(item) is list else item
    aval = get_aval(item)
    if kind(aval.dtype) == "b" and aval.shape:
        raise NonConcreteBooleanIndexError(item)
    if kind(aval.dtype) not in "iu":
        raise TypeError(
            f"Indexer must have integer or boolean type, got indexer with type {aval.dtype.name}"
        )
    if aval.shape or isinstance(item, Tracer):
        operands.append(item)
        return OPERAND
    number = operator.index(item)
    if not -size <= number < size:
        raise ValueError(f"Out of bound indexer: idx={number}, dim={size}.")
    return number


def _slice_entry(item: Slice, size: int, operands: list[Any]) -> Slice:
    if operator.index(item.size) < 0:
        raise TypeError(f"slice must have a size >= 0, got {item}")
    if isinstance(item.start, Tracer):
        operands.append(item.start)
        return replace(item, start=OPERAND)
    start = operator.index(item.start)
    _check_start(start, size)
    is_past = item.size and start + (item.size - 1) * item.stride >= size
    said = f"start={start}, size={item.size}, stride={item.stride}, dim={size}"
    if is_past:
        raise ValueError(f"Out of bound slice: {said}.")
    if start < 0:
        raise TypeError(f"slice must be within the Ref: {said}")
    return replace(item, start=start)


def _check_start(start: int, size: int) -> None:
    """Checks the start even if the slice has no elements, as in JAX."""
    if start >= size > 0:
        raise ValueError(
            f"Out of bound slice: start={start}, dim={size}. A slice begins at an element, even if it "
            "takes none"
        )


def from_the_end(indexer: Indexer, operands: Sequence[Any], shape: tuple[int, ...]) -> list[Any]:
    """The operands, with a Slice's negative start counted from the end of its axis."""
    taken = [(e, n) for e, n in zip(indexer, shape) if OPERAND in (e, getattr(e, "start", None))]
    return [
        x if entry == OPERAND or kind(x.dtype) == "u" else x + np.int32(size) * (x < 0)
        for (entry, size), x in zip(taken, operands)
    ]


def numpy_index(indexer: Indexer, operands: Sequence[Any]) -> Any:
    """The NumPy index into the array that a Ref holds."""
    values: Iterator[Any] = iter(operands)

    def item(entry: int | Slice | str) -> Any:
        if entry == OPERAND:
            return next(values)
        if isinstance(entry, int):
            return entry
        assert isinstance(entry, Slice)
        if entry.start == OPERAND:
            return Slice(next(values), entry.size, entry.stride)
        return slice(entry.start, entry.start + entry.size * entry.stride, entry.stride)

    return tuple(map(item, indexer)) if indexer else Ellipsis


def slice_shape(indexer: Indexer, operands: Sequence[Any], shape: tuple[int, ...]) -> tuple:
    """The shape of the indexed part; `operands` are avals. As in NumPy, the axes of index arrays are at
    the place of the first array, or in front if a slice separates two arrays."""
    if not indexer:
        return shape
    arrays, position = array_axes(indexer, operands)
    sizes = [entry.size for entry in indexer if isinstance(entry, Slice)]
    return (*sizes[:position], *arrays, *sizes[position:])


def array_axes(indexer: Indexer, operands: Sequence[Any]) -> tuple[tuple[int, ...], int]:
    """The broadcast shape of arrays and integers, and the number of slices' axes before it."""
    values = iter(operands)
    shapes, positions, slices = [], [], 0
    for i, entry in enumerate(indexer):
        if isinstance(entry, Slice):
            slices += 1
            if entry.start == OPERAND:
                next(values)
            continue
        positions.append((i, slices))
        if entry == OPERAND:
            shapes.append(next(values).shape)
    apart = any(b[0] - a[0] > 1 for a, b in zip(positions, positions[1:]))
    try:
        together = np.broadcast_shapes(*shapes)
    except ValueError:
        raise ValueError(f"Cannot broadcast shapes for indexing: {tuple(shapes)}") from None
    return together, 0 if apart or not positions else positions[0][1]


def is_one_slice(indexer: Indexer, operands: Sequence[Any]) -> bool:
    """Whether the elements are those of one dynamic_slice: no arrays, and no steps from a traced start."""
    steps = [e.stride for e in indexer if isinstance(e, Slice) and e.start == OPERAND]
    return array_axes(indexer, operands)[0] == () and set(steps) <= {1}


def index_text(indexer: Indexer, names: Sequence[str], shape: tuple[int, ...]) -> str:
    """The index as jaxprs show it; `names` are those of the operands."""
    given = iter(names)

    def text(entry: int | Slice | str, size: int) -> str:
        if not isinstance(entry, Slice):
            return next(given) if entry == OPERAND else str(entry)
        if entry.start == OPERAND:
            name = next(given)
            return f"{name}:{name}+{entry.size}"
        stop = entry.start + entry.size
        return f"{entry.start or ''}:{'' if stop == size else stop}"

    return ",".join(map(text, indexer, shape)) if indexer else "..."
