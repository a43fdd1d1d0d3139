"""reduce_precision: rounded as a float with fewer bits would be.

Ties round to even, and a carry into the exponent is right. jax.checkpoint uses it to round residuals to
their own type.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax.core import dtypes
from tinyjax.core.array import ShapedArray
from tinyjax.core.bind import abstract_eval_rules, impl_rules
from tinyjax.core.primitives import elementwise_aval
from tinyjax.lax.elementwise import FLOAT
from tinyjax.transform.batching import defvectorized
from tinyjax.transform.remat.primitive import reduce_precision_p
from tinyjax.transform.transposition import deflinear2


def _reduce_precision_impl(x: np.ndarray, *, exponent_bits: int, mantissa_bits: int) -> np.ndarray:
    info = dtypes.finfo(x.dtype)
    uint = np.dtype(f"uint{info.bits}").type
    bits = np.ascontiguousarray(x).reshape(x.shape).view(uint)
    sign = bits & uint(1 << (info.bits - 1))
    drop = info.nmant - mantissa_bits
    if drop > 0:  # round half to even: carry into the exponent is right, the next power of two
        last_kept = (bits >> uint(drop)) & uint(1)
        bits = bits + uint((1 << (drop - 1)) - 1) + last_kept
        bits = bits & ~uint((1 << drop) - 1)
    out = bits.view(x.dtype)
    if exponent_bits < info.nexp:
        bias, new_bias = (1 << (info.nexp - 1)) - 1, (1 << (exponent_bits - 1)) - 1
        exponent = (bits >> uint(info.nmant)) & uint((1 << info.nexp) - 1)
        infinity = (sign | np.array(np.inf, x.dtype).view(uint)).view(x.dtype)
        out = np.where(exponent > bias + new_bias, infinity, out)
        out = np.where(exponent <= bias - new_bias, sign.view(x.dtype), out)
    return np.where(np.isnan(x), x, out)


def _reduce_precision_aval(
    x: ShapedArray, *, exponent_bits: int, mantissa_bits: int
) -> ShapedArray:
    if exponent_bits < 1:
        raise ValueError(f"reduce_precision: exponent_bits must be positive; got {exponent_bits}")
    if mantissa_bits < 0:
        raise ValueError(
            f"reduce_precision: mantissa_bits must be non-negative; got {mantissa_bits}"
        )
    return elementwise_aval("reduce_precision", FLOAT, x)


impl_rules[reduce_precision_p] = _reduce_precision_impl
abstract_eval_rules[reduce_precision_p] = _reduce_precision_aval
deflinear2(reduce_precision_p, lambda ct, x, **params: [reduce_precision_p.bind(ct, **params)])
defvectorized(reduce_precision_p)


def reduce_precision(operand: Any, exponent_bits: int, mantissa_bits: int) -> Any:
    """Floats rounded to a format with these numbers of bits; the dtype stays.

    Raises ValueError if exponent_bits < 1 or mantissa_bits < 0."""
    return reduce_precision_p.bind(
        operand, exponent_bits=exponent_bits, mantissa_bits=mantissa_bits
    )
