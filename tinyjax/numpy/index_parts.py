"""The parts of an index such as x[0, 1:, None, mask], in a common form.

Source: https://numpy.org/doc/stable/user/basics.indexing.html
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tinyjax import lax
from tinyjax.core import dtypes
from tinyjax.core.array import Array
from tinyjax.core.bind import Tracer, as_array
from tinyjax.core.errors import why
from tinyjax.core.primitives import shape_of
from tinyjax.core.shape_errors import NonConcreteBooleanIndexError
from tinyjax.numpy.creation import asarray
from tinyjax.numpy.slices import Slice
from tinyjax.numpy.util import INT32, constant, weak_constant_like

# ---- what an index consists of ----

NEW_AXIS, SLICE, ELLIPSIS, INTEGER, BOOLEAN, ARRAY, TRACED_SLICE = range(7)


class IndexPart(NamedTuple):
    """One item of an index, its kind, and the axes of the array that it indexes."""

    index: Any
    kind: int
    axes: tuple[int, ...]


def parse(index: Any, shape: tuple[int, ...]) -> list[IndexPart]:
    """The parts of an index into an array of `shape`.

    Raises IndexError for too many parts or two ellipses, TypeError for a part that is no index."""
    items = as_tuple(index)
    kinds = [_kind(item) for item in items]
    consumed = [_axes_consumed(item, kind) for item, kind in zip(items, kinds)]
    if kinds.count(ELLIPSIS) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    total = sum(consumed)
    if total > len(shape):
        raise IndexError(
            f"Too many indices: array is {len(shape)}-dimensional, but {total} were indexed"
        )
    parts, axis = [], 0
    for item, kind, count in zip(items, kinds, consumed):
        count = len(shape) - total if kind == ELLIPSIS else count
        parts.append(IndexPart(item, kind, tuple(range(axis, axis + count))))
        axis += count
    return parts


def as_tuple(index: Any) -> tuple:
    """An index as a tuple of its parts. Raises TypeError for a list: NumPy's meaning is ambiguous."""
    if isinstance(index, tuple):
        return index
    if isinstance(index, Sequence) and not isinstance(index, str):
        is_part = lambda i: isinstance(i, (Sequence, slice)) or i is Ellipsis or np.ndim(i)  # noqa: E731
        wrap = "tuple" if any(i is None or is_part(i) for i in index) else "array"
        raise TypeError(
            "Using a non-tuple sequence for multidimensional indexing is not allowed; use "
            f"`arr[{wrap}(seq)]` instead of `arr[seq]`, where seq is a {type(index).__name__}. See "
            "https://github.com/jax-ml/jax/issues/4564 for more information."
        )
    return (index,)


def _kind(item: Any) -> int:
    if item is None:
        return NEW_AXIS
    if item is Ellipsis:
        return ELLIPSIS
    if isinstance(item, slice):
        return SLICE
    if isinstance(item, Slice):
        return TRACED_SLICE
    if isinstance(item, (bool, np.bool_)):
        return BOOLEAN
    if isinstance(item, (int, np.integer)):
        return INTEGER
    if isinstance(item, str):
        raise TypeError(f"JAX does not support string indexing; got idx={item!r}")
    if isinstance(item, Sequence):
        if not item:
            return ARRAY
        item = np.asarray(item) if not any(isinstance(i, Array) for i in item) else _stack(item)
    if isinstance(item, (Array, np.ndarray, float, complex, np.generic)):
        dtype = dtypes.dtype(item) if not isinstance(item, Array) else item.dtype
        if dtype == np.bool_:
            return BOOLEAN
        if dtypes.kind(dtype) in "iu" and not isinstance(item, (float, complex)):
            return ARRAY
        raise TypeError(
            f"Indexer must have integer or boolean type, got indexer with type {dtype.name}: convert "
            "it with .astype(int)"
        )
    raise IndexError(
        "only integers, slices (`:`), ellipsis (`...`), newaxis (`None`) and integer or boolean arrays "
        f"are valid indices. Got {item}"
    )


def _axes_consumed(item: Any, kind: int) -> int:
    if kind in (NEW_AXIS, ELLIPSIS):
        return 0
    if kind == BOOLEAN:
        return len(shape_of(item)) if isinstance(item, Array) else np.ndim(item)
    return 1


def _stack(items: Sequence[Any]) -> Any:
    return asarray(items)


