"""Lesson 9: how a rule about cotangents fits into jvp + linearize + transpose.

    y = with_vjp_p.bind(x, fun=f, fwd=f_fwd, bwd=f_bwd)

This is `custom_vjp` for a function of one array, whose result has the shape of its argument.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tinyjax.core import Primitive, abstract_eval_rules, impl_rules
from tinyjax.transform.jvp import jvp_rules
from tinyjax.transform.transposition import transpose_rules

# with_vjp x: runs fun. Its rule is a pair: fwd(x) gives the result and a residual (one array), and
# bwd(residual, ct) the cotangent of x.
with_vjp_p = Primitive("with_vjp", impl_binds_primitives=True)

# linear residual x_dot: some linear function of x_dot. Nobody can run it; but it has a transpose.
linear_p = Primitive("linear", impl_binds_primitives=True)


def jvp_of_with_vjp(
    primals: Sequence[Any], tangents: Sequence[Any], *, fun: Callable, fwd: Callable, bwd: Callable
) -> tuple[Any, Any]:
    """The result and its tangent. The result is what fwd says; the tangent is what `linear_p` gives, bound to
    the residual and to the tangent of x. Its one parameter is bwd, which is not called."""
    y, residual = fwd(*primals)
    return y, linear_p.bind(residual, *tangents, bwd=bwd)


def transpose_of_linear(ct: Any, residual: Any, x_dot: Any, *, bwd: Callable) -> list[Any]:
    """A cotangent for each operand: None for the residual, which is known, and for x_dot that of bwd."""
    return [None, bwd(residual, ct)]


impl_rules[with_vjp_p] = lambda x, fun, fwd, bwd: fun(x)
jvp_rules[with_vjp_p] = jvp_of_with_vjp
abstract_eval_rules[linear_p] = lambda residual, x_dot, bwd: x_dot
transpose_rules[linear_p] = transpose_of_linear
