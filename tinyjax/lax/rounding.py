"""Rounding, and floats as points on a line: floor, ceil, round, is_finite, nextafter.

The results are steps, flat almost everywhere: the JVPs are zero.
"""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from tinyjax.core.avals import get_aval
from tinyjax.core.primitives import broadcast_shapes
from tinyjax.lax.elementwise import FLOAT, in_float32, nary, of_one, to_bool, unary
from tinyjax.transform.jvp import broadcast_to_result, defjvp, defzero


class RoundingMethod(enum.IntEnum):
    """How `round` rounds halves."""

    AWAY_FROM_ZERO = 0  # 0.5 -> 1, -0.5 -> -1
    TO_NEAREST_EVEN = 1  # 0.5 -> 0, 1.5 -> 2


@in_float32
def _round_impl(x: np.ndarray, *, rounding_method: RoundingMethod) -> np.ndarray:
    if rounding_method is RoundingMethod.TO_NEAREST_EVEN:
        return np.rint(x)
    whole = np.trunc(x)  # x - whole is exact, where x + 0.5 would round
    return np.where(np.abs(x - whole) >= 0.5, whole + np.copysign(np.float32(1), x), whole)


def _nextafter_jvp(g: Any, x: Any, y: Any) -> Any:
    """The tangent of x, as if the neighbour were x itself."""
    return broadcast_to_result(g, broadcast_shapes("nextafter", get_aval(x), get_aval(y)))


floor_p = unary("floor", FLOAT, np.floor, cost=1, makes_nan=False)
floor = of_one(floor_p, "The largest integer not above each float, as a float.")
ceil_p = unary("ceil", FLOAT, np.ceil, cost=1, makes_nan=False)
ceil = of_one(ceil_p, "The smallest integer not below each float, as a float.")
round_p = unary("round", FLOAT, _round_impl, cost=1, makes_nan=False)
is_finite_p = unary("is_finite", FLOAT, np.isfinite, to_bool)
is_finite = of_one(is_finite_p, "True where a float is neither infinite nor NaN.")
nextafter_p = nary("nextafter", FLOAT, np.nextafter, cost=1, makes_nan=True)
defjvp(nextafter_p, _nextafter_jvp, None)

for _primitive in (floor_p, ceil_p, round_p):
    defzero(_primitive)  # and so never transposed


def round(x: Any, rounding_method: RoundingMethod = RoundingMethod.AWAY_FROM_ZERO) -> Any:  # noqa: A001
    """The nearest integer to each float, as a float; `rounding_method` says where halves go."""
    return round_p.bind(x, rounding_method=RoundingMethod(rounding_method))


def nextafter(x1: Any, x2: Any) -> Any:
    """The next float after x1 on the way to x2; x2 where they are equal."""
    return nextafter_p.bind(x1, x2)
