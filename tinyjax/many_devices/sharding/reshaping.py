"""How a reshape's result is split: axes that become one, and one that becomes several.

f32[8@x,4] becomes f32[8@x,2,2] or f32[32@x], and f32[2,16] only with an explicit sharding: each device keeps
the elements that it has only where the split axis is the first of those that become one, or of those that one
becomes.

Source: https://docs.jax.dev/en/latest/notebooks/explicit-sharding.html
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from tinyjax.many_devices.sharding.axes import Shape, Spec, Use


def reshaped(use: Use, is_type: bool = False) -> Spec | None:
    """The spec of a reshape's result: axes that become one are split as the first of them; those that one
    becomes, from the first on. None if that can't be, or, for a type, if axes are mixed."""
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
    """Axes as one: split over all that the first ones are split over, if the others are whole. What is not
    a type also has to be in one piece on each device."""
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
    """One axis as several: the first ones take as many mesh axes as they can be split over."""
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
    """The shortest runs of axes with as many elements in both shapes; axes of size 1 go with what follows,
    and the last ones with what is before them."""
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
