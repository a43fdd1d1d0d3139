"""Searching: argmax, nonzero, counting, and places in flat arrays.

nonzero needs `size=` under jit, as a shape can't depend on values. It is found by sums and counts.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core import dtypes, type_promotion
from tinyjax.core.array import Array
from tinyjax.core.bind import as_array
from tinyjax.core.primitives import shape_of
from tinyjax.lax.shape import canonicalize_axis
from tinyjax.numpy import reductions, ufuncs
from tinyjax.numpy.creation import zeros
from tinyjax.numpy.cumulative import cumsum
from tinyjax.numpy.elementary import clip
from tinyjax.numpy.joining import vstack
from tinyjax.numpy.logic import greater, greater_equal, less, logical_or, not_equal
from tinyjax.numpy.manipulation import atleast_1d, ravel, reshape, transpose
from tinyjax.numpy.ranges import arange
from tinyjax.numpy.reductions import check_no_out
from tinyjax.numpy.selecting import where_
from tinyjax.numpy.ufuncs import add, floor_divide, multiply, remainder
from tinyjax.numpy.util import (
    INT32,
    concrete,
    concrete_int,
    constant,
    convert,
    ensure_arraylike,
    user_dtype,
)

# ---- extremes ----


def argmax(
    a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Array:
    """The index of the largest value along `axis` (in the flat array if None); as numpy.argmax.

    The first of several; a NaN counts as largest. Raises ValueError for an empty array."""
    check_no_out("argmax", out)
    return _arg("argmax", lax.argmax, a, axis, bool(keepdims))


def argmin(
    a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Array:
    """The index of the smallest value along `axis` (in the flat array if None); as numpy.argmin."""
    check_no_out("argmin", out)
    return _arg("argmin", lax.argmin, a, axis, bool(keepdims))


def _arg(name: str, find: Callable, a: Any, axis: int | None, keepdims: bool) -> Any:
    a = ensure_arraylike(name, a)
    if axis is None:
        removed = tuple(range(a.ndim))
        a, axis = ravel(a), 0
    else:
        axis = canonicalize_axis(axis, a.ndim)
        removed = (axis,)
    if a.shape[axis] == 0:
        raise ValueError(f"attempt to get {name} of an empty sequence")
    result = find(a, axis, dtypes.default_dtype(int))
    return lax.expand_dims(result, removed) if keepdims else result


# ---- positions of nonzero elements ----


def nonzero(a: Any, *, size: int | None = None, fill_value: Any = None) -> tuple[Array, ...]:
    """The positions of nonzero elements, an index array for each axis; as numpy.nonzero.

    With `size` there are that many: the rest is cut, missing ones are `fill_value` (0). Raises
    ConcretizationTypeError for a traced array without `size`, ValueError for scalars."""
    a = ensure_arraylike("nonzero", a)
    if a.ndim == 0:
        raise ValueError(
            "Calling nonzero on 0d arrays is not allowed. Use jnp.atleast_1d(scalar).nonzero() instead."
        )
    mask = a if a.dtype == np.bool_ else not_equal(a, 0)
    found = reductions.sum(mask) if size is None else size
    count = concrete_int(
        found,
        "the number of results of jnp.nonzero, argwhere, flatnonzero or where",
        "Give it by size=, and what fills them up by fill_value=; jnp.where(condition, a, b) needs neither.",
    )
    if a.size == 0 or count == 0:
        return tuple(zeros(count, int) for _ in a.shape)
    # The sum of the mask up to a place is the number of nonzero elements up to it: counting equal sums,
    # and summing the counts, gives the place of the n-th.
    flat = _cumsum(bincount(_cumsum(mask), length=count))
    strides = np.cumprod((1, *a.shape[:0:-1]))[::-1]
    out = tuple(
        remainder(floor_divide(flat, np.int32(stride)), n) for stride, n in zip(strides, a.shape)
    )
    if fill_value is None:
        return out
    fills = fill_value if isinstance(fill_value, tuple) else (fill_value,) * a.ndim
    if any(shape_of(x) != () for x in fills):
        raise ValueError(
            f"fill_value must be a scalar or a tuple of length {a.ndim}; got {fill_value}"
        )
    missing = greater_equal(arange(count), reductions.sum(mask))
    return tuple(where_(missing, fill, entry) for fill, entry in zip(fills, out))


def _cumsum(x: Any) -> Any:
    return cumsum(x)


def flatnonzero(a: Any, *, size: int | None = None, fill_value: Any = None) -> Array:
    """The positions of nonzero elements in the flat array; as numpy.flatnonzero."""
    return nonzero(ravel(a), size=size, fill_value=fill_value)[0]


def argwhere(a: Any, *, size: int | None = None, fill_value: Any = None) -> Array:
    """The positions of nonzero elements, a row each; as numpy.argwhere."""
    a = ensure_arraylike("argwhere", a)
    rows = transpose(vstack(nonzero(atleast_1d(a), size=size, fill_value=fill_value)))
    if a.ndim == 0:
        return reshape(rows[:0], (rows.shape[0], 0))
    return reshape(rows, (rows.shape[0], a.ndim))


def bincount(
    x: Any, weights: Any = None, minlength: int = 0, *, length: int | None = None
) -> Array:
    """How often each non-negative integer occurs in `x` (or the sum of weights); as numpy.bincount.

    The result's size is `length`, else the largest value plus 1. Raises ConcretizationTypeError for a
    traced x without `length`, TypeError if x holds no integers."""
    x = ensure_arraylike("bincount", x)
    if x.dtype == np.bool_:
        x = convert(x, INT32)
    if dtypes.kind(x.dtype) not in "iu":
        raise TypeError(f"x argument to bincount must have an integer type; got {x.dtype}")
    if x.ndim != 1:
        raise ValueError("only 1-dimensional input supported.")
    if length is None:
        minlength = concrete_int(minlength, "argument 'minlength' of jnp.bincount.")
        values = np.asarray(
            concrete(
                x,
                "the argument x of jnp.bincount, on which the result's shape depends",
                "Give the number of bins by length=.",
            )
        )
        length = max(minlength, int(max(0, values.max())) + 1 if values.size else 0)
    length = concrete_int(length, "argument 'length' of jnp.bincount.")
    if weights is None:
        weights = constant(1, dtypes.default_dtype(int))
    elif shape_of(weights) != x.shape:
        raise ValueError("shape of weights must match shape of x.")
    weights = as_array(weights)
    return zeros(length, weights.dtype).at[clip(x, 0)].add(weights, mode="drop")


# ---- positions in flat and shaped arrays ----


def unravel_index(indices: Any, shape: Any) -> tuple[Array, ...]:
    """The positions along each axis of places in the flat array, clamped; as numpy.unravel_index."""
    indices = ensure_arraylike("unravel_index", indices)
    sizes = [shape] if np.ndim(shape) == 0 else list(shape)
    if any(np.ndim(n) != 0 for n in sizes):
        raise ValueError("unravel_index: shape should be a scalar or 1D sequence.")
    found: list[Any] = []
    for n in reversed(sizes):
        indices, position = ufuncs.divmod(indices, n)
        found.insert(0, position)
    too_high = greater(indices, 0)
    unsigned = dtypes.kind(indices.dtype) == "u"
    too_low = constant(False, np.dtype(bool)) if unsigned else less(indices, -1)
    return tuple(
        where_(too_high, n - 1, where_(too_low, 0, position)) for n, position in zip(sizes, found)
    )


def ravel_multi_index(
    multi_index: Any, dims: Any, mode: str = "raise", order: str = "C", *, dtype: Any = None
) -> Array:
    """The places in the flat array of positions along each axis; as numpy.ravel_multi_index.

    mode 'raise' needs known values (ValueError if out of range); 'wrap' and 'clip' do not."""
    if len(multi_index) != len(dims):
        raise ValueError(f"{len(multi_index)} index arrays for {len(dims)} dims")
    dims = tuple(operator.index(n) for n in dims)
    indices = [ensure_arraylike("ravel_multi_index", i) for i in multi_index]
    out_dtype = type_promotion.result_type(int, *indices) if dtype is None else user_dtype(dtype)
    if any(dtypes.kind(i.dtype) not in "iu" for i in indices):
        raise TypeError("only int indices permitted")
    if mode == "raise":
        for i, n in zip(indices, dims):
            concrete(i, "in jnp.ravel_multi_index", "Use mode='wrap' or mode='clip'.")
            if reductions.any(logical_or(less(i, 0), greater_equal(i, n))):
                raise ValueError("invalid entry in coordinates array")
    elif mode == "clip":
        indices = [clip(i, 0, n - 1) for i, n in zip(indices, dims)]
    elif mode == "wrap":
        indices = [remainder(i, n) for i, n in zip(indices, dims)]
    else:
        raise ValueError(f"invalid mode={mode!r}. Expected 'raise', 'wrap' or 'clip'.")
    if order not in ("C", "F"):
        raise ValueError(f"invalid order={order!r}. Expected 'C' or 'F'")
    if order == "F":
        indices, dims = indices[::-1], dims[::-1]
    strides = np.cumprod((1, *dims[:0:-1]))[::-1]
    result: Any = constant(0, out_dtype)
    for i, stride in zip(indices, strides):
        result = add(result, multiply(convert(i, out_dtype), int(stride)))
    return result
