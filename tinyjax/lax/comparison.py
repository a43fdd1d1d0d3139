"""Comparisons: two arrays in, bools out.

The results are piecewise constant, so their JVPs are zero. `gt` is in core.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tinyjax.core import dtypes
from tinyjax.core.array import ShapedArray
from tinyjax.core.bind import Primitive, abstract_eval_rules
from tinyjax.core.primitives import broadcast_shapes, elementwise_aval, gt_p
from tinyjax.lax.elementwise import ANY, ORDERED, nary, of_two, to_bool

# ---- impl rules ----


def _equal(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if x.dtype == dtypes.key_dtype:
        return np.all(x["fry"] == y["fry"], axis=-1)
    return np.equal(x, y)


def _not_equal(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return ~_equal(x, y) if x.dtype == dtypes.key_dtype else np.not_equal(x, y)


def total_order_key(x: np.ndarray) -> np.ndarray:
    """Integers in the order -NaN < -inf < ... < -0 < 0 < ... < inf < NaN of the floats `x`.

    The bits of positive floats are in order as integers; those of negative ones run backwards.
    Source: IEEE 754-2008, 5.10 (totalOrder)."""
    if not dtypes.is_float(x.dtype):
        return x
    signed = np.dtype(f"int{8 * x.dtype.itemsize}")
    bits = np.ascontiguousarray(x).reshape(x.shape).view(signed)
    return np.where(bits < 0, bits ^ np.iinfo(signed).max, bits)


# ---- primitives ----

eq_p = nary("eq", ANY, _equal, to_bool)
eq = of_two(eq_p, "Elementwise x == y, for any dtype and for random keys.")
ne_p = nary("ne", ANY, _not_equal, to_bool)
ne = of_two(ne_p, "Elementwise x != y, for any dtype and for random keys.")
ge_p = nary("ge", ORDERED, np.greater_equal, to_bool)
ge = of_two(ge_p, "Elementwise x >= y, for bools, integers and floats; False where either is NaN.")
le_p = nary("le", ORDERED, np.less_equal, to_bool)
le = of_two(le_p, "Elementwise x <= y, for bools, integers and floats; False where either is NaN.")
gt = of_two(gt_p, "Elementwise x > y, for bools, integers and floats; False where either is NaN.")
lt_p = nary("lt", ORDERED, np.less, to_bool)
lt = of_two(lt_p, "Elementwise x < y, for bools, integers and floats; False where either is NaN.")
eq_to_p = nary("eq_to", ORDERED, lambda x, y: total_order_key(x) == total_order_key(y), to_bool)
le_to_p = nary("le_to", ORDERED, lambda x, y: total_order_key(x) <= total_order_key(y), to_bool)
lt_to_p = nary("lt_to", ORDERED, lambda x, y: total_order_key(x) < total_order_key(y), to_bool)


def _equality_aval(primitive: Primitive) -> Any:
    """The rule of eq and ne, which also compare random keys."""

    @functools.lru_cache(4096)
    def abstract_eval(x: ShapedArray, y: ShapedArray) -> ShapedArray:
        if x.dtype == y.dtype == dtypes.key_dtype:
            return ShapedArray(broadcast_shapes(primitive.name, x, y), np.dtype(bool))
        return elementwise_aval(primitive.name, ANY, x, y).update(dtype=np.dtype(bool))

    return abstract_eval


abstract_eval_rules[eq_p] = _equality_aval(eq_p)
abstract_eval_rules[ne_p] = _equality_aval(ne_p)
