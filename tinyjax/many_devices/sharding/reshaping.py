"""The split of a reshape's result: several axes merged into one, and one split into several.

f32[8@x,4] becomes f32[8@x,2,2] or f32[32@x], but f32[2,16] only with an explicit sharding: each device keeps
its elements only if the split axis is the first of the merged axes, or of the axes that one is split into.

Source: https://docs.jax.dev/en/latest/notebooks/explicit-sharding.html
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from tinyjax.many_devices.sharding.axes import Shape, Spec, Use


def reshaped(use: Use, is_type: bool = False) -> Spec | None:
    """The spec of a reshape's result: a merged axis is split like the first of its parts; an axis's split
    goes to the first of its new axes. None if that is impossible, or, for a type, if axes are mixed."""
    (shape,), (spec,), (new,) = use.shapes[:1], use.specs[:1], use.out_shapes
    found: list[tuple] = []
    for old_axes, new_axes in _groups(shape, new):
        names = [spec[a] for a in old_axes]
        if is_type and len(old_axes) > 1 and len(new_axes) > 1 and any(names):
            return None
        joined = _joined(use, [shape[a] for a in old_axes], names, is_type)
        split = None if joined is None else _split(use, joined, [new[a] for a in new_axes])
        if split is None and is_type:
            return None
        found += split or [()] * len(new_axes)
    return tuple(found)


def _joined(use: Use, sizes: list[int], names: list[tuple], is_type: bool) -> tuple | None:
    """The entry of a merged axis: split over all mesh axes of the first ones, if the others are whole. A
    label (not a type) must also leave each device one contiguous piece."""
    joined: tuple = ()
    has_ended = False
    for size, each in zip(sizes, names):
        if size == 1 and not each:
            continue
        if each and has_ended:
            return None if is_type else joined
        joined += each
        has_ended = not each or not (is_type or use.parts(each) == size)
    return joined


def _split(use: Use, names: tuple, sizes: list[int]) -> list[tuple] | None:
    """The entries of one axis split into several: the first ones take as many mesh axes as they can be split
    over."""
    found: list[tuple] = []
    for size in sizes:
        mine: tuple = ()
        while names and size % use.parts((*mine, names[0])) == 0:
            mine, names = (*mine, names[0]), names[1:]
        found.append(mine)
        if names and size != use.parts(mine):
            return None
    return None if names else found


def _groups(old: Shape, new: Shape) -> Iterator[tuple[list[int], list[int]]]:
    """The shortest runs of axes with the same number of elements in both shapes; axes of size 1 belong to the
    next run, and trailing ones to the last."""
    i = j = 0
    while i < len(old) or j < len(new):
        first_i, first_j = i, j
        i, j = min(i + 1, len(old)), min(j + 1, len(new))
        while (a := math.prod(old[first_i:i])) != (b := math.prod(new[first_j:j])) or 0 in (
            i - first_i,
            j - first_j,
        ):
            if a <= b and i < len(old):
                i += 1
            elif j < len(new):
                j += 1
            else:
                i = len(old)
                break
        if math.prod(old[i:]) == 1 and math.prod(new[j:]) == 1:
            i, j = len(old), len(new)
        yield list(range(first_i, i)), list(range(first_j, j))