def without_ellipsis(parts: list[IndexPart], ndim: int) -> list[IndexPart]:
    """The parts with full slices instead of `...` and missing axes."""
    out: list[IndexPart] = []
    for part in parts:
        if part.kind == ELLIPSIS:
            out += [IndexPart(slice(None), SLICE, (axis,)) for axis in part.axes]
        else:
            out.append(part)
    used = sum(len(part.axes) for part in out)
    return out + [IndexPart(slice(None), SLICE, (axis,)) for axis in range(used, ndim)]


# ---- to a common form ----


def expand_masks(parts: list[IndexPart], shape: tuple[int, ...]) -> list[IndexPart]:
    """The parts with each mask as the arrays of the positions where it holds.

    Raises NonConcreteBooleanIndexError for a traced mask, IndexError if its shape does not fit."""
    out: list[IndexPart] = []
    for position, part in enumerate(parts):
        if part.kind != BOOLEAN or not np.ndim(part.index):
            out.append(part)
            continue
        mask = part.index
        if isinstance(mask, Tracer):
            if mask.concrete() is None:
                raise NonConcreteBooleanIndexError(mask)
            mask = mask.concrete()
        mask = np.asarray(mask)
        expected = tuple(shape[axis] for axis in part.axes)
        if any(n not in (0, m) for n, m in zip(mask.shape, expected)):
            raise IndexError(
                f"boolean index did not match shape of indexed array in index {position}: got "
                f"{mask.shape}, expected {expected}"
            )
        for where, axis in zip(np.nonzero(mask), part.axes):
            out.append(IndexPart(where, ARRAY, (axis,)))
    return out


def sequence_as_array(part: IndexPart) -> IndexPart:
    if not isinstance(part.index, Sequence):
        return part
    if not part.index:
        return part._replace(index=np.zeros(0, INT32))
    return part._replace(index=_stack(part.index))


def count_from_end(part: IndexPart, shape: tuple[int, ...]) -> IndexPart:
    """Negative indices made non-negative."""
    if part.kind not in (INTEGER, ARRAY):
        return part
    (axis,) = part.axes
    index, size = part.index, shape[axis]
    if part.kind == INTEGER:
        index = operator.index(index)
        return part._replace(index=index + size if index < 0 else index)
    if dtypes.kind(index.dtype) == "u":
        return part
    if isinstance(index, np.ndarray):
        negative: Any = index < 0
        index = as_array(index)
    else:
        negative = lax.lt(index, constant(0, index.dtype, index.weak_type))
    wrapped = lax.add(index, weak_constant_like(index, size))
    return part._replace(index=lax.select(negative, wrapped, index))


def expand_scalar_bools(
    parts: list[IndexPart], shape: tuple[int, ...]
) -> tuple[list[IndexPart], tuple[int, ...], tuple[int, ...]]:
    """Expands x[True] and x[False]: a new axis of size 1, from which one or no element is taken."""
    if not any(part.kind == BOOLEAN for part in parts):
        return parts, shape, ()
    new_shape, axes, out, axis = list(shape), [], [], 0
    for part in parts:
        if part.kind == BOOLEAN:
            if isinstance(part.index, Tracer) and part.index.concrete() is None:
                raise NonConcreteBooleanIndexError(part.index)
            new_shape.insert(axis, 1)
            axes.append(axis)
            out.append(IndexPart(np.arange(int(bool(part.index)), dtype=INT32), ARRAY, (axis,)))
            axis += 1
        else:
            count = len(part.axes)
            out.append(part._replace(axes=tuple(range(axis, axis + count))))
            axis += count
    return out, tuple(new_shape), tuple(axes)


def check_slices_are_known(parts: list[IndexPart]) -> None:
    """Raises IndexError for a traced end of a slice, TypeError for one that is a float."""
    for position, part in enumerate(parts):
        if part.kind == SLICE:
            ends = (part.index.start, part.index.stop, part.index.step)
            if any(isinstance(e, Tracer) and e.concrete() is None for e in ends):
                unknown = next(e for e in ends if isinstance(e, Tracer))
                raise IndexError(
                    f"Slice entries must be static integers. Got {part.index} at position {position}."
                    + why(
                        unknown,
                        "A slice of known size may start anywhere: lax.dynamic_slice_in_dim(x, start, size). "
                        "Else keep all elements, and choose: jnp.where(jnp.arange(len(x)) < n, x, 0).",
                    )
                )
            for entry in ends:
                if isinstance(entry, float):
                    raise TypeError(
                        f"slice entries are integers or None, got a float: {part.index} at position "
                        f"{position}"
                    )
