"""Means and spread: mean, average, var, std."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core import dtypes
from tinyjax.core.array import Array
from tinyjax.core.config import config
from tinyjax.core.declared_functions import named
from tinyjax.core.primitives import shape_of
from tinyjax.lax.elementwise import real_dtype, to_inexact_dtype
from tinyjax.numpy.logic import greater
from tinyjax.numpy.promotion import promote_dtypes_inexact
from tinyjax.numpy.reductions import Axis, check_no_out, check_where, is_half, sum
from tinyjax.numpy.selecting import where_
from tinyjax.numpy.ufuncs import divide, multiply
from tinyjax.numpy.util import (
    broadcast_to,
    canonicalize_axes,
    constant,
    convert,
    ensure_arraylike,
    static_axes,
    user_dtype,
)
from tinyjax.transform.jit.api import jitted


def mean(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: Any = None,
) -> Array:
    """The mean over `axis`, a float for integers; as numpy.mean."""
    check_no_out("mean", out)
    a = ensure_arraylike("mean", a)
    where = check_where("mean", where)
    result_dtype = to_inexact_dtype(a.dtype) if dtype is None else user_dtype(dtype, "mean")
    upcast = dtype is None and is_half(result_dtype)
    work_dtype = np.dtype("float32") if upcast else result_dtype
    axis = static_axes(axis)
    count = _count(a, axis, keepdims, where, work_dtype)
    total = sum(a, axis, dtype=work_dtype, keepdims=keepdims, where=where)
    return convert(lax.div(total, count), result_dtype)


def _count(a: Any, axis: Axis, keepdims: bool, where: Any, dtype: np.dtype) -> Any:
    """How many elements go into each result."""
    if where is None:
        return dtype.type(math.prod(a.shape[i] for i in canonicalize_axes(axis, a.ndim)))
    return sum(broadcast_to(where, a.shape), axis, dtype=dtype, keepdims=keepdims)


def average(
    a: Any, axis: Axis = None, weights: Any = None, returned: bool = False, keepdims: bool = False
) -> Any:
    """The mean over `axis`, weighted; with `returned` also the sum of weights; as numpy.average.

    Raises ValueError if the weights' shape does not fit."""
    axis = static_axes(axis)
    axes = canonicalize_axes(axis, len(shape_of(a)))
    if weights is None:
        (a,) = promote_dtypes_inexact(ensure_arraylike("average", a))
        avg = mean(a, axis, keepdims=keepdims)
        weights_sum: Any = constant(math.prod(a.shape[i] for i in axes), avg.dtype)
    else:
        a, weights = promote_dtypes_inexact(*ensure_arraylike("average", a, weights))
        if a.shape != weights.shape:
            if axis is None:
                raise ValueError("Axis must be specified when shapes of a and weights differ.")
            if weights.shape != tuple(a.shape[i] for i in axes):
                raise ValueError(
                    "Shape of weights must be consistent with shape of a along specified axis."
                )
            order = tuple(int(i) for i in np.argsort(axes))
            new_shape = tuple(n if i in axes else 1 for i, n in enumerate(a.shape))
            weights = lax.reshape(weights, new_shape, order)
        weights_sum = sum(weights, axis, keepdims=keepdims)
        avg = divide(sum(multiply(a, weights), axis, keepdims=keepdims), weights_sum)
    if not returned:
        return avg
    return avg, broadcast_to(weights_sum, avg.shape)


def _spread(name: str, doc: str, work: Callable, mean_name: str) -> Callable[..., Array]:
    """var or std. `mean_name` is the mean in `work`: jaxprs have a function's arguments in order of names."""

    @named(name, doc)
    def spread(
        a: Any, axis: Axis = None, dtype: Any = None, out: None = None, ddof: Any = 0,
        keepdims: bool = False, *, where: Any = None, mean: Any = None, correction: Any = None,
    ) -> Array:  # fmt: skip
        check_no_out(name, out)
        options = {"correction": _ddof(ddof, correction), "where": where, mean_name: mean}
        a = ensure_arraylike(name, a)
        return work(a, axis=static_axes(axis), dtype=dtype, keepdims=keepdims, **options)

    return spread


def _ddof(ddof: Any, correction: Any) -> Any:
    if correction is None:
        return ddof
    if not isinstance(ddof, int) or ddof != 0:
        raise ValueError("ddof and correction can't be provided simultaneously.")
    ensure_arraylike("correction", correction)  # raises if it is no number
    return correction


@jitted(static_argnames=("axis", "dtype", "keepdims"))
def _var(
    a: Any, *, axis: Axis, dtype: Any, correction: Any, keepdims: bool, where: Any, a_mean: Any
) -> Any:
    where = check_where("var", where)
    work_dtype, out_dtype = var_dtypes(a.dtype, dtype, "var")
    a = convert(a, work_dtype)
    if a_mean is None:
        a_mean = mean(a, axis, dtype=work_dtype, keepdims=True, where=where)
    else:
        a_mean = convert(ensure_arraylike("var", a_mean), work_dtype)
    squares = squared_length(lax.sub(a, a_mean))
    count = _count(a, axis, keepdims, where, squares.dtype)
    count = lax.sub(count, convert(correction, squares.dtype))
    total = sum(squares, axis, dtype=squares.dtype, keepdims=keepdims, where=where)
    result = convert(lax.div(total, count), out_dtype)
    with config.set("jax_debug_nans", False):
        return where_(greater(count, 0), result, np.nan)


def squared_length(x: Any) -> Any:
    """|x|**2, real."""
    if dtypes.kind(x.dtype) == "c":
        return lax.real(lax.mul(x, lax.conj(x)))
    return lax.square(x)


def var_dtypes(a_dtype: np.dtype, dtype: Any, name: str) -> tuple[np.dtype, np.dtype]:
    """The dtypes that a variance is computed in and returned in."""
    if dtype is not None:
        dtype = user_dtype(dtype, name)
        if dtypes.kind(a_dtype) == "c" and dtypes.kind(dtype) != "c":
            raise ValueError(
                f"jax.numpy.{name} does not yet support real dtype parameters when computing the "
                "variance of an array of complex values."
            )
        work, out = dtype, dtype
    elif not dtypes.is_inexact(a_dtype):
        work = out = to_inexact_dtype(a_dtype)
    else:
        work, out = a_dtype, real_dtype(a_dtype)
    return (np.dtype("float32") if is_half(work) else work), out


@jitted(static_argnames=("axis", "dtype", "keepdims"))
def _std(
    a: Any, *, axis: Axis, dtype: Any, correction: Any, keepdims: bool, where: Any, mean: Any
) -> Any:
    if dtype is not None and not dtypes.is_inexact(user_dtype(dtype, "std")):
        raise ValueError(f"dtype argument to jnp.std must be inexact; got {dtype}")
    options = {"where": where, "mean": mean, "correction": correction}
    return lax.sqrt(var(a, axis, dtype=dtype, keepdims=keepdims, **options))


_SHARED = """

    Divided by n - ddof. Real for complex arrays. Raises ValueError if both ddof and correction are given."""
_STD = "The standard deviation over `axis`, the root of var"
var = _spread("var", f"The variance over `axis`; as numpy.var.{_SHARED}", _var, "a_mean")
std = _spread("std", f"{_STD}; as numpy.std.{_SHARED}", _std, "mean")
