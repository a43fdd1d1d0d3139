"""Sums of numbers that are given by their logarithms: logaddexp and logaddexp2.

log(exp(a) + exp(b)) is the larger of the two plus log1p(exp(-|a - b|)), and that exponent never overflows.
This is an example for custom_jvp: the formula's own derivative is wrong where a = b (|x| and max have
kinks there, the sum has none), and NaN at infinity; the rule is right everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tinyjax.core import dtypes
from tinyjax.core.primitives import add, mul, neg
from tinyjax.lax.arithmetic import abs as lax_abs
from tinyjax.lax.arithmetic import max as lax_max
from tinyjax.lax.arithmetic import rem, sub
from tinyjax.lax.comparison import eq, lt, ne
from tinyjax.lax.complex_numbers import complex as lax_complex
from tinyjax.lax.complex_numbers import imag, real
from tinyjax.lax.creation import full_like
from tinyjax.lax.elementwise import constant
from tinyjax.lax.exponential import exp, exp2, log1p
from tinyjax.lax.selection import select
from tinyjax.transform.custom.forward_rules import custom_jvp


@custom_jvp
def logaddexp(x1: Any, x2: Any, /) -> Any:
    """log(exp(x1) + exp(x2)) of two floating or complex arrays of one dtype."""
    return _log_add(x1, x2, exp, lambda x: log1p(x), np.pi)


@logaddexp.defjvp
def _logaddexp_jvp(primals: Any, tangents: Any) -> Any:
    out = logaddexp(*primals)
    return out, _weighted_sum(primals, tangents, out, exp)


@custom_jvp
def logaddexp2(x1: Any, x2: Any, /) -> Any:
    """log2(2**x1 + 2**x2) of two floating or complex arrays of one dtype."""
    log_2 = np.log(2)
    return _log_add(x1, x2, exp2, lambda x: mul(constant(x, 1 / log_2), log1p(x)), np.pi / log_2)


@logaddexp2.defjvp
def _logaddexp2_jvp(primals: Any, tangents: Any) -> Any:
    out = logaddexp2(*primals)
    return out, _weighted_sum(primals, tangents, out, exp2)


def _log_add(x1: Any, x2: Any, power: Callable, log_1p: Callable, half_turn: float) -> Any:
    larger = lax_max(x1, x2)
    if dtypes.kind(larger.dtype) == "c":
        delta = sub(add(x1, x2), mul(larger, constant(larger, 2)))
        out = add(larger, log_1p(power(delta)))
        return lax_complex(real(out), _wrap_between(imag(out), half_turn))
    delta = sub(x1, x2)
    undefined = ne(delta, delta)  # inf - inf, for which x1 + x2 is right, or a NaN
    return select(undefined, add(x1, x2), add(larger, log_1p(power(neg(lax_abs(delta))))))


def _weighted_sum(primals: Any, tangents: Any, out: Any, power: Callable) -> Any:
    """The derivative: the sum of each term's share times its tangent."""
    return add(*(mul(t, share(x, out, power)) for x, t in zip(primals, tangents)))


def share(term: Any, out: Any, power: Callable = exp) -> Any:
    """The share of a term in a sum; both are given by their logarithms."""
    return power(sub(_replace_inf(term), _replace_inf(out)))


def _replace_inf(x: Any) -> Any:
    """Zero for inf, as inf - inf would be NaN: an infinite term is the whole sum, its share is 1."""
    part = real(x) if dtypes.kind(dtypes.dtype(x)) == "c" else x
    return select(eq(part, constant(part, np.inf)), full_like(x, 0), x)


def _wrap_between(x: Any, bound: float) -> Any:
    """The angle `x` (in units where half a turn is `bound`) brought into [-bound, bound)."""
    turn = constant(x, 2 * bound)
    inside = rem(add(x, constant(x, bound)), turn)
    inside = select(lt(inside, constant(x, 0)), add(inside, turn), inside)
    return sub(inside, constant(x, bound))
