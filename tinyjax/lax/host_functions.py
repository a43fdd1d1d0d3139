"""Functions that SciPy computes: an impl rule that calls it, and a host step for the compiler.

SciPy is imported when the first function is computed, as that takes longer than importing tinyjax.

Source: https://docs.scipy.org/doc/scipy/reference/special.html
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tinyjax.compile.kernel.rules import OnHost, lowering_rules
from tinyjax.core.bind import Primitive
from tinyjax.core.facts import FUNCTION
from tinyjax.lax.elementwise import FLOAT, nary, unary


def from_scipy(function: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """The impl rule of `function(special, *arrays)`, where `special` is scipy.special. It gets arrays of
    64 bits (complex ones of 128)."""

    def impl(*arrays: np.ndarray) -> np.ndarray:
        from scipy import special

        dtype = arrays[0].dtype
        wide = np.complex128 if dtype.kind == "c" else np.float64
        with np.errstate(all="ignore"):
            return np.asarray(function(special, *[x.astype(wide) for x in arrays])).astype(dtype)

    return impl


def host_primitive(
    name: str, operands: int, function: Callable[..., Any], kinds: str = FLOAT
) -> Primitive:
    """An elementwise primitive that `function(special, *arrays)` computes on the host; `kinds` are those of
    its dtypes."""
    make = unary if operands == 1 else nary
    primitive = make(name, kinds, from_scipy(function), **FUNCTION)
    lowering_rules[primitive] = OnHost("SciPy computes it")
    return primitive
