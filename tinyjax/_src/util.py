"""Small functions of lists, which interpreters of jaxprs are written with: safe_map, safe_zip, ..."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial as partial
from typing import Any

from tinyjax.core.lists import split_list as _split_list


def safe_map(f: Callable, *args: Iterable[Any]) -> list[Any]:
    """map as a list. Raises ValueError where the arguments are not equally long."""
    return [f(*xs) for xs in zip(*args, strict=True)]


def safe_zip(*args: Iterable[Any]) -> list[tuple]:
    """zip as a list. Raises ValueError where the arguments are not equally long."""
    return list(zip(*args, strict=True))


def unzip2(pairs: Iterable[tuple[Any, Any]]) -> tuple[tuple, tuple]:
    """The first elements of all pairs, and the second."""
    firsts, seconds = [], []
    for first, second in pairs:
        firsts.append(first)
        seconds.append(second)
    return tuple(firsts), tuple(seconds)


def split_list(xs: Sequence[Any], sizes: Sequence[int]) -> list[list[Any]]:
    """Consecutive parts of the given sizes, and the rest."""
    return _split_list(xs, *sizes)


def concatenate(xs: Iterable[Sequence[Any]]) -> list[Any]:
    """All elements of all of them."""
    return [x for part in xs for x in part]
