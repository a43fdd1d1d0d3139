"""Sorting: sort, argsort, lexsort, partition."""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core import dtypes
from tinyjax.core.array import Array
from tinyjax.core.declared_functions import named
from tinyjax.lax.elementwise import to_complex_dtype
from tinyjax.lax.shape import canonicalize_axis
from tinyjax.numpy.manipulation import ravel, swapaxes
from tinyjax.numpy.util import convert, ensure_arraylike, user_dtype_or
from tinyjax.transform.jit.api import jitted


@jitted(static_argnames=("axis", "kind", "order", "stable", "descending"))
def sort(
    a: Any, axis: int | None = -1, *, kind: None = None, order: None = None, stable: bool = True,
    descending: bool = False,
) -> Array:  # fmt: skip
    """`a` sorted along `axis` (flattened if None), NaN last; as numpy.sort."""
    a, axis = _operand("sort", a, axis, kind, order)
    out: Any = lax.sort(a, dimension=axis, is_stable=stable)
    return lax.rev(out, (axis,)) if descending else out


@jitted(static_argnames=("axis", "kind", "order", "stable", "descending", "dtype"))
def argsort(
    a: Any, axis: int | None = -1, *, kind: None = None, order: None = None, stable: bool = True,
    descending: bool = False, dtype: Any = None,
) -> Array:  # fmt: skip
    """The positions that would sort `a` along `axis` (flattened if None); as numpy.argsort."""
    a, axis = _operand("argsort", a, axis, kind, order)
    positions = lax.broadcasted_iota(
        user_dtype_or(dtype, dtypes.default_dtype(int), "argsort"), a.shape, axis
    )
    if descending and stable:  # reversed twice, so that equal elements keep their order
        a, positions = lax.rev(a, (axis,)), lax.rev(positions, (axis,))
    _, found = lax.sort_key_val(a, positions, dimension=axis, is_stable=stable)
    return lax.rev(found, (axis,)) if descending else found


def _operand(name: str, a: Any, axis: int | None, kind: Any, order: Any) -> tuple[Any, int]:
    a = ensure_arraylike(name, a)
    if kind is not None:
        raise TypeError(
            f"'kind' argument to {name} is not supported. Use stable=True or stable=False to specify "
            "sort stability."
        )
    if order is not None:
        raise TypeError(f"'order' argument to {name} is not supported.")
    if axis is None:
        a, axis = ravel(a), 0
    return a, canonicalize_axis(axis, a.ndim)


@jitted(static_argnames=("axis", "batch_size"))
def lexsort(keys: Any, axis: int = -1, *, batch_size: int = 16) -> Array:
    """The positions that sort by the last key, then by the one before it, ...; as numpy.lexsort.

    JAX sorts by `batch_size` keys at a time, which changes no result; here all are sorted at once."""
    if batch_size < 1:
        raise ValueError(f"lexsort: batch_size must be positive, got {batch_size}")
    if not len(keys):
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    arrays = [ensure_arraylike("lexsort", key) for key in keys]
    if len({x.shape for x in arrays}) > 1:
        raise ValueError("all keys need to be the same shape")
    index_dtype = dtypes.default_dtype(int)
    if arrays[0].ndim == 0:
        return lax.full((), 0, index_dtype)
    axis = canonicalize_axis(axis, arrays[0].ndim)
    positions = lax.broadcasted_iota(index_dtype, arrays[0].shape, axis)
    return lax.sort((*arrays[::-1], positions), dimension=axis, num_keys=len(arrays))[-1]


@jitted
def sort_complex(a: Any) -> Array:
    """`a` sorted, as complex numbers; as numpy.sort_complex."""
    a = ensure_arraylike("sort_complex", a)
    return convert(lax.sort(a, dimension=a.ndim - 1), to_complex_dtype(a.dtype))


@jitted(static_argnames=("kth", "axis"))
def partition(a: Any, kth: int, axis: int = -1) -> Array:
    """`a` with its kth smallest in place, smaller ones before and larger ones after it.

    As numpy.partition; here both sides are sorted as well."""
    a = ensure_arraylike("partition", a)
    return swapaxes(_partition(a, kth, axis)[0], -1, axis)


@jitted(static_argnames=("kth", "axis"))
def argpartition(a: Any, kth: int, axis: int = -1) -> Array:
    """The positions that would partition `a`; as numpy.argpartition."""
    a = ensure_arraylike("argpartition", a)
    return swapaxes(_partition(a, kth, axis)[1], -1, axis)


def _partition(a: Any, kth: int, axis: int) -> tuple[Any, Any]:
    if dtypes.kind(a.dtype) == "c":
        raise NotImplementedError("jnp.partition for complex dtype is not implemented.")
    axis = canonicalize_axis(axis, a.ndim)
    canonicalize_axis(kth, a.shape[axis])
    a = swapaxes(a, axis, -1)
    positions = lax.broadcasted_iota(np.dtype("int32"), a.shape, a.ndim - 1)
    return lax.sort_key_val(a, positions, dimension=a.ndim - 1)


def top_k(
    a: Any, k: int, /, *, axis: int = -1, mode: str = "largest", sorted: bool = True
) -> tuple[Array, Array]:
    """The k largest (or "smallest") elements along `axis` and their positions; as numpy.top_k.

    They are always sorted, whatever `sorted` is."""
    return _top_k(a, k=k, axis=axis, mode=mode)


@jitted(static_argnames=("k", "axis", "mode"))
@named("top_k", None)
def _top_k(a: Any, *, k: int, axis: int, mode: str) -> tuple[Array, Array]:
    a = ensure_arraylike("top_k", a)
    if dtypes.kind(a.dtype) == "c":
        raise ValueError("top_k is not compatible with complex inputs.")
    if mode not in ("largest", "smallest"):
        raise ValueError(f"mode must be 'largest' or 'smallest', got {mode!r}")
    axis = canonicalize_axis(axis, a.ndim)
    if mode == "largest":
        values, positions = lax.top_k(a, k, axis=axis)
        return values, positions
    reverse = lax.neg if dtypes.is_inexact(a.dtype) else lax.bitwise_not
    values, positions = lax.top_k(reverse(a), k, axis=axis)
    return reverse(values), positions
