"""Lists in parts: by sizes, or by flags.

A primitive with jaxprs as parameters has operands and results in parts (the consts, the carry and the xs
of a loop). Transformations split them by a property: known or unknown, linear or not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

Flags = tuple[bool, ...]  # for each item of a list, whether it has some property


def split_list(xs: Sequence[Any], *sizes: int) -> list[list[Any]]:
    """Consecutive parts of the given sizes, and the rest."""
    parts, start = [], 0
    for size in sizes:
        parts.append(list(xs[start : start + size]))
        start += size
    return [*parts, list(xs[start:])]


def pick(xs: Iterable[Any], flags: Iterable[bool]) -> list[Any]:
    """The items whose flag is set: the second of the two lists of JAX's partition_list."""
    return [x for x, flag in zip(xs, flags, strict=True) if flag]


def drop(xs: Iterable[Any], flags: Iterable[bool]) -> list[Any]:
    """The items whose flag is not set: the first of the two lists of JAX's partition_list."""
    return [x for x, flag in zip(xs, flags, strict=True) if not flag]


def merge_lists(flags: Iterable[bool], dropped: Iterable[Any], picked: Iterable[Any]) -> list[Any]:
    """The inverse of drop and pick: merges their two lists. As in JAX, the unset items are given first."""
    picked, dropped = iter(picked), iter(dropped)
    return [next(picked) if flag else next(dropped) for flag in flags]
