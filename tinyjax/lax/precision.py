"""Precision: how exact a product must be, and the names for it that users write.

"tensorfloat32" requests a product of fewer digits on other machines.
"""

from __future__ import annotations

import enum
from typing import Any


class Precision(enum.Enum):
    """How exact a float32 product must be. Taken and printed as JAX does; all products here are exact."""

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2

    def __repr__(self) -> str:
        return f"Precision.{self.name}"

    def __str__(self) -> str:
        return self.name


_PRECISION_NAMES = {
    "default": Precision.DEFAULT,
    "fastest": Precision.DEFAULT,
    "bfloat16": Precision.DEFAULT,
    "high": Precision.HIGH,
    "bfloat16_3x": Precision.HIGH,
    "tensorfloat32": Precision.HIGH,
    "highest": Precision.HIGHEST,
    "float32": Precision.HIGHEST,
}


def canonicalize_precision(precision: Any) -> tuple[Precision, Precision] | None:
    """A precision for each side, from None, a name, a Precision or a pair of these.

    Raises ValueError for anything else."""
    if precision is None:
        return None
    pair = precision if isinstance(precision, (tuple, list)) else (precision, precision)
    found = [_PRECISION_NAMES.get(p) if isinstance(p, str) else p for p in pair]
    lhs, rhs = found if len(found) == 2 else (None, None)
    if not (isinstance(lhs, Precision) and isinstance(rhs, Precision)):
        raise ValueError(
            f"Precision argument must be None, a string in {list(_PRECISION_NAMES)}, a lax.Precision "
            f"value or a tuple of two of these; but got {precision}."
        )
    return lhs, rhs
