"""Dual numbers: a derivative that goes along with Python's operators.

It needs no trace and no rules: each number knows how fast it changes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Dual:
    """A number, the primal, and its tangent: how fast it moves."""

    def __init__(self, primal: float, tangent: float = 0.0):
        self.primal = primal
        self.tangent = tangent

    def __add__(self, other: Any) -> Dual:
        other = as_dual(other)
        return Dual(self.primal + other.primal, self.tangent + other.tangent)

    def __mul__(self, other: Any) -> Dual:
        """The product with a Dual, or with a number, which does not move."""
        other = as_dual(other)
        tangent = self.tangent * other.primal + self.primal * other.tangent
        return Dual(self.primal * other.primal, tangent)

    def __truediv__(self, other: Any) -> Dual:
        """The quotient by a Dual, or by a number, which does not move."""
        other = as_dual(other)
        quotient = self.primal / other.primal
        return Dual(quotient, (self.tangent - quotient * other.tangent) / other.primal)

    def __radd__(self, other: Any) -> Dual:
        return as_dual(other) + self

    def __rmul__(self, other: Any) -> Dual:
        return as_dual(other) * self

    def __rtruediv__(self, other: Any) -> Dual:
        return as_dual(other) / self


def as_dual(x: Any) -> Dual:
    """A number as a Dual that does not move."""
    return x if isinstance(x, Dual) else Dual(x)


def slope(function: Callable[[Any], Any], x: float) -> float:
    """How fast the result moves if x moves at speed 1."""
    return as_dual(function(Dual(x, 1.0))).tangent
