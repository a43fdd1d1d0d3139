"""Sums of numbers that are given by their logarithms: logaddexp and logaddexp2.

After this file you know the trick: log(exp(a) + exp(b)) is the larger of the two plus
log1p(exp(-|a - b|)), and that exponent never overflows. Builds on arithmetic and exponential.

They are no primitives: their derivatives are those of their formulas.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tinyjax import dtypes
from tinyjax.lax.arithmetic import max as lax_max
from tinyjax.lax.arithmetic import min as lax_min
from tinyjax.lax.arithmetic import rem, sub
from tinyjax.lax.comparison import lt, ne
from tinyjax.lax.complex_numbers import complex as lax_complex
from tinyjax.lax.complex_numbers import imag, real
from tinyjax.lax.creation import full_like
from tinyjax.lax.elementwise import constant
from tinyjax.lax.exponential import exp, exp2, log1p
from tinyjax.lax.selection import select
from tinyjax.primitives import add, mul


def logaddexp(x1: Any, x2: Any) -> Any:
    """log(exp(x1) + exp(x2)) of two floating or complex arrays of one dtype."""
    return _log_add(x1, x2, np.e, exp)


def logaddexp2(x1: Any, x2: Any) -> Any:
    """log2(2**x1 + 2**x2) of two floating or complex arrays of one dtype."""
    return _log_add(x1, x2, 2.0, exp2)


def _log_add(x1: Any, x2: Any, base: float, power: Callable) -> Any:
    larger = lax_max(x1, x2)
    log_base = np.log(base)
    if dtypes.kind(larger.dtype) == "c":
        delta = sub(add(x1, x2), mul(larger, constant(larger, 2)))
        out = add(larger, _scaled_log1p(power(delta), log_base))
        return lax_complex(real(out), _wrap_between(imag(out), np.pi / log_base))
    # Not -|x1 - x2|, whose derivative where both are equal is -1 or 1: that of min and max is 1/2.
    delta = sub(lax_min(x1, x2), larger)
    # inf - inf is NaN: there the sum is right, and a harmless delta keeps NaN out of derivatives.
    undefined = ne(delta, delta)
    delta = select(undefined, full_like(delta, 0), delta)
    out = add(larger, _scaled_log1p(power(delta), log_base))
    return select(undefined, add(x1, x2), out)


def _scaled_log1p(x: Any, log_base: float) -> Any:
    return log1p(x) if log_base == 1 else mul(log1p(x), constant(x, 1 / log_base))


def _wrap_between(x: Any, bound: float) -> Any:
    """The angle `x` (in units where half a turn is `bound`) brought into [-bound, bound)."""
    turn = constant(x, 2 * bound)
    inside = rem(add(x, constant(x, bound)), turn)
    inside = select(lt(inside, constant(x, 0)), add(inside, turn), inside)
    return sub(inside, constant(x, bound))
