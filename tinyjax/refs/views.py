"""Parts of Refs: `part = ref.at[1:3]` is read and written like a Ref, `part[0] = x`.

A part has the Ref and an index into it. An index into the part is composed with that index.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinyjax.core.avals import get_aval
from tinyjax.core.primitives import shape_of
from tinyjax.numpy.at import IndexUpdateHelper
from tinyjax.refs.indices import OPERAND, Slice, parse_index, slice_shape
from tinyjax.refs.ref import Ref, get, swap
from tinyjax.refs.types import AbstractRef

Item = Any  # an int, an array of integers or a Slice, for an axis


class RefView:
    """A part of a Ref: `items` are the index, one for each axis of the Ref."""

    __slots__ = ("ref", "items")

    def __init__(self, ref: Any, items: Sequence[Item]):
        self.ref, self.items = ref, tuple(items)

    dtype = property(lambda self: self.ref.dtype)
    ndim = property(lambda self: len(self.shape))

    @property
    def shape(self) -> tuple[int, ...]:
        indexer, operands = parse_index(self.items, self.ref.shape)
        return slice_shape(indexer, list(map(get_aval, operands)), self.ref.shape)

    @property
    def at(self) -> _At:
        return _At(self)

    def __getitem__(self, index: Any) -> Any:
        return get(self.ref, self.at[index].items)

    def __setitem__(self, index: Any, value: Any) -> None:
        swap(self.ref, self.at[index].items, value)

    def get(self) -> Any:
        return self[...]

    def set(self, value: Any) -> None:
        self[...] = value

    def swap(self, value: Any) -> Any:
        """Write, and return the old value."""
        return swap(self.ref, self.items, value)

    def __repr__(self) -> str:
        return f"RefView({self.ref!r}, {self.items})"


class _At:
    """The type of `part.at`, to be indexed."""

    def __init__(self, view: RefView):
        self.view = view

    def __getitem__(self, index: Any) -> RefView:
        outer = self.view.items
        if any(not isinstance(item, Slice) and shape_of(item) for item in outer):
            if index is Ellipsis:
                return self.view
            raise NotImplementedError("ref.at[array].at[index]: index the Ref once, by both")
        inner = iter(_items(index, self.view.shape))
        items = [_within(item, next(inner)) if isinstance(item, Slice) else item for item in outer]
        return RefView(self.view.ref, items)


def view(ref: Any, index: Any) -> RefView:
    """ref.at[index]. Raises like ref[index]."""
    return RefView(ref, _items(index, ref.shape))


def _items(index: Any, shape: tuple[int, ...]) -> list[Item]:
    """The index with an item for each axis."""
    indexer, operands = parse_index(index, shape)
    if not indexer:
        return [Slice(0, size) for size in shape]
    values = iter(operands)

    def item(entry: Any) -> Item:
        if entry == OPERAND:
            return next(values)
        if isinstance(entry, Slice) and entry.start == OPERAND:
            return Slice(next(values), entry.size, entry.stride)
        return entry

    return list(map(item, indexer))


def _within(outer: Slice, inner: Item) -> Item:
    """The item for the elements that `inner` selects from those of `outer`."""
    if isinstance(inner, Slice):
        start = outer.start + inner.start * outer.stride
        return Slice(start, inner.size, inner.stride * outer.stride)
    if isinstance(inner, int) and inner < 0:
        inner += outer.size
    return outer.start + inner * outer.stride


AbstractRef.view = staticmethod(view)
Ref.at = property(IndexUpdateHelper)  # type: ignore[attr-defined]
