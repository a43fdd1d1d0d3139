"""Running sums, products, maxima and minima along an axis, and associative_scan.

After this file you can say how a scan runs in parallel: combine neighbours, scan the half-sized
result, fill in the other half. That program is also what differentiation uses. Builds on shape and
the elementwise primitives.

Source: G. Blelloch, "Prefix sums and their applications" (1990)
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tinyjax import dtypes, primitives
from tinyjax.array import Array, ShapedArray
from tinyjax.core import Primitive, abstract_eval_rules, impl_rules
from tinyjax.interpreters.batching import batch_rules
from tinyjax.interpreters.jvp import jvp, jvp_rules
from tinyjax.interpreters.vjp import deflinear2
from tinyjax.lax import shape as shapes
from tinyjax.lax import slicing
from tinyjax.lax.arithmetic import max as max_
from tinyjax.lax.arithmetic import min as min_
from tinyjax.lax.bitwise import bitwise_or
from tinyjax.lax.elementwise import in_float32
from tinyjax.lax.joining import concatenate
from tinyjax.lax.log_sums import logaddexp
from tinyjax.primitives import shape_of
from tinyjax.tree_util import tree_flatten, tree_unflatten

# ---- associative_scan ----


def associative_scan(fn: Callable, elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    """The running combination of the elements along `axis` by an associative `fn`.

    `elems` is a pytree of arrays with one size along `axis`; `fn(a, b)` combines two such trees
    element by element. With `reverse`, the scan runs from the end. The result has the shapes of
    `elems`. Raises TypeError if `fn` can't be called, ValueError where sizes differ.
    Source: https://docs.jax.dev/en/latest/_autosummary/jax.lax.associative_scan.html
    """
    if not callable(fn):
        raise TypeError("lax.associative_scan: fn argument should be callable.")
    leaves, tree = tree_flatten(elems)
    axis = shapes.canonicalize_axis(axis, len(shape_of(leaves[0])))
    if len({shape_of(x)[axis] for x in leaves}) > 1:
        raise ValueError(
            f"Array inputs to associative_scan must have the same size along axis {axis}. "
            f"(saw: {[shape_of(x) for x in leaves]})"
        )

    def combine(a: list[Any], b: list[Any]) -> list[Any]:
        return tree_flatten(fn(tree_unflatten(tree, a), tree_unflatten(tree, b)))[0]

    if reverse:
        leaves = [shapes.rev(x, [axis]) for x in leaves]
    outs = _scan(combine, leaves, axis)
    if reverse:
        outs = [shapes.rev(x, [axis]) for x in outs]
    return tree_unflatten(tree, outs)


def _scan(combine: Callable, elems: list[Any], axis: int) -> list[Any]:
    """The scan of pairs gives the odd places; each even place is the one before, and one more."""
    size = shape_of(elems[0])[axis]
    if size < 2:
        return elems

    def part(xs: list[Any], start: int, limit: int | None, stride: int = 1) -> list[Any]:
        return [slicing.slice_in_dim(x, start, limit, stride, axis) for x in xs]

    odd = _scan(combine, combine(part(elems, 0, -1, 2), part(elems, 1, None, 2)), axis)
    before = part(odd, 0, -1) if size % 2 == 0 else odd
    even = combine(before, part(elems, 2, None, 2))
    first = part(elems, 0, 1)
    even = [concatenate(pair, axis) for pair in zip(first, even)]
    return [_interleave(a, b, axis) for a, b in zip(even, odd)]


def _interleave(even: Any, odd: Any, axis: int) -> Any:
    """The elements of both in turn: each is padded with zeros at the other's places, and they add."""
    ndim = len(shape_of(even))
    same_size = int(shape_of(even)[axis] == shape_of(odd)[axis])
    zero = np.zeros((), even.dtype)
    even_config, odd_config = [(0, 0, 0)] * ndim, [(0, 0, 0)] * ndim
    even_config[axis] = (0, same_size, 1)
    odd_config[axis] = (1, 1 - same_size, 1)
    join = bitwise_or if even.dtype == np.bool_ else primitives.add
    return join(slicing.pad(even, zero, even_config), slicing.pad(odd, zero, odd_config))


# ---- the primitives ----

cumsum_p = Primitive("cumsum")
cumprod_p = Primitive("cumprod")
cummax_p = Primitive("cummax")
cummin_p = Primitive("cummin")
cumlogsumexp_p = Primitive("cumlogsumexp")


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
