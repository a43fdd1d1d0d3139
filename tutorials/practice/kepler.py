"""Kepler's equation: the derivative of a result that is searched for.

An operation without a formula: its JVP rules follow from the equation that its result solves.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core.array import ShapedArray
from tinyjax.core.bind import Primitive
from tinyjax.core.primitives import elementwise_aval
from tinyjax.transform.jvp import defjvp2

kepler_p = Primitive("kepler")


def kepler(mean: Any, eccentricity: Any) -> Any:
    """Where a planet is on its ellipse, as an angle: the one with `angle - eccentricity * sin(angle) = mean`.
    `mean` is the angle if the orbit were a circle (eccentricity 0); the eccentricity is below 1."""
    return kepler_p.bind(mean, eccentricity)


@kepler_p.def_impl
def kepler_impl(mean: np.ndarray, eccentricity: np.ndarray) -> np.ndarray:
    """Searches: halves an interval that has the angle in it."""
    low, high = mean - eccentricity, mean + eccentricity
    for _ in range(30):
        middle = (low + high) / 2
        is_low = middle - eccentricity * np.sin(middle) < mean
        low, high = np.where(is_low, middle, low), np.where(is_low, high, middle)
    return low


@kepler_p.def_abstract_eval
def kepler_aval(mean: ShapedArray, eccentricity: ShapedArray) -> ShapedArray:
    return elementwise_aval("kepler", "f", mean, eccentricity)


def kepler_jvp_mean(tangent: Any, angle: Any, mean: Any, eccentricity: Any) -> Any:
    """How the angle moves if `mean` moves by the tangent, and the eccentricity stays. `angle` is
    `kepler(mean, eccentricity)`. The result has the dtype of the operands, any of floats."""
    return tangent / (1.0 - eccentricity * lax.cos(angle))


def kepler_jvp_eccentricity(tangent: Any, angle: Any, mean: Any, eccentricity: Any) -> Any:
    """The same if the eccentricity moves by the tangent, and `mean` stays."""
    return tangent * lax.sin(angle) / (1.0 - eccentricity * lax.cos(angle))


defjvp2(kepler_p, kepler_jvp_mean, kepler_jvp_eccentricity)
