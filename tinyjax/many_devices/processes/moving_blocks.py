"""Traced operations from a process's block of an array to the whole array, and back.

Keeping a smaller part costs a slice; getting a larger part costs a message to all processes that have the
rest (`group_all_gather`). This is done axis by axis, since a process's block is a part of each axis.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from tinyjax.core import primitives
from tinyjax.core.array import ArrayImpl
from tinyjax.core.primitives import shape_of
from tinyjax.lax.joining import concatenate
from tinyjax.lax.slicing import slice_in_dim
from tinyjax.many_devices.across_processes import group_all_gather
from tinyjax.many_devices.sharding.blocks import Block, LocalPart, local_parts
from tinyjax.many_devices.sharding.named_sharding import NamedSharding
from tinyjax.many_devices.sharding.partition_spec import PartitionSpec, entry_of, names_of


def spec_of(place: NamedSharding | None, ndim: int) -> list[tuple]:
    """For each axis of an array, the mesh axes that it is split over; with place None, none."""
    entries = [names_of(entry) for entry in place.spec] if place is not None else []
    return entries + [()] * (ndim - len(entries))


def parts_by_name(place: NamedSharding) -> dict[Any, LocalPart]:
    return {part.name: part for part in local_parts(place.mesh)}


def over_processes(names: Sequence[Any], place: NamedSharding) -> list[LocalPart]:
    """The given mesh axes that are spread over several processes."""
    found = parts_by_name(place)
    return [found[name] for name in names if found[name].ranks]


def own_size(size: int, names: Sequence[Any], place: NamedSharding) -> int:
    """The size of a process's part of an axis that is split over these mesh axes."""
    return size // math.prod(len(part.ranks) for part in over_processes(names, place))


def own_of_whole(x: Any, place: NamedSharding) -> Any:
    """This process's block of an array that it has as a whole."""
    for axis, names in enumerate(spec_of(place, len(shape_of(x)))):
        if shared := over_processes(names, place):
            where = {part.name: part.place for part in shared}
            numbers, count = _numbers(names, place, where)
            x = _pieces(x, axis, numbers, shape_of(x)[axis] // count)
    return x


def whole_of_own(x: Any, place: NamedSharding) -> Any:
    """The whole array, from the blocks of all processes."""
    for axis, names in enumerate(spec_of(place, len(shape_of(x)))):
        shared = over_processes(names, place)
        for part in reversed(shared):
            x = group_all_gather(x, part.ranks)
        if shared:
            x = _joined(x, axis, names, place, shared)
    return x


def _joined(x: Any, axis: int, names: Sequence[Any], place: Any, shared: list[LocalPart]) -> Any:
    """Blocks stacked along new leading axes, concatenated along one of their own axes in order."""
    new = len(shared)
    front, at, rest = range(new), axis + new, range(new, len(shape_of(x)))
    order = [*(i for i in rest if i < at), *front, *(i for i in rest if i >= at)]
    shape = shape_of(x)[new:]
    length = math.prod([len(part.ranks) for part in shared]) * shape[axis]
    x = primitives.transpose(x, order)
    x = primitives.reshape(x, (*shape[:axis], length, *shape[axis + 1 :]))
    numbers: list[int] = []
    for coordinates in itertools.product(*[range(len(part.ranks)) for part in shared]):
        where = {part.name: k for part, k in zip(shared, coordinates)}
        numbers += _numbers(names, place, where)[0]
    count = len(numbers)
    return _pieces(x, axis, sorted(range(count), key=numbers.__getitem__), length // count)


def _numbers(
    names: Sequence[Any], place: NamedSharding, where: Mapping[Any, int]
) -> tuple[list[int], int]:
    """The numbers of the parts of an axis that a process at `where` along mesh axes has, in order, and the
    number of all parts."""
    numbers, count = [0], 1
    for name in names:
        part = parts_by_name(place)[name]
        size, first = part.size * max(1, len(part.ranks)), part.size * where.get(name, 0)
        numbers = [n * size + first + k for n in numbers for k in range(part.size)]
        count *= size
    return sorted(numbers), count


def _pieces(x: Any, axis: int, numbers: Sequence[int], length: int) -> Any:
    """The pieces of this length with these numbers, concatenated."""
    if list(numbers) == list(range(shape_of(x)[axis] // max(1, length))):
        return x
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number:
            runs[-1][1] += 1
        else:
            runs.append([number, number + 1])
    found = [slice_in_dim(x, a * length, b * length, axis=axis) for a, b in runs]
    return found[0] if len(found) == 1 else concatenate(found, axis)


def is_in_blocks(x: Any) -> bool:
    """Whether a value is an array that this process has a block of."""
    return isinstance(x, ArrayImpl) and isinstance(x.buffer, Block)


def split_over_processes(place: NamedSharding | None) -> bool:
    """Whether a process has only a block of an array with this sharding."""
    return place is not None and bool(over_processes(place.spec.names, place))


def moved(x: Any, before: NamedSharding | None, after: NamedSharding | None) -> Any:
    """A value with another sharding."""
    before, after = [place if split_over_processes(place) else None for place in (before, after)]
    if before is after or (before is not None and after is not None and alike(before, after)):
        return x
    whole = x if before is None else whole_of_own(x, before)
    return whole if after is None else own_of_whole(whole, after)


def alike(one: NamedSharding, other: NamedSharding) -> bool:
    """Whether both places split all arrays in the same way."""
    rank = max(len(one.spec), len(other.spec))
    return one.mesh == other.mesh and spec_of(one, rank) == spec_of(other, rank)


def place_of_spec(like: NamedSharding, spec: Sequence[tuple]) -> NamedSharding:
    """The same mesh, with other axes split."""
    entries = [entry_of(names) for names in spec]
    while entries and entries[-1] is None:
        entries.pop()
    return like.update(spec=PartitionSpec(*entries))
