"""Functions that SciPy computes: an impl rule that calls it, and a host step for the compiler.

Source: https://docs.scipy.org/doc/scipy/reference/special.html
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tinyjax.compile.kernel.rules import OnHost, lowering_rules
from tinyjax.core.bind import Primitive
from tinyjax.core.facts import FUNCTION
from tinyjax.lax.elementwise import FLOAT, from_scipy, nary, unary


def host_primitive(
    name: str, operands: int, function: Callable[..., Any], kinds: str = FLOAT
) -> Primitive:
    """An elementwise primitive that `function(special, *arrays)` computes on the host; `kinds` are those of
    its dtypes."""
    make = unary if operands == 1 else nary
    primitive = make(name, kinds, from_scipy(function), **FUNCTION)
    lowering_rules[primitive] = OnHost("SciPy computes it")
    return primitive
