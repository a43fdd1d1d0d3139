"""Running sums, products, maxima and minima along an axis.

NumPy computes them. The derivative is that of the parallel program, associative_scan; that of cumlogsumexp
follows from each element's share of a sum.

Source: G. Blelloch, "Prefix sums and their applications" (1990)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tinyjax.core import dtypes
from tinyjax.core.array import Array, ShapedArray
from tinyjax.core.bind import Primitive, abstract_eval_rules, impl_rules
from tinyjax.core.declared_functions import public
from tinyjax.core.primitives import add, mul
from tinyjax.lax.arithmetic import max as max_
from tinyjax.lax.arithmetic import min as min_
from tinyjax.lax.control_flow.associative_scan import associative_scan
from tinyjax.lax.control_flow.scan import scan
from tinyjax.lax.elementwise import in_float32
from tinyjax.lax.joining import concatenate
from tinyjax.lax.log_sums import share
from tinyjax.lax.shape import rev
from tinyjax.lax.slicing import index_in_dim, slice_in_dim
from tinyjax.transform.batching import batch_rules, moveaxis
from tinyjax.transform.jvp import jvp, jvp_rules
from tinyjax.transform.transposition import deflinear2


def _cumulative(
    name: str, accumulate: Callable, combine: Any = None, kinds: str = "iufc"
) -> Primitive:
    """A primitive that `accumulate` computes; its JVP is that of associative_scan by `combine`."""
    primitive = Primitive(name, axes="cumulative", cost=1, makes_nan=True)

    def impl(x: np.ndarray, *, axis: int, reverse: bool) -> np.ndarray:
        if reverse:
            return np.flip(accumulate(np.flip(x, axis), axis=axis), axis)
        return accumulate(x, axis=axis)

    def aval(x: ShapedArray, *, axis: int, reverse: bool) -> ShapedArray:
        if axis < 0:
            raise ValueError(f"XLA operations do not allow negative axes, got axis {axis}")
        if axis >= x.ndim:
            raise ValueError(f"axis {axis} is out of bounds for array of shape {x.shape}")
        if dtypes.kind(x.dtype) not in kinds:
            raise TypeError(f"{name} does not accept dtype {x.dtype.name}: convert with x.astype")
        return x

    def batch(vals: Any, dims: Any, *, axis: int, reverse: bool) -> Any:
        (x,), (dim,) = vals, dims
        return primitive.bind(x, axis=axis if axis < dim else axis + 1, reverse=reverse), dim

    def of_scan(primals: Any, tangents: Any, **params: Any) -> Any:
        return jvp(lambda x: associative_scan(combine, x, **params), primals, tangents)

    impl_rules[primitive] = impl
    abstract_eval_rules[primitive] = aval
    batch_rules[primitive] = batch
    if combine is not None:
        jvp_rules[primitive] = of_scan
    return primitive


def _add(x: np.ndarray, axis: int) -> np.ndarray:
    return np.add.accumulate(x, axis, x.dtype)


def _multiply(x: np.ndarray, axis: int) -> np.ndarray:
    return np.multiply.accumulate(x, axis, x.dtype)


cumsum_p = _cumulative("cumsum", _add)
cumprod_p = _cumulative("cumprod", _multiply, mul)
cummax_p = _cumulative("cummax", np.maximum.accumulate, max_)
cummin_p = _cumulative("cummin", np.minimum.accumulate, min_)
cumlogsumexp_p = _cumulative("cumlogsumexp", in_float32(np.logaddexp.accumulate), kinds="f")


def _of_log_sums(primals: Any, tangents: Any, *, axis: int, reverse: bool) -> Any:
    """The derivative of cumlogsumexp. Each sum adds an element to the sum before it: its tangent is the sum
    of their tangents, each multiplied by its share."""
    (x,), (x_dot,) = primals, tangents
    out = cumlogsumexp_p.bind(x, axis=axis, reverse=reverse)
    count = x.shape[axis]
    if count < 2:
        return out, x_dot

    def in_order(x: Any) -> Any:
        return rev(moveaxis(x, axis, 0), (0,)) if reverse else moveaxis(x, axis, 0)

    def after(x: Any) -> Any:
        return slice_in_dim(x, 1, count)

    def step(before: Any, xs: Any) -> Any:
        of_sum, of_element = xs
        tangent = add(mul(of_sum, before), of_element)
        return tangent, tangent

    x, x_dot, sums = map(in_order, (x, x_dot, out))
    of_sum = share(slice_in_dim(sums, 0, count - 1), after(sums))
    of_element = mul(share(after(x), after(sums)), after(x_dot))
    _, rest = scan(step, index_in_dim(x_dot, 0, keepdims=False), (of_sum, of_element))
    tangent = concatenate([slice_in_dim(x_dot, 0, 1), rest], 0)
    return out, moveaxis(rev(tangent, (0,)) if reverse else tangent, 0, axis)


jvp_rules[cumlogsumexp_p] = _of_log_sums
deflinear2(
    cumsum_p, lambda ct, x, *, axis, reverse: [cumsum_p.bind(ct, axis=axis, reverse=not reverse)]
)


def _along_axis(primitive: Primitive, doc: str) -> Callable[..., Array]:
    """The public function of a primitive."""

    @public("tinyjax.lax", primitive.name, doc)
    def cumulative(operand: Any, axis: int = 0, reverse: bool = False) -> Array:
        return primitive.bind(operand, axis=int(axis), reverse=bool(reverse))

    return cumulative


_UP_TO = "of the elements up to each one along `axis`"
_REVERSED = "from the end if `reverse`. Raises ValueError for a negative axis, TypeError for bools."
cumsum = _along_axis(cumsum_p, f"The sum {_UP_TO}; {_REVERSED}")
cumprod = _along_axis(cumprod_p, f"The product {_UP_TO}; {_REVERSED}")
cummax = _along_axis(cummax_p, f"The maximum {_UP_TO}; nan stays from where it occurs; {_REVERSED}")
cummin = _along_axis(cummin_p, f"The minimum {_UP_TO}; nan stays from where it occurs; {_REVERSED}")
cumlogsumexp = _along_axis(
    cumlogsumexp_p, "log(cumsum(exp(operand))) along `axis`, without overflow; of floats only."
)
