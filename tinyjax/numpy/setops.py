"""Sets: unique, intersect1d, union1d, isin.

unique is a sort and a comparison of neighbours. Under jit it needs `size=`.
"""

from __future__ import annotations

import math
import operator
from typing import Any, NamedTuple

from tinyjax import lax
from tinyjax.core import dtypes
from tinyjax.core.array import Array
from tinyjax.core.bind import as_array
from tinyjax.lax.shape import canonicalize_axis
from tinyjax.numpy import reductions
from tinyjax.numpy.creation import full, ones, zeros
from tinyjax.numpy.cumulative import cumsum, diff
from tinyjax.numpy.joining import append, concatenate
from tinyjax.numpy.logic import bitwise_and, equal, isnan, less, not_equal
from tinyjax.numpy.manipulation import moveaxis, ravel, reshape
from tinyjax.numpy.promotion import promote_dtypes
from tinyjax.numpy.ranges import arange
from tinyjax.numpy.searching import nonzero
from tinyjax.numpy.selecting import where_
from tinyjax.numpy.sorted_search import searchsorted
from tinyjax.numpy.sorting import lexsort, sort
from tinyjax.numpy.ufuncs import subtract
from tinyjax.numpy.util import concrete, concrete_int, constant, convert, ensure_arraylike
from tinyjax.transform.jit.api import jitted

# ---- unique ----


def unique(
    ar: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False,
    axis: int | None = None, *, equal_nan: bool = True, size: int | None = None,
    fill_value: Any = None, sorted: bool = True,
) -> Any:  # fmt: skip
    """The different elements (slices along `axis`), sorted; as numpy.unique.

    With flags, a tuple: also the index of each one's first occurrence, which of them each element is, and how
    often each occurs. With `size` there are that many, padded with fill_value (the smallest). Raises
    ConcretizationTypeError for a traced array without `size`."""
    a = ensure_arraylike("unique", ar)
    if size is None:
        concrete(
            a,
            "the first argument of jnp.unique(), on which the result's shape depends",
            "Give the number of results by size=, and what fills them up by fill_value=.",
        )
    else:
        size = concrete_int(size, "The error arose for the size argument of jnp.unique().")
    shape = a.shape
    flat = axis is None
    a, axis = (ravel(a), 0) if axis is None else (a, canonicalize_axis(axis, a.ndim))
    found = _unique(a, axis, return_inverse, return_counts, equal_nan, size, fill_value)
    out = [found.values]
    if return_index:
        out.append(found.indices)
    if return_inverse:
        out.append(reshape(found.inverse, shape) if flat else found.inverse)
    if return_counts:
        out.append(found.counts)
    return tuple(out) if len(out) > 1 else out[0]


class _Unique(NamedTuple):
    values: Any
    indices: Any
    inverse: Any
    counts: Any
    true_size: Any


def _unique(
    a: Any, axis: int, inverse: bool = False, counts: bool = False, equal_nan: bool = True,
    size: int | None = None, fill_value: Any = None,
) -> _Unique:  # fmt: skip
    if a.shape[axis] == 0 and size and fill_value is None:
        raise ValueError(
            "jnp.unique: for zero-sized input with nonzero size argument, fill_value must be specified"
        )
    aux, is_first, order = _unique_sorted_mask(a, axis, equal_nan)
    int32 = dtypes.default_dtype(int)
    if not aux.size:
        values = aux if size is None else full((size, *aux.shape[1:]), fill_value or 0, aux.dtype)
        empty = zeros(a.shape[axis], int)
        counted = full((1,), a.shape[axis], int) if a.shape[axis] else zeros(0, int)
        return _Unique(moveaxis(values, 0, axis), order, empty, counted, constant(0, int32))

    (place,) = nonzero(is_first, size=size)
    true_size = reductions.sum(is_first)
    values = aux[place]
    if size is not None and fill_value is not None:
        valid = less(arange(size), true_size)
        valid = lax.expand_dims(valid, range(1, values.ndim)) if values.ndim > 1 else valid
        values = where_(valid, values, convert(as_array(fill_value), values.dtype))
    inverse_indices = None
    if inverse:
        number = subtract(cumsum(is_first), 1)
        inverse_indices = zeros(is_first.shape, int).at[order].set(number)
    how_often = None
    if counts:
        if size is None:
            starts = append(place, is_first.size)
        else:
            (starts,) = nonzero(is_first, size=size + 1)
            rest = where_(not_equal(starts[1:], 0), starts[1:], is_first.size)
            starts = starts.at[1:].set(rest)
        how_often = diff(starts)
    return _Unique(moveaxis(values, 0, axis), order[place], inverse_indices, how_often, true_size)


