"""Joining arrays and taking them apart: concatenate, stack, split, tile, repeat."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core.array import Array
from tinyjax.core.bind import as_array
from tinyjax.core.primitives import shape_of
from tinyjax.lax.shape import canonicalize_axis
from tinyjax.numpy.creation import zeros_like
from tinyjax.numpy.manipulation import (
    atleast_1d,
    atleast_2d,
    atleast_3d,
    expand_dims,
    ravel,
    reshape,
)
from tinyjax.numpy.promotion import promote_dtypes
from tinyjax.numpy.util import (
    check_arraylike,
    concrete,
    concrete_int,
    convert,
    ensure_arraylike,
    index_tuple,
    user_dtype,
)
from tinyjax.transform.jit.api import jitted

# ---- joining ----


def concatenate(arrays: Any, axis: int | None = 0, dtype: Any = None) -> Array:
    """The arrays one after the other along `axis` (flattened if None); as numpy.concatenate.

    In their common dtype unless one is given. Raises ValueError for no arrays, or scalars."""
    if isinstance(arrays, (np.ndarray, Array)):
        return _concatenate_rows(as_array(arrays), axis, dtype)
    check_arraylike("concatenate", *arrays)
    if not len(arrays):
        raise ValueError("Need at least one array to concatenate.")
    if axis is None:
        return concatenate([ravel(x) for x in arrays], 0, dtype)
    ndim = len(shape_of(arrays[0]))
    if ndim == 0:
        raise ValueError("Zero-dimensional arrays cannot be concatenated.")
    return lax.concatenate(
        _in_one_dtype("concatenate", arrays, dtype), canonicalize_axis(axis, ndim)
    )


def _in_one_dtype(name: str, arrays: Sequence[Any], dtype: Any) -> list[Any]:
    if dtype is None:
        return promote_dtypes(*arrays)
    return [convert(x, user_dtype(dtype, name)) for x in arrays]


def _concatenate_rows(a: Any, axis: int | None, dtype: Any) -> Any:
    """concatenate of the rows of one array: a reshape."""
    if dtype is not None:
        a = convert(a, user_dtype(dtype, "concatenate"))
    if a.ndim == 0 or a.shape[0] == 0:
        raise ValueError("Need at least one array to concatenate.")
    if axis is None:
        return lax.reshape(a, (a.size,))
    if a.ndim == 1:
        raise ValueError("Zero-dimensional arrays cannot be concatenated.")
    axis = canonicalize_axis(axis, a.ndim - 1)
    shape = (*a.shape[1 : axis + 1], a.shape[0] * a.shape[axis + 1], *a.shape[axis + 2 :])
    return lax.reshape(a, shape, (*range(1, axis + 1), 0, *range(axis + 1, a.ndim)))


def concat(arrays: Any, /, *, axis: int | None = 0) -> Array:
    """The same as concatenate; as numpy.concat."""
    return concatenate(arrays, axis)


def stack(arrays: Any, axis: int = 0, out: None = None, dtype: Any = None) -> Array:
    """The arrays, of equal shapes, along a new axis; as numpy.stack.

    Raises ValueError for no arrays, or unequal shapes."""
    if not len(arrays):
        raise ValueError("Need at least one array to stack.")
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.stack is not supported.")
    if isinstance(arrays, (np.ndarray, Array)):
        axis = canonicalize_axis(axis, arrays.ndim)
        return concatenate(expand_dims(arrays, axis + 1), axis, dtype)
    check_arraylike("stack", *arrays)
    return lax.stack(_in_one_dtype("stack", arrays, dtype), axis)


def vstack(tup: Any, dtype: Any = None) -> Array:
    """The arrays as rows, below one another; as numpy.vstack."""
    check_arraylike("vstack", *tup)
    return concatenate([atleast_2d(x) for x in tup], 0, dtype)


def hstack(tup: Any, dtype: Any = None) -> Array:
    """The arrays side by side; as numpy.hstack."""
    check_arraylike("hstack", *tup)
    arrays = [atleast_1d(x) for x in tup]
    return concatenate(arrays, 0 if arrays[0].ndim == 1 else 1, dtype)


def dstack(tup: Any, dtype: Any = None) -> Array:
    """The arrays along the third axis; as numpy.dstack."""
    check_arraylike("dstack", *tup)
    return concatenate([atleast_3d(x) for x in tup], 2, dtype)


def column_stack(tup: Any) -> Array:
    """The arrays as columns of a matrix; as numpy.column_stack."""
    check_arraylike("column_stack", *tup)
    arrays = [as_array(x) for x in tup]
    return concatenate([atleast_2d(x).T if x.ndim < 2 else x for x in arrays], 1)


@jitted
def block(arrays: Any) -> Array:
    """An array from nested lists of blocks; as numpy.block. Raises ValueError for tuples."""
    return _block(arrays)[0]


def _block(blocks: Any) -> tuple[Any, int]:
    """The joined blocks, and the depth of the lists."""
    if isinstance(blocks, tuple):
        raise ValueError(f"jax.numpy.block does not allow tuples, got {blocks}")
    if not isinstance(blocks, list):
        return as_array(blocks), 1
    if not blocks:
        raise ValueError("jax.numpy.block does not allow empty list arguments")
    inner, depths = zip(*[_block(x) for x in blocks])
    if len(set(depths)) > 1:
        raise ValueError("Mismatched list depths in jax.numpy.block")
    depth = depths[0]
    rank = max(depth, *(x.ndim for x in inner))
    padded = [lax.expand_dims(x, range(rank - x.ndim)) if x.ndim < rank else x for x in inner]
    return concatenate(padded, -depth), depth + 1


@jitted(static_argnames=("axis",))
def append(arr: Any, values: Any, axis: int | None = None) -> Array:
    """`values` after `arr` (both flattened if axis is None); as numpy.append."""
    if axis is None:
        return concatenate([ravel(arr), ravel(values)], 0)
    return concatenate([arr, values], axis)


# ---- taking apart ----


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """Equal parts, or the parts between given indices, along `axis`; as numpy.split.

    A negative index counts from the end; an index out of range is clamped to the nearer end.
    Raises ValueError if the parts would not be equal."""
    return _split("split", ary, indices_or_sections, axis)


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """As split, the first parts one longer where it does not come out even; as numpy.array_split."""
    return _split("array_split", ary, indices_or_sections, axis)


def vsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """Split along the first axis; as numpy.vsplit."""
    return _split("vsplit", ary, indices_or_sections, 0)


def hsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """Split along the second axis (the first of vectors); as numpy.hsplit."""
    a = ensure_arraylike("hsplit", ary)
    return _split("hsplit", a, indices_or_sections, 0 if a.ndim == 1 else 1)


def dsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """Split along the third axis; as numpy.dsplit."""
    return _split("dsplit", ary, indices_or_sections, 2)


def _split(name: str, ary: Any, indices_or_sections: Any, axis: Any) -> list[Any]:
    ary = ensure_arraylike(name, ary)
    axis = canonicalize_axis(concrete_int(axis, f"in jax.numpy.{name} argument `axis`"), ary.ndim)
    size = ary.shape[axis]
    sections = concrete(indices_or_sections, f"in jax.numpy.{name} argument 1")
    if isinstance(sections, (tuple, list)) or np.ndim(sections) > 0:
        ends = [operator.index(concrete(i, f"in jax.numpy.{name} argument 1")) for i in sections]
        edges = [0, *(min(max(i + size * (i < 0), 0), size) for i in ends), size]
        sizes = [b - a for a, b in zip(edges, edges[1:])]
    else:
        count = int(sections)
        part, rest = divmod(size, count)
        if rest and name != "array_split":
            raise ValueError(f"array split does not result in an equal division: rest is {rest}")
        sizes = [part + 1] * rest + [part] * (count - rest)
    # NumPy's integers, as JAX has them there: its jaxprs show np.int64(1).
    numpy_sizes: list[Any] = [np.int64(n) for n in sizes]
    return list(lax.split(ary, numpy_sizes, axis))


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Array, ...]:
    """The slices of `x` along `axis`, as a tuple; as numpy.unstack. Raises ValueError for scalars."""
    x = ensure_arraylike("unstack", x)
    return tuple(lax.unstack(x, canonicalize_axis(axis, x.ndim)))


# ---- repeating ----


def tile(A: Any, reps: Any) -> Array:  # noqa: N803  (NumPy's name)
    """`A` laid out `reps` times along each axis; as numpy.tile."""
    a = ensure_arraylike("tile", A)
    try:
        counts = tuple(operator.index(r) for r in reps)
    except TypeError:
        counts = (operator.index(reps),)
    counts = (1,) * (a.ndim - len(counts)) + counts
    if len(counts) > a.ndim:
        a = lax.expand_dims(a, range(len(counts) - a.ndim))
    return lax.tile(a, counts)


@jitted(static_argnames=("new_shape",))
def resize(a: Any, new_shape: Any) -> Array:
    """`a`, repeated or cut, in a new shape; as numpy.resize."""
    check_arraylike("resize", a)
    new_shape = index_tuple(new_shape)
    if any(n < 0 for n in new_shape):
        raise ValueError("all elements of `new_shape` must be non-negative")
    flat, size = ravel(a), math.prod(new_shape)
    if flat.size == 0 or size == 0:
        return zeros_like(flat, shape=new_shape)
    return reshape(tile(flat, -(-size // flat.size))[:size], new_shape)
