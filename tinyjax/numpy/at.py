"""x.at[i].set(y): updates of immutable arrays.

Positions are computed as for a read (see indexing.py), followed by one scatter. Writes out of range are
dropped.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core import dtypes, type_promotion
from tinyjax.core.array import ShapedArray
from tinyjax.core.bind import as_array
from tinyjax.core.tracing import user_level
from tinyjax.lax.placing import with_place
from tinyjax.numpy.creation import asarray
from tinyjax.numpy.gather_plan import gather_plan
from tinyjax.numpy.index_parts import expand_masks, parse
from tinyjax.numpy.indexing import rewriting_take
from tinyjax.numpy.promotion import promote_dtypes
from tinyjax.numpy.ufuncs import divide, power
from tinyjax.numpy.util import broadcast_to, constant, convert, weak_constant_like


class IndexUpdateHelper:
    """The type of `x.at`, which must be indexed."""

    __slots__ = ("array",)

    def __init__(self, array: Any):
        self.array = array

    def __getitem__(self, index: Any) -> Any:
        if type(self.array.aval) is not ShapedArray:
            return self.array.aval.view(self.array, index)
        return IndexUpdateRef(self.array, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        raise TypeError(
            "x.at[index] = value assigns to nothing: arrays are immutable. x = x.at[index].set(value) gives "
            "the array with the new elements"
        )

    def __repr__(self) -> str:
        return f"_IndexUpdateHelper({self.array!r})"


class IndexUpdateRef:
    """The type of `x.at[index]`: each method returns x with the elements at `index` changed.

    Options of all methods: indices_are_sorted and unique_indices (promises), mode ('drop' or 'fill'
    ignore what is out of range, the default; 'clip' clamps; 'promise_in_bounds'), and
    wrap_negative_indices (False: negative indices are out of range); and out_sharding, which splits
    the result over devices."""

    __slots__ = ("array", "index")

    def __init__(self, array: Any, index: Any):
        self.array = array
        self.index = index

    def __repr__(self) -> str:
        return f"_IndexUpdateRef({self.array!r}, {self.index!r})"

    def get(
        self, *, indices_are_sorted: bool = False, unique_indices: bool = False, mode: Any = None,
        fill_value: Any = None, wrap_negative_indices: bool = True, out_sharding: Any = None,
    ) -> Any:  # fmt: skip
        """x[index]; with mode='fill', `fill_value` (NaN by default) where the index is out of range.
        `out_sharding` splits the result over devices."""
        options = {"indices_are_sorted": indices_are_sorted, "unique_indices": unique_indices}
        options |= {"mode": mode, "fill_value": fill_value, "wrap_negative": wrap_negative_indices}
        take = functools.partial(rewriting_take, index=self.index, **options)
        return with_place(take, out_sharding, "get")(self.array)

    def set(self, values: Any, **options: Any) -> Any:
        """x with x[index] = values. Which of several values for one element wins is not defined."""
        return scatter_update(self.array, self.index, values, lax.scatter, **options)

    def add(self, values: Any, **options: Any) -> Any:
        """x with x[index] += values, every one of several for the same element."""
        return scatter_update(self.array, self.index, values, lax.scatter_add, **options)

    def subtract(self, values: Any, **options: Any) -> Any:
        """x with x[index] -= values."""
        return scatter_update(self.array, self.index, values, lax.scatter_sub, **options)

    def multiply(self, values: Any, **options: Any) -> Any:
        """x with x[index] *= values."""
        return scatter_update(self.array, self.index, values, lax.scatter_mul, **options)

    mul = multiply

    def divide(self, values: Any, **options: Any) -> Any:
        """x with x[index] /= values."""
        return divide(self.array, self._ones().multiply(values, **options))

    def power(self, values: Any, **options: Any) -> Any:
        """x with x[index] **= values."""
        return power(self.array, self._ones().multiply(values, **options))

    def _ones(self) -> IndexUpdateRef:
        return IndexUpdateRef(lax.full_like(self.array, 1), self.index)

    def min(self, values: Any, **options: Any) -> Any:
        """x with x[index] = minimum(x[index], values)."""
        return scatter_update(self.array, self.index, values, lax.scatter_min, **options)

    def max(self, values: Any, **options: Any) -> Any:
        """x with x[index] = maximum(x[index], values)."""
        return scatter_update(self.array, self.index, values, lax.scatter_max, **options)

    def apply(self, func: Callable, **options: Any) -> Any:
        """x with x[index] = func(x[index]), `func` working element by element."""

        def scatter_apply(x: Any, starts: Any, y: Any, numbers: Any, **kwargs: Any) -> Any:
            return lax.scatter_apply(x, starts, func, numbers, update_shape=y.shape, **kwargs)

        zero = weak_constant_like(self.array, 0)
        return scatter_update(self.array, self.index, zero, scatter_apply, **options)


def scatter_update(
    x: Any, index: Any, values: Any, scatter: Callable, indices_are_sorted: bool = False,
    unique_indices: bool = False, mode: Any = None, wrap_negative_indices: bool = True,
    out_sharding: Any = None,
) -> Any:  # fmt: skip
    """`x` with `values` scattered into x[index] by a lax scatter; it has x's dtype.

    Warns (FutureWarning) if values do not fit the dtype. Raises ValueError if their shape does not fit
    that of x[index]."""
    if out_sharding is not None:
        options = {"indices_are_sorted": indices_are_sorted, "unique_indices": unique_indices}
        options |= {"mode": mode, "wrap_negative_indices": wrap_negative_indices}

        def update(x: Any, values: Any) -> Any:
            return scatter_update(x, index, values, scatter, **options)

        return with_place(update, out_sharding, "set")(x, _as_values(values, x.dtype))
    dtype, weak_type = x.dtype, x.weak_type
    values = _as_values(values, dtype)
    _warn_if_unsafe_cast(values, dtype)
    plan = gather_plan(expand_masks(parse(index, x.shape), x.shape), x.shape, wrap_negative_indices)
    if 0 in plan.shape:
        return x
    x, values = promote_dtypes(x, values)
    values = broadcast_to(values, plan.shape)
    if plan.new_axes:
        values = lax.squeeze(values, plan.new_axes)
    if plan.reversed_axes:
        values = lax.rev(values, plan.reversed_axes)
    if plan.scalar_bool_axes:
        x = lax.expand_dims(x, plan.scalar_bool_axes)
    numbers = lax.ScatterDimensionNumbers(*plan.dimension_numbers)
    promises = plan.promises(indices_are_sorted, unique_indices)
    out = scatter(x, plan.starts, values, numbers, mode=mode, **promises)
    if plan.scalar_bool_axes:
        out = lax.squeeze(out, plan.scalar_bool_axes)
    return convert(out, dtype, weak_type)


def _as_values(values: Any, dtype: np.dtype) -> Any:
    if type(values) is int and dtypes.kind(dtype) in "iu":
        info = dtypes.iinfo(dtype)
        if info.min <= values <= info.max:
            return constant(values, dtype)
    if isinstance(values, (list, tuple)):
        return asarray(values)
    return as_array(values)


def _warn_if_unsafe_cast(values: Any, dtype: np.dtype) -> None:
    """Warns as JAX does: writing a float into an int array, for example, is usually a mistake."""
    if values.dtype == dtype:
        return
    if values.weak_type:
        fits = "biufc".index(dtypes.kind(values.dtype)) <= "biufc".index(dtypes.kind(dtype))
    else:
        fits = type_promotion.promote_types(values.dtype, dtype) == dtype
    if fits:
        return
    warnings.warn(
        "scatter inputs have incompatible types: cannot safely cast value from "
        f"dtype={values.dtype.name} to dtype={dtype.name} with jax_numpy_dtype_promotion='standard'. "
        "Convert the value with .astype",
        FutureWarning,
        stacklevel=user_level(),
    )