@jitted(static_argnames=("axis", "equal_nan"))
def _unique_sorted_mask(a: Any, axis: int, equal_nan: bool) -> tuple[Any, Any, Any]:
    """The slices in order, whether each is the first of its kind, and the order."""
    aux = moveaxis(a, axis, 0)
    size, *rest = aux.shape
    if not aux.size:
        return aux, zeros(size, bool), zeros(size and 1, int)
    rows = reshape(aux, (size, math.prod(rest)))
    order = lexsort(rows.T[::-1])
    aux = aux[order]
    differs = lax.ne(aux[1:], aux[:-1])
    if dtypes.is_inexact(aux.dtype) and equal_nan:
        both_nan = bitwise_and(isnan(aux[1:]), isnan(aux[:-1]))
        differs = bitwise_and(differs, lax.bitwise_not(both_nan))
    differs = reductions.any(differs, tuple(range(1, aux.ndim)))
    return aux, ones(size, bool).at[1:].set(differs), order


class UniqueAllResult(NamedTuple):
    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCountsResult(NamedTuple):
    values: Any
    counts: Any


class UniqueInverseResult(NamedTuple):
    values: Any
    inverse_indices: Any


def unique_all(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> UniqueAllResult:
    """unique with all of its results; as numpy.unique_all."""
    options = {"equal_nan": False, "size": size, "fill_value": fill_value}
    return UniqueAllResult(*unique(x, True, True, True, **options))


def unique_counts(
    x: Any, /, *, size: int | None = None, fill_value: Any = None
) -> UniqueCountsResult:
    """unique with counts; as numpy.unique_counts."""
    options = {"equal_nan": False, "size": size, "fill_value": fill_value}
    return UniqueCountsResult(*unique(x, return_counts=True, **options))


def unique_inverse(
    x: Any, /, *, size: int | None = None, fill_value: Any = None
) -> UniqueInverseResult:
    """unique with the number of each element; as numpy.unique_inverse."""
    options = {"equal_nan": False, "size": size, "fill_value": fill_value}
    return UniqueInverseResult(*unique(x, return_inverse=True, **options))


def unique_values(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> Array:
    """unique alone; as numpy.unique_values."""
    return unique(x, equal_nan=False, size=size, fill_value=fill_value)


# ---- membership ----


def isin(
    element: Any,
    test_elements: Any,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    method: str = "auto",
) -> Array:
    """Whether each element is among test_elements, in the shape of `element`; as numpy.isin."""
    element, test_elements = ensure_arraylike("isin", element, test_elements)
    found = _in1d(element, test_elements, invert=invert, method=method)
    return reshape(found, element.shape)


@jitted(static_argnames=("invert", "method"))
def _in1d(ar1: Any, ar2: Any, invert: bool, method: str = "auto") -> Any:
    arr1, arr2 = promote_dtypes(ar1, ar2)
    arr1, arr2 = ravel(arr1), ravel(arr2)
    if arr1.size == 0 or arr2.size == 0:
        return (ones if invert else zeros)(arr1.shape, dtype=bool)
    if method in ("auto", "compare_all"):
        if invert:
            return reductions.all(not_equal(arr1[:, None], arr2[None, :]), -1)
        return reductions.any(equal(arr1[:, None], arr2[None, :]), -1)
    if method not in ("binary_search", "sort"):
        raise ValueError(
            f"method={method!r} is not implemented; options are 'compare_all', 'binary_search', "
            "'sort', and 'auto'"
        )
    arr2 = lax.sort(arr2)
    nearest = arr2[searchsorted(arr2, arr1)]
    return not_equal(arr1, nearest) if invert else equal(arr1, nearest)


# ---- set algebra ----


def union1d(ar1: Any, ar2: Any, *, size: int | None = None, fill_value: Any = None) -> Array:
    """The elements of either array, sorted; as numpy.union1d. `size` as in unique."""
    ar1, ar2 = ensure_arraylike("union1d", ar1, ar2)
    return unique(concatenate((ar1, ar2), axis=None), size=size, fill_value=fill_value)


def setdiff1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, *, size: int | None = None, fill_value: Any = None
) -> Array:  # fmt: skip
    """The elements of the first array that are not in the second, sorted; as numpy.setdiff1d."""
    arr1, arr2 = ensure_arraylike("setdiff1d", ar1, ar2)
    arr1, arr2 = ravel(arr1), ravel(arr2)
    if size is None:
        concrete(
            arr1,
            "in jnp.setdiff1d(), whose result's shape depends on it",
            "Give the number of results by size=, and what fills them up by fill_value=.",
        )
        arr1 = arr1 if assume_unique else unique(arr1)
        return arr1[_in1d(arr1, arr2, invert=True)]
    true_size: Any = arr1.size
    if not assume_unique and arr1.size:
        found = _unique(arr1, 0, size=arr1.size)
        arr1, true_size = found.values, found.true_size
    keep = bitwise_and(_in1d(arr1, arr2, invert=True), less(arange(arr1.size), true_size))
    return _chosen(arr1, keep, size, 0 if fill_value is None else fill_value)


def intersect1d(
    ar1: Any,
    ar2: Any,
    assume_unique: bool = False,
    return_indices: bool = False,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """The elements of both arrays, sorted; with return_indices also where they are in each.

    As numpy.intersect1d; `size` as in unique, the rest being filled with the smallest."""
    arr1, arr2 = promote_dtypes(*ensure_arraylike("intersect1d", ar1, ar2))
    arr1, arr2 = ravel(arr1), ravel(arr2)
    index1, index2 = arange(arr1.size), arange(arr2.size)
    n1: Any = arr1.size
    if not assume_unique and arr1.size and arr2.size:
        sizes = (None, None) if size is None else (arr1.size, arr2.size)
        found1, found2 = (_unique(x, 0, size=n) for x, n in zip((arr1, arr2), sizes))
        arr1, index1, n1 = found1.values, found1.indices, found1.true_size
        arr2, index2 = found2.values, found2.indices
    is_both = _in1d(arr1, arr2, invert=False)
    if size is not None:
        is_both = bitwise_and(is_both, less(arange(arr1.size), n1))
    both, places1 = _sorted_pair(arr1, index1, is_both, size, fill_value)
    if not return_indices:
        return both
    order = lexsort((arr2,)) if size is None else arange(arr2.size)
    places2 = index2[order][searchsorted(arr2[order], both)]
    if size is not None:
        valid = less(arange(size), reductions.sum(is_both))
        places1 = where_(valid, places1, ravel(as_array(ar1)).size)
        places2 = where_(valid, places2, ravel(as_array(ar2)).size)
    return both, places1, places2


def _sorted_pair(
    values: Any, index: Any, keep: Any, size: int | None, fill_value: Any
) -> tuple[Any, Any]:
    """The chosen values in order, with their indices, padded to `size`."""
    if size is None:
        values, index = values[keep], index[keep]
        order = lexsort((values,)) if values.size else index
        return values[order], index[order]
    filled = _chosen(values, keep, size, fill_value)
    return filled, _chosen(index, keep, size, 0)


def setxor1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, *, size: int | None = None, fill_value: Any = None
) -> Array:  # fmt: skip
    """The elements of exactly one of the arrays, sorted; as numpy.setxor1d. `size` as in unique."""
    arr1, arr2 = promote_dtypes(*ensure_arraylike("setxor1d", ar1, ar2))
    arr1, arr2 = ravel(arr1), ravel(arr2)
    if size is None:
        if not assume_unique:
            arr1, arr2 = unique(arr1), unique(arr2)
        either = sort(concatenate((arr1, arr2)))
        if not either.size:
            return either
        edge = concatenate((True, not_equal(either[1:], either[:-1]), True), axis=None)
        return either[bitwise_and(edge[1:], edge[:-1])]
    only1 = _in1d(arr1, arr2, invert=True)
    only2 = _in1d(arr2, arr1, invert=True)
    both = concatenate((arr1, arr2))
    keep = concatenate((only1, only2))
    order = lexsort((both, lax.bitwise_not(keep)))
    both, keep = both[order], keep[order]
    # After sorting, equal elements are neighbours: the first of them stays.
    first = concatenate((ones(1, bool), not_equal(both[1:], both[:-1])))
    return _chosen(both, bitwise_and(keep, first), size, fill_value)


def _chosen(values: Any, keep: Any, size: int, fill_value: Any) -> Any:
    """The values where `keep` holds, padded (with the smallest of them if fill_value is None)."""
    size = operator.index(size)
    if not values.size:
        return full((size,), 0 if fill_value is None else fill_value, values.dtype)
    (place,) = nonzero(keep, size=size)
    chosen = values[place]
    valid = less(arange(size), reductions.sum(keep))
    if fill_value is None:
        fill_value = chosen[0] if size else 0
    return where_(valid, chosen, convert(as_array(fill_value), values.dtype))
