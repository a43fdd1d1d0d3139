"""Running sums, products, maxima and minima along an axis.

NumPy computes them; the derivative is that of the parallel program, associative_scan.

Source: G. Blelloch, "Prefix sums and their applications" (1990)
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tinyjax.core import dtypes, primitives
from tinyjax.core.array import Array, ShapedArray
from tinyjax.core.bind import Primitive, abstract_eval_rules, impl_rules
from tinyjax.lax.arithmetic import max as max_
from tinyjax.lax.arithmetic import min as min_
from tinyjax.lax.control_flow.associative_scan import associative_scan
from tinyjax.lax.elementwise import in_float32
from tinyjax.lax.log_sums import logaddexp
from tinyjax.transform.batching import batch_rules
from tinyjax.transform.jvp import jvp, jvp_rules
from tinyjax.transform.transposition import deflinear2

# ---- the primitives ----

cumsum_p = Primitive("cumsum", axes="cumulative", cost=1, makes_nan=True)
cumprod_p = Primitive("cumprod", axes="cumulative", cost=1, makes_nan=True)
cummax_p = Primitive("cummax", axes="cumulative", cost=1, makes_nan=True)
cummin_p = Primitive("cummin", axes="cumulative", cost=1, makes_nan=True)
cumlogsumexp_p = Primitive("cumlogsumexp", axes="cumulative", cost=1, makes_nan=True)


def _def_cumulative(primitive: Primitive, accumulate: Callable) -> None:
    def impl(x: np.ndarray, *, axis: int, reverse: bool) -> np.ndarray:
        if reverse:
            return np.flip(accumulate(np.flip(x, axis), axis=axis), axis)
        return accumulate(x, axis=axis)

    def aval(x: ShapedArray, *, axis: int, reverse: bool) -> ShapedArray:
        if axis < 0:
            raise ValueError(f"XLA operations do not allow negative axes, got axis {axis}")
        if axis >= x.ndim:
            raise ValueError(f"axis {axis} is out of bounds for array of shape {x.shape}")
        accepted = "f" if primitive is cumlogsumexp_p else "iufc"
        if dtypes.kind(x.dtype) not in accepted:
            raise TypeError(
                f"{primitive.name} does not accept dtype {x.dtype.name}: convert with x.astype"
            )
        return x

    def batch(vals: Any, dims: Any, *, axis: int, reverse: bool) -> Any:
        (x,), (dim,) = vals, dims
        return primitive.bind(x, axis=axis if axis < dim else axis + 1, reverse=reverse), dim

    impl_rules[primitive] = impl
    abstract_eval_rules[primitive] = aval
    batch_rules[primitive] = batch


_def_cumulative(cumsum_p, lambda x, axis: np.add.accumulate(x, axis, x.dtype))
_def_cumulative(cumprod_p, lambda x, axis: np.multiply.accumulate(x, axis, x.dtype))
_def_cumulative(cummax_p, lambda x, axis: np.maximum.accumulate(x, axis))
_def_cumulative(cummin_p, lambda x, axis: np.minimum.accumulate(x, axis))
_def_cumulative(cumlogsumexp_p, in_float32(lambda x, axis: np.logaddexp.accumulate(x, axis)))


def _cumsum_transpose(ct: Any, x: Any, *, axis: int, reverse: bool) -> list[Any]:
    return [cumsum(ct, axis, not reverse)]


def _def_cumulative_jvp(primitive: Primitive, combine: Callable) -> None:
    """The JVP of the scan's program: its steps have rules of their own."""

    def rule(primals: Any, tangents: Any, *, axis: int, reverse: bool) -> Any:
        scan = functools.partial(associative_scan, combine, axis=axis, reverse=reverse)
        return jvp(scan, primals, tangents)

    jvp_rules[primitive] = rule


deflinear2(cumsum_p, _cumsum_transpose)
_def_cumulative_jvp(cumprod_p, primitives.mul)
_def_cumulative_jvp(cummax_p, max_)
_def_cumulative_jvp(cummin_p, min_)
_def_cumulative_jvp(cumlogsumexp_p, logaddexp)


# ---- public functions ----


def cumsum(operand: Any, axis: int = 0, reverse: bool = False) -> Array:
    """The sum of the elements up to each one along `axis`; from the end if `reverse`.

    Raises ValueError for a negative axis, TypeError for bools; as jax.lax.cumsum."""
    return cumsum_p.bind(operand, axis=int(axis), reverse=bool(reverse))


def cumprod(operand: Any, axis: int = 0, reverse: bool = False) -> Array:
    """The product of the elements up to each one along `axis`; from the end if `reverse`."""
    return cumprod_p.bind(operand, axis=int(axis), reverse=bool(reverse))


def cummax(operand: Any, axis: int = 0, reverse: bool = False) -> Array:
    """The maximum of the elements up to each one along `axis`; nan stays from where it occurs."""
    return cummax_p.bind(operand, axis=int(axis), reverse=bool(reverse))


def cummin(operand: Any, axis: int = 0, reverse: bool = False) -> Array:
    """The minimum of the elements up to each one along `axis`; nan stays from where it occurs."""
    return cummin_p.bind(operand, axis=int(axis), reverse=bool(reverse))


def cumlogsumexp(operand: Any, axis: int = 0, reverse: bool = False) -> Array:
    """log(cumsum(exp(operand))) along `axis`, without overflow; of floats only."""
    return cumlogsumexp_p.bind(operand, axis=int(axis), reverse=bool(reverse))
