"""Reductions: sum, max, any and others, over axes, with masks.

A mask is a select before the reduction, keepdims a broadcast_in_dim after it. Means are in averages.py,
reductions that skip NaN in nan_reductions.py, running ones in cumulative.py.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core import dtypes
from tinyjax.core.array import Array
from tinyjax.core.bind import as_array
from tinyjax.core.declared_functions import named, public
from tinyjax.numpy.promotion import promote_dtypes_numeric
from tinyjax.numpy.selecting import where_
from tinyjax.numpy.util import (
    canonicalize_axes,
    constant,
    convert,
    ensure_arraylike,
    static_axes,
    user_dtype,
    weak_constant_like,
)
from tinyjax.transform.jit.api import jitted

Axis = Any  # None, an int, or a tuple of ints

# ---- the one reduction behind all ----


def _reduce(
    a: Any, name: str, reducer: Callable, combine: Callable, identity: Any, axis: Axis = None,
    dtype: np.dtype | None = None, keepdims: bool = False, initial: Any = None, where: Any = None,
    has_identity: bool = True,
) -> Any:  # fmt: skip
    """Applies `reducer` (a lax reduction), after the mask and before `initial` and keepdims.

    `combine` is the binary operation, and `identity` what a masked element becomes."""
    where = check_where(name, where)
    axes = canonicalize_axes(static_axes(axis), a.ndim)
    if initial is None and not has_identity:
        if where is not None:
            raise ValueError(
                f"reduction operation {name} does not have an identity, so to use a where mask one has "
                "to specify 'initial'"
            )
        if builtins.any(a.shape[i] == 0 for i in axes):
            raise ValueError(f"zero-size array to reduction operation {name} which has no identity")
    result_dtype = a.dtype if dtype is None else dtype
    # The mean of a million float16 values does not fit float16: sum in float32.
    upcast = dtype is None and name in ("sum", "prod", "mean") and is_half(a.dtype)
    a = convert(a, np.dtype("float32") if upcast else result_dtype)

    if where is not None:
        a = where_(where, a, constant(identity_for(identity, a.dtype), a.dtype))
    result = reducer(a, axes)
    if initial is not None:
        initial = convert(as_array(initial), a.dtype)
        if initial.shape != ():
            raise ValueError(f"initial value must be a scalar. Got array of shape {initial.shape}")
        result = combine(initial, result)
    if keepdims:
        result = lax.expand_dims(result, axes)
    return convert(result, result_dtype)


def is_half(dtype: np.dtype) -> bool:
    """Whether this is float16 or bfloat16."""
    return dtypes.is_float(dtype) and dtype.itemsize == 2


def check_where(name: str, where: Any) -> Any:
    """A mask as an array, or None. Raises ValueError if it is not boolean."""
    if where is None:
        return None
    where = ensure_arraylike(name, where)
    if where.dtype != np.bool_:
        raise ValueError(
            f"jnp.{name}: where must be None or a boolean array; got where.dtype={where.dtype!r}."
        )
    return where


def identity_for(identity: Any, dtype: np.dtype) -> Any:
    """`identity` as a value of `dtype`: infinities become the extreme integers."""
    kind = dtypes.kind(dtype)
    if kind == "b":
        return identity > 0
    if kind in "iu" and np.isinf(identity):
        info = dtypes.iinfo(dtype)
        return info.max if identity > 0 else info.min
    return identity


def _integer_sum_dtype(dtype: np.dtype) -> np.dtype:
    """Integers narrower than the default are summed in the default of their kind."""
    kind = dtypes.kind(dtype)
    if kind not in "biu":
        return dtype
    wide = dtypes.canonicalize_dtype("uint64" if kind == "u" else "int64")
    return wide if kind == "b" or dtype.itemsize < wide.itemsize else dtype


def check_no_out(name: str, out: Any) -> None:
    """Raises NotImplementedError if `out` was given: arrays are immutable."""
    if out is not None:
        raise NotImplementedError(f"The 'out' argument to jnp.{name} is not supported.")


# ---- sums and products ----


def _total(
    name: str, doc: str, of_bools: tuple, of_numbers: tuple, identity: int
) -> Callable[..., Array]:
    """sum or prod; `of_bools` and `of_numbers` are a lax reduction and its binary operation."""

    @public("tinyjax.numpy", name, doc)
    def total(
        a: Any, axis: Axis = None, dtype: Any = None, out: None = None, keepdims: bool = False,
        initial: Any = None, where: Any = None, promote_integers: bool = True,
    ) -> Array:  # fmt: skip
        check_no_out(name, out)
        if name == "prod" and isinstance(axis, str):
            raise NotImplementedError("Named reductions not implemented for jnp.prod()")
        (a,) = promote_dtypes_numeric(ensure_arraylike(name, a))
        dtype = _sum_dtype(a, dtype, name, promote_integers)
        reducer, combine = of_bools if dtype == np.bool_ else of_numbers
        return _reduce(a, name, reducer, combine, identity, axis, dtype, keepdims, initial, where)

    return total


def _sum_dtype(a: Any, dtype: Any, name: str, promote_integers: bool) -> np.dtype | None:
    if dtype is not None:
        return user_dtype(dtype, name)
    wide = _integer_sum_dtype(a.dtype)
    return wide if promote_integers and wide != a.dtype else None


_SUM = """The sum over `axis` (all axes if None); as numpy.sum.

    Bools and narrow integers are summed as default integers; float16 in float32. Raises TypeError for
    what is no array, ValueError for a bad axis or mask."""
_PROD = "The product over `axis`; as numpy.prod. Dtypes as in sum."
sum = _total("sum", _SUM, (lax.reduce_or, lax.bitwise_or), (lax.reduce_sum, lax.add), 0)
prod = _total("prod", _PROD, (lax.reduce_and, lax.bitwise_and), (lax.reduce_prod, lax.mul), 1)


# ---- extremes ----


def _extreme(
    name: str, which: str, identity: float, reducer: Callable, combine: Callable
) -> Callable[..., Array]:
    doc = f"""The {which} value over `axis`, NaN if there is one; as numpy.{name}.

    Raises ValueError for an empty axis, or a mask, without `initial`."""

    @named(name, doc)
    def extreme(
        a: Any,
        axis: Axis = None,
        out: None = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = None,
    ) -> Array:
        check_no_out(name, out)
        args = (identity, axis, None, keepdims, initial, where)
        a = ensure_arraylike(name, a)
        return _reduce(a, name, reducer, combine, *args, has_identity=False)

    return extreme


max = _extreme("max", "largest", -np.inf, lax.reduce_max, lax.max)
min = _extreme("min", "smallest", np.inf, lax.reduce_min, lax.min)
amax, amin = max, min


def minmax(
    a: Any,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> tuple[Array, Array]:
    """The smallest and the largest value over `axis`; as numpy.minmax. `initial` may be a pair."""
    low, high = initial if isinstance(initial, tuple) else (initial, initial)
    smallest = min(a, axis, out, keepdims, low, where)
    return smallest, max(a, axis, out, keepdims, high, where)


def ptp(a: Any, axis: Axis = None, out: None = None, keepdims: bool = False) -> Array:
    """max - min over `axis`; as numpy.ptp."""
    check_no_out("ptp", out)
    return _ptp(ensure_arraylike("ptp", a), axis=static_axes(axis), keepdims=keepdims)


@jitted(static_argnames=("axis", "keepdims"))
def _ptp(a: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    return lax.sub(max(a, axis, keepdims=keepdims), min(a, axis, keepdims=keepdims))


# ---- any, all, count ----


def _truth(
    name: str, which: str, identity: bool, reducer: Callable, combine: Callable
) -> Callable[..., Array]:
    @named(name, f"Whether {which} nonzero, over `axis`; as numpy.{name}.")
    def truth(
        a: Any, axis: Axis = None, out: None = None, keepdims: bool = False, *, where: Any = None
    ) -> Array:
        check_no_out(name, out)
        a = _cast_to_bool(ensure_arraylike(name, a))
        return _reduce(a, name, reducer, combine, identity, axis, None, keepdims, None, where)

    return truth


def _cast_to_bool(a: Any) -> Any:
    return convert(lax.real(a) if dtypes.kind(a.dtype) == "c" else a, np.dtype(bool))


all = _truth("all", "all elements are", True, lax.reduce_and, lax.bitwise_and)
any = _truth("any", "some element is", False, lax.reduce_or, lax.bitwise_or)


@jitted(static_argnames=("axis", "keepdims"))
def count_nonzero(a: Any, axis: Axis = None, keepdims: bool = False) -> Array:
    """How many elements are nonzero, over `axis`; as numpy.count_nonzero."""
    a = ensure_arraylike("count_nonzero", a)
    nonzero = lax.ne(a, weak_constant_like(a, 0))
    return sum(nonzero, axis, dtype=dtypes.default_dtype(int), keepdims=keepdims)


# ---- with integers' bits, for the ufuncs' .reduce ----


def reduce_bits(reducer: Callable, combine: Callable, identity: int) -> Callable:
    """A reduction of integers by a bitwise operation."""

    def reduce(a: Any, axis: Axis = None, keepdims: bool = False, initial: Any = None) -> Array:
        a = ensure_arraylike("reduce", a)
        return _reduce(a, "reduce", reducer, combine, identity, axis, None, keepdims, initial)

    return reduce
