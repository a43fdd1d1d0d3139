"""How the elements of an array follow each other in memory: by rows, always. Libraries ask for the names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Layout:
    """The order of the axes in memory, the slowest first."""

    major_to_minor: tuple[int, ...]
    tiling: tuple[tuple[int, ...], ...] | None = None


@dataclass(frozen=True)
class Format:
    """A layout and a sharding."""

    layout: Layout | None = None
    sharding: Any = None
