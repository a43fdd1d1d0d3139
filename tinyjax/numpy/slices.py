"""Slices of a known size, whose start may be traced: `x[jax.ds(i, 2)]`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Slice:
    """`size` elements from `start` on, which may be traced: consecutive ones, or every `stride`-th."""

    start: Any
    size: int
    stride: int = 1

    def __post_init__(self) -> None:
        if self.stride < 1:
            raise ValueError("`stride` must be >= 1.")


def dslice(start: Any, size: int | None = None, stride: int | None = None) -> slice | Slice:
    """A slice by its start, which may be traced, and its size: `x[jax.ds(i, 2)]` is `x[i : i + 2]`.

    `ds(None)` is all, `ds(n)` the first n. Raises ValueError for a stride that is no int."""
    if start is None:
        return slice(None)
    if not isinstance(stride, int | None):
        raise ValueError("Non-static stride in `dslice`: it must be an int")
    start, size = (0, start) if size is None else (start, size)
    return Slice(start, size, 1 if stride is None else stride)


ds = dslice  # jax.ds
