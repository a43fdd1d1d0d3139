"""Polynomials by Horner's rule, as one primitive: its derivative is a polynomial of a lower degree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tinyjax.core import dtypes
from tinyjax.core.avals import get_aval
from tinyjax.core.bind import is_staging
from tinyjax.core.primitives import broadcast_shapes, mul
from tinyjax.lax.conversion import convert_element_type
from tinyjax.lax.creation import full_like
from tinyjax.lax.elementwise import NUMBER, constant, nary
from tinyjax.transform.jvp import Zero, add_tangents, broadcast_to_result, jvp_rules, zero_tangent
from tinyjax.transform.transposition import (
    is_undefined_primal,
    require_known,
    transpose_rules,
    unbroadcast,
)


def _unroll_param(unroll: int | None) -> dict[str, int]:
    return {} if unroll is None else {"unroll": unroll}


def _operations(eqn: Any) -> int:
    return eqn.outvars[0].aval.size * 2 * (len(eqn.invars) - 2)


def _polynomial_impl(x: Any, *coefficients: Any, unroll: int | None = None) -> Any:
    total = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        total = np.add(np.multiply(total, x), coefficient)
    return total


def _polynomial_jvp(primals: Any, tangents: Any, *, unroll: int | None = None) -> Any:
    """The derivative by x is the polynomial with coefficients k * c_k; by the c_k, the polynomial of
    their tangents."""
    (x, *coefficients), (x_dot, *dots) = primals, tangents
    out = polynomial_p.bind(x, *coefficients, **_unroll_param(unroll))
    out_dot: Any = zero_tangent(out)
    if type(x_dot) is not Zero:
        derived = [mul(constant(c, k), c) for k, c in enumerate(coefficients[1:], 1)]
        out_dot = add_tangents(out_dot, mul(x_dot, polynomial(x, derived, unroll=unroll)))
    if any(type(dot) is not Zero for dot in dots):
        filled = [full_like(c, 0) if type(d) is Zero else d for c, d in zip(coefficients, dots)]
        out_dot = add_tangents(out_dot, polynomial(x, filled, unroll=unroll))
    return out, out_dot


def _polynomial_transpose(ct: Any, x: Any, *coefficients: Any, unroll: int | None = None) -> Any:
    """A coefficient's cotangent is the result's cotangent times its power of x."""
    require_known(polynomial_p, x)
    cts: list[Any] = [None]
    for k, coefficient in enumerate(coefficients):
        linear = is_undefined_primal(coefficient)
        cts.append(unbroadcast(coefficient.aval, ct) if linear else None)
        if k + 1 < len(coefficients):
            ct = mul(ct, x)
    return cts


polynomial_p = nary("polynomial", NUMBER, _polynomial_impl, cost=_operations, makes_nan=True)
jvp_rules[polynomial_p] = _polynomial_jvp
transpose_rules[polynomial_p] = _polynomial_transpose


def _coefficient(x: Any, c: Any) -> Any:
    """The coefficient in x's dtype. As in JAX, conversion by an equation makes it strongly typed; a known
    one stays weak."""
    if isinstance(c, (bool, int, float, complex)):
        return constant(x, c)
    is_known = not is_staging() and get_aval(c).dtype == get_aval(x).dtype
    return c if is_known else convert_element_type(c, dtypes.dtype(x))


def polynomial(x: Any, coeffs: Sequence[Any], *, unroll: int | None = None) -> Any:
    """coeffs[0] + coeffs[1] * x + coeffs[2] * x**2 + ..., by Horner's rule, elementwise.

    A coefficient is a scalar, or of the rank of `x`; it is converted to x's dtype. `unroll` changes nothing
    here: JAX makes a loop of a polynomial that has more coefficients than this."""
    operands = [_coefficient(x, c) for c in coeffs]
    if not operands:
        return full_like(x, 0)
    if len(operands) == 1:
        shape = broadcast_shapes("polynomial", get_aval(x), get_aval(operands[0]))
        return broadcast_to_result(operands[0], shape)
    return polynomial_p.bind(x, *operands, **_unroll_param(unroll))
