"""Reductions that leave NaN out: nansum, nanmax, nanmean, ...

Each is the plain reduction after a select, with a correction where all elements are NaN.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core import dtypes
from tinyjax.core.array import Array
from tinyjax.core.declared_functions import named
from tinyjax.lax.elementwise import to_inexact_dtype
from tinyjax.numpy import averages, reductions
from tinyjax.numpy.averages import squared_length, var_dtypes
from tinyjax.numpy.logic import isnan
from tinyjax.numpy.reductions import Axis, check_no_out, check_where, identity_for
from tinyjax.numpy.searching import argmax, argmin
from tinyjax.numpy.selecting import where_
from tinyjax.numpy.ufuncs import subtract
from tinyjax.numpy.util import (
    constant,
    constant_like,
    convert,
    ensure_arraylike,
    user_dtype,
    weak_constant_like,
)
from tinyjax.transform.jit.api import jitted


def _without_nan(
    a: Any, name: str, reduction: Callable, identity: float, axis: Axis, keepdims: bool, where: Any,
    nan_if_all_nan: bool, **options: Any,
) -> Any:  # fmt: skip
    """`reduction` with each NaN replaced by `identity`."""
    a = ensure_arraylike(name, a)
    where = check_where(name, where)
    options |= {"axis": axis, "keepdims": keepdims, "where": where}
    if not dtypes.is_inexact(a.dtype):
        return reduction(a, **options)
    filled = where_(isnan(a), constant(identity_for(identity, a.dtype), a.dtype), a)
    out = reduction(filled, **options)
    if not nan_if_all_nan:
        return out
    all_nan = reductions.all(isnan(a), axis=axis, keepdims=keepdims)
    return where_(all_nan, constant_like(a, np.nan), out)


def _nan_extreme(
    name: str, reduction: Callable, identity: float, which: str
) -> Callable[..., Array]:
    @jitted(static_argnames=("axis", "keepdims"))
    @named(name, f"The {which} value that is not NaN (NaN if all are); as numpy.{name}.")
    def nan_extreme(
        a: Any,
        axis: Axis = None,
        out: None = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = None,
    ) -> Array:
        check_no_out(name, out)
        args = (identity, axis, keepdims, where, initial is None)
        return _without_nan(a, name, reduction, *args, initial=initial)

    return nan_extreme


nanmin = _nan_extreme("nanmin", reductions.min, np.inf, "smallest")
nanmax = _nan_extreme("nanmax", reductions.max, -np.inf, "largest")


def _nan_total(name: str, reduction: Callable, identity: int, which: str) -> Callable[..., Array]:
    @jitted(static_argnames=("axis", "dtype", "keepdims"))
    @named(name, f"The {which} of what is not NaN; as numpy.{name}.")
    def nan_total(
        a: Any, axis: Axis = None, dtype: Any = None, out: None = None, keepdims: bool = False,
        initial: Any = None, where: Any = None,
    ) -> Array:  # fmt: skip
        check_no_out(name, out)
        args = (identity, axis, keepdims, where, False)
        return _without_nan(a, name, reduction, *args, dtype=dtype, initial=initial)

    return nan_total


nansum = _nan_total("nansum", reductions.sum, 0, "sum")
nanprod = _nan_total("nanprod", reductions.prod, 1, "product")


@jitted(static_argnames=("axis", "dtype", "keepdims"))
def nanmean(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    where: Any = None,
) -> Array:
    """The mean of the elements that are not NaN; as numpy.nanmean."""
    check_no_out("nanmean", out)
    a = ensure_arraylike("nanmean", a)
    where = check_where("nanmean", where)
    if not dtypes.is_inexact(a.dtype):
        return averages.mean(a, axis, dtype, keepdims=keepdims, where=where)
    dtype = to_inexact_dtype(a.dtype) if dtype is None else user_dtype(dtype, "nanmean")
    options = {"axis": axis, "dtype": dtype, "keepdims": keepdims, "where": where}
    count = reductions.sum(lax.bitwise_not(isnan(a)), **options)
    return lax.div(nansum(a, **options), count)


def _nan_spread(name: str, which: str, work: Callable[..., Any]) -> Callable[..., Array]:
    @jitted(static_argnames=("axis", "dtype", "keepdims"))
    @named(name, f"The {which} of what is not NaN; as numpy.{name}.")
    def nan_spread(
        a: Any, axis: Axis = None, dtype: Any = None, out: None = None, ddof: Any = 0,
        keepdims: bool = False, where: Any = None, mean: Any = None,
    ) -> Array:  # fmt: skip
        check_no_out(name, out)
        return work(a, axis, dtype=dtype, ddof=ddof, keepdims=keepdims, where=where, mean=mean)

    return nan_spread


def _variance(
    a: Any, axis: Axis, *, dtype: Any, ddof: Any, keepdims: bool, where: Any, mean: Any
) -> Any:
    a = ensure_arraylike("nanvar", a)
    where = check_where("nanvar", where)
    work_dtype, out_dtype = var_dtypes(a.dtype, dtype, "nanvar")
    a = convert(a, work_dtype)
    if mean is None:
        mean = nanmean(a, axis, dtype=work_dtype, keepdims=True, where=where)
    else:
        mean = convert(ensure_arraylike("nanvar", mean), work_dtype)
    squares = squared_length(where_(isnan(a), 0, lax.sub(a, mean)))
    count = reductions.sum(lax.bitwise_not(isnan(a)), axis, keepdims=keepdims, where=where)
    count = subtract(count, ddof)
    too_few = lax.le(count, weak_constant_like(count, 0))
    total = reductions.sum(squares, axis, keepdims=keepdims, where=where)
    total = where_(too_few, np.nan, total)
    return convert(lax.div(total, convert(where_(too_few, 1, count), total.dtype)), out_dtype)


nanvar = _nan_spread("nanvar", "variance", _variance)
nanstd = _nan_spread(
    "nanstd", "standard deviation", lambda a, axis, **options: lax.sqrt(nanvar(a, axis, **options))
)


def _nan_place(name: str, arg: Callable, fill: float, which: str) -> Callable[..., Array]:
    @jitted(static_argnames=("axis", "keepdims"))
    @named(f"_{name}", None)
    def place(a: Any, axis: int | None = None, keepdims: bool = False) -> Any:
        if not dtypes.is_inexact(a.dtype):
            return arg(a, axis=axis, keepdims=keepdims)
        is_nan = isnan(a)
        found = arg(where_(is_nan, fill, a), axis=axis, keepdims=keepdims)
        return where_(reductions.all(is_nan, axis=axis, keepdims=keepdims), -1, found)

    @named(name, f"Where the {which} value that is not NaN is, -1 if all are NaN; as numpy.{name}.")
    def nan_place(
        a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None
    ) -> Array:
        check_no_out(name, out)
        a = ensure_arraylike(name, a)
        return place(a, axis if axis is None else operator.index(axis), keepdims=bool(keepdims))

    return nan_place


nanargmax = _nan_place("nanargmax", argmax, -np.inf, "largest")
nanargmin = _nan_place("nanargmin", argmin, np.inf, "smallest")
