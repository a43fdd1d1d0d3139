"""Quantiles and medians, with and without NaN.

Sort, then take a weighted mean of the two neighbours of a fractional place.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core import dtypes
from tinyjax.core.array import Array
from tinyjax.core.declared_functions import named
from tinyjax.lax.shape import canonicalize_axis, without
from tinyjax.numpy import reductions
from tinyjax.numpy.logic import isnan
from tinyjax.numpy.manipulation import ravel
from tinyjax.numpy.promotion import promote_dtypes_inexact
from tinyjax.numpy.reductions import check_no_out
from tinyjax.numpy.selecting import where_
from tinyjax.numpy.ufuncs import divide, subtract
from tinyjax.numpy.util import (
    canonicalize_axes,
    constant,
    constant_like,
    convert,
    ensure_arraylike,
    weak_constant_like,
)
from tinyjax.transform.jit.api import jitted

_STATIC = ("axis", "overwrite_input", "keepdims", "method")
_METHODS = ("linear", "lower", "higher", "midpoint", "nearest")


def _functions(skip_nan: bool) -> list[Callable[..., Array]]:
    """Makes quantile, percentile and median, or their variants that skip NaN."""
    prefix, of_nan = ("nan", "NaN is left out.") if skip_nan else ("", "NaN where there is one.")

    def public(fun: Callable) -> Callable[..., Array]:
        """`fun` with jax.numpy's name and docstring."""
        name = prefix + fun.__name__
        doc = f"{inspect.cleandoc(fun.__doc__ or '')} {of_nan}\n\nAs numpy.{name}."
        static = [p for p in inspect.signature(fun).parameters if p in _STATIC]
        return jitted(named(name, doc)(fun), static_argnames=static)

    @public
    def quantile(
        a: Any, q: Any, axis: Any = None, out: None = None, overwrite_input: bool = False,
        method: str = "linear", keepdims: bool = False,
    ) -> Array:  # fmt: skip
        """The values below which fractions `q` (in [0, 1]) of the elements lie.

        A vector `q` becomes the first axis. Raises ValueError for complex arrays, a `q` of more axes and
        an unknown method."""
        check_no_out(quantile.__name__, out)
        a, q = ensure_arraylike(quantile.__name__, a, q)
        return _quantile(a, q, axis, method, keepdims, skip_nan)

    def percentile(a: Any, q: Any, *args: Any, **options: Any) -> Array:
        """quantile with `q` in [0, 100]."""
        a, q = ensure_arraylike(f"{prefix}percentile", a, q)
        (q,) = promote_dtypes_inexact(q)
        return quantile(a, divide(q, 100), *args, **options)

    @public
    def median(
        a: Any,
        axis: Any = None,
        out: None = None,
        overwrite_input: bool = False,
        keepdims: bool = False,
    ) -> Array:
        """The middle value (the mean of the two middle ones)."""
        a = ensure_arraylike(median.__name__, a)
        if not skip_nan and not all(a.shape[i] for i in canonicalize_axes(axis, a.ndim)):
            raise ValueError("jax.numpy.median reduction axis must be non-empty")
        return quantile(a, 0.5, axis=axis, out=out, keepdims=keepdims, method="midpoint")

    vars(percentile)["__signature__"] = inspect.signature(quantile)
    return [quantile, public(percentile), median]


quantile, percentile, median = _functions(skip_nan=False)
nanquantile, nanpercentile, nanmedian = _functions(skip_nan=True)


def _quantile(a: Any, q: Any, axis: Any, method: str, keepdims: bool, skip_nan: bool) -> Any:
    if method not in _METHODS:
        raise ValueError(f"method can only be one of {', '.join(_METHODS)}; got {method!r}")
    (a,) = promote_dtypes_inexact(a)
    if dtypes.kind(a.dtype) == "c":
        raise ValueError(
            "quantile does not support complex input, as the operation is poorly defined."
        )
    if q.ndim > 1:
        raise ValueError(f"q must be have rank <= 1, got shape {q.shape}")
    a, axis, kept_shape = _one_axis(a, axis)
    if skip_nan and not a.shape[axis]:  # NumPy gives the mean of no elements, whatever q is
        shape = kept_shape if keepdims else without(a.shape, [axis])
        return lax.full(shape, np.nan, a.dtype)
    work = _of_sorted_with_nan if skip_nan else _of_sorted
    out = work(a, q, axis, method)
    if keepdims:
        out = lax.reshape(out, (*q.shape, *kept_shape))
    return convert(out, a.dtype)


