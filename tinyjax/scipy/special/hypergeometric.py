"""The confluent hypergeometric function 1F1 and Gauss's 2F1.

The slopes by the parameters are finite differences in float64, taken where SciPy computes the value. That by
x is another value of the function.

Source: https://dlmf.nist.gov/13, 15
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tinyjax.core.array import Array
from tinyjax.core.bind import Primitive, no_rule_reasons
from tinyjax.lax.host_functions import host_primitive
from tinyjax.scipy.special.operands import promote_strong_real
from tinyjax.transform.jvp import defjvp

# ---- slopes by parameters ----


def _slope(function: Callable, args: tuple[np.ndarray, ...], place: int, step: Any) -> np.ndarray:
    """The derivative of function(*args) by args[place], from four values around it: wrong by step**4.

    Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 25.3.6"""

    def moved(steps: int) -> np.ndarray:
        return function(*args[:place], args[place] + steps * step, *args[place + 1 :])

    return (8 * (moved(1) - moved(-1)) - (moved(2) - moved(-2))) / (12 * step)


def _slope_primitive(name: str, operands: int, place: int, has_poles: bool) -> Primitive:
    """The derivative of SciPy's function by one parameter. Steps stay between the poles 0, -1, -2, ..."""

    def impl(special: Any, *args: np.ndarray) -> np.ndarray:
        at = args[place]
        room = np.where(at > 0, at, np.abs(at - np.rint(at))) if has_poles else 1.0
        return _slope(getattr(special, name), args, place, 1e-3 * np.minimum(room, 1.0))

    primitive = host_primitive(f"{name}_slope{place}", operands, impl)
    no_rule_reasons[primitive, "jvp"] = "parameters are differentiated by once"
    return primitive


# ---- 1F1 ----

hyp1f1_p = host_primitive("hyp1f1", 3, lambda special, a, b, x: special.hyp1f1(a, b, x))
hyp1f1_slope_of_a_p = _slope_primitive("hyp1f1", 3, 0, has_poles=False)
hyp1f1_slope_of_b_p = _slope_primitive("hyp1f1", 3, 1, has_poles=True)
defjvp(
    hyp1f1_p,
    lambda g, a, b, x: g * hyp1f1_slope_of_a_p.bind(a, b, x),
    lambda g, a, b, x: g * hyp1f1_slope_of_b_p.bind(a, b, x),
    lambda g, a, b, x: g * (a / b * hyp1f1(a + 1, b + 1, x)),
)


def hyp1f1(a: Any, b: Any, x: Any) -> Array:
    """1 + a/b x + a (a + 1) / (b (b + 1)) x**2 / 2! + ..., of real numbers.

    Raises ValueError for complex ones."""
    return hyp1f1_p.bind(*promote_strong_real("hyp1f1", a, b, x))


# ---- 2F1 ----

hyp2f1_p = host_primitive("hyp2f1", 4, lambda special, *args: special.hyp2f1(*args))
hyp2f1_slope_of_a_p = _slope_primitive("hyp2f1", 4, 0, has_poles=False)
hyp2f1_slope_of_b_p = _slope_primitive("hyp2f1", 4, 1, has_poles=False)
hyp2f1_slope_of_c_p = _slope_primitive("hyp2f1", 4, 2, has_poles=True)
defjvp(
    hyp2f1_p,
    lambda g, a, b, c, x: g * hyp2f1_slope_of_a_p.bind(a, b, c, x),
    lambda g, a, b, c, x: g * hyp2f1_slope_of_b_p.bind(a, b, c, x),
    lambda g, a, b, c, x: g * hyp2f1_slope_of_c_p.bind(a, b, c, x),
    lambda g, a, b, c, x: g * (a * b / c * hyp2f1(a + 1, b + 1, c + 1, x)),
)


def hyp2f1(a: Any, b: Any, c: Any, x: Any) -> Array:
    """1 + a b / c x + a (a + 1) b (b + 1) / (c (c + 1)) x**2 / 2! + ..., of real numbers, continued to
    x <= -1; inf for x > 1.

    Raises ValueError for complex ones."""
    return hyp2f1_p.bind(*promote_strong_real("hyp2f1", a, b, c, x))
