"""Functions that SciPy computes: an impl rule that calls it. In compiled programs some are functions of
kernels for some dtypes, and the others host steps.

Source: https://docs.scipy.org/doc/scipy/reference/special.html
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tinyjax.compile.kernel.rules import Elementwise, OnHost, elementwise, lowering_rules
from tinyjax.compile.kernel.scalar_ops import FUNCTION as COST
from tinyjax.compile.kernel.scalar_ops import define
from tinyjax.core.bind import Primitive, impl_rules
from tinyjax.core.facts import FUNCTION
from tinyjax.lax.elementwise import FLOAT, from_scipy, nary, unary

if TYPE_CHECKING:
    from tinyjax.compile.target import Target
    from tinyjax.core.jaxpr import JaxprEqn


def host_primitive(
    name: str, operands: int, function: Callable[..., Any], kinds: str = FLOAT, cost: int = COST
) -> Primitive:
    """An elementwise primitive that `function(special, *arrays)` computes on the host; `kinds` are those of
    its dtypes. `cost` is that of its function of kernels."""
    make = unary if operands == 1 else nary
    primitive = make(name, kinds, from_scipy(function), **FUNCTION)
    lowering_rules[primitive] = kernel_function_rule(primitive, cost)
    return primitive


def kernel_function_rule(
    primitive: Primitive, cost: int = COST
) -> Callable[[JaxprEqn, Target], Elementwise | OnHost]:
    """The rule of a primitive that is a function in the kernel language for some dtypes, or none."""
    define(primitive.name, {}, impl_rules[primitive], cost)

    def rule(eqn: JaxprEqn, target: Target) -> Elementwise | OnHost:
        from tinyjax.compile.kernel.functions.table import function_of

        dtype = eqn.outvars[0].aval.dtype
        if function_of(primitive.name, dtype) is None:
            # Imported with the first program that has such a function
            from tinyjax.lax.lowering import special  # noqa: F401  (fills definitions)
        is_known = function_of(primitive.name, dtype) is not None
        return elementwise(primitive.name) if is_known else OnHost("NumPy or SciPy computes it")

    return rule