def _one_axis(a: Any, axis: Any) -> tuple[Any, int, tuple[int, ...]]:
    """`a` with the axes to reduce merged into one, that axis, and the shape for keepdims."""
    if axis is None:
        return ravel(a), 0, (1,) * a.ndim
    if not isinstance(axis, tuple):
        axis = canonicalize_axis(axis, a.ndim)
        return a, axis, tuple(1 if i == axis else n for i, n in enumerate(a.shape))
    axes = [canonicalize_axis(i, a.ndim) for i in axis]
    if len(set(axes)) != len(axes):
        raise ValueError("repeated axis")
    others = [i for i in range(a.ndim) if i not in axes]
    kept_shape = tuple(1 if i in axes else n for i, n in enumerate(a.shape))
    merged = math.prod(a.shape[i] for i in axes)
    shape = (*(a.shape[i] for i in others), merged)
    return lax.reshape(a, shape, (*others, *axes)), len(others), kept_shape


def _of_sorted(a: Any, q: Any, axis: int, method: str) -> Any:
    any_nan = reductions.any(isnan(a), axis=axis, keepdims=True)
    a = lax.sort(where_(any_nan, np.nan, a), dimension=axis)
    size = constant(a.shape[axis], q.dtype)
    place = lax.mul(q, subtract(size, 1))
    low, high = lax.floor(place), lax.ceil(place)
    high_weight = lax.sub(place, low)
    low_weight = lax.sub(constant_like(place, 1), high_weight)
    zero = constant_like(place, 0)
    int32 = np.dtype("int32")
    low, high = [lax.clamp(zero, i, subtract(size, 1)) for i in (low, high)]
    low, high = convert(low, int32), convert(high, int32)
    offset_dims = tuple(range(q.ndim, a.ndim + q.ndim - 1))
    numbers = lax.GatherDimensionNumbers(offset_dims, (axis,), (axis,))
    sizes = tuple(1 if i == axis else n for i, n in enumerate(a.shape))
    low_value, high_value = (
        lax.gather(a, lax.expand_dims(i, (i.ndim,)), numbers, sizes) for i in (low, high)
    )
    if q.ndim == 1:
        low_weight, high_weight = (
            lax.broadcast_in_dim(w, low_value.shape, (0,)) for w in (low_weight, high_weight)
        )
    return _between(low_value, high_value, low_weight, high_weight, method)


def _of_sorted_with_nan(a: Any, q: Any, axis: int, method: str) -> Any:
    """NaN sorts to the end: each vector has its own number of elements."""
    a = lax.sort(where_(isnan(a), np.nan, a), dimension=axis)
    count = reductions.sum(lax.bitwise_not(isnan(a)), axis=axis, dtype=q.dtype)
    q = lax.expand_dims(q, range(q.ndim, count.ndim + q.ndim)) if count.ndim else q
    q_ndim = q.ndim - count.ndim
    count = lax.expand_dims(count, range(q_ndim)) if q_ndim else count
    place = lax.mul(q, lax.sub(count, weak_constant_like(q, 1)))
    low, high = lax.floor(place), lax.ceil(place)
    high_weight = lax.sub(place, low)
    low_weight = lax.sub(constant_like(place, 1), high_weight)
    zero, int32 = constant_like(place, 0), np.dtype("int32")
    low, high = [lax.max(zero, lax.min(i, subtract(count, 1))) for i in (low, high)]
    low, high = convert(low, int32), convert(high, int32)
    shape = low.shape
    index = [lax.broadcasted_iota(int32, shape, i + q_ndim) for i in range(len(shape) - q_ndim)]
    low_value, high_value = (a[(*index[:axis], i, *index[axis:])] for i in (low, high))
    return _between(low_value, high_value, low_weight, high_weight, method)


def _between(low: Any, high: Any, low_weight: Any, high_weight: Any, method: str) -> Any:
    if method == "linear":
        dtype = low_weight.dtype
        low, high = convert(low, dtype), convert(high, dtype)
        return lax.add(lax.mul(low, low_weight), lax.mul(high, high_weight))
    if method == "lower":
        return low
    if method == "higher":
        return high
    if method == "nearest":
        return lax.select(lax.le(high_weight, constant_like(high_weight, 0.5)), low, high)
    return lax.mul(lax.add(low, high), constant_like(low, 0.5))
