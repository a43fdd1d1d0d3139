"""Matrices with a pattern: eye, tri, tril, diag, trace, vander.

They are comparisons of two iotas.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core import dtypes
from tinyjax.core.array import Array
from tinyjax.core.bind import as_array
from tinyjax.lax.shape import canonicalize_axis
from tinyjax.lax.transfer import device_put
from tinyjax.numpy import reductions
from tinyjax.numpy.creation import ones, zeros, zeros_like
from tinyjax.numpy.logic import equal
from tinyjax.numpy.manipulation import moveaxis, ravel, reshape
from tinyjax.numpy.ranges import arange
from tinyjax.numpy.reductions import check_no_out
from tinyjax.numpy.searching import nonzero
from tinyjax.numpy.selecting import where_
from tinyjax.numpy.ufuncs import add, multiply, power, subtract
from tinyjax.numpy.util import (
    INT32,
    canonicalize_shape,
    concrete_int,
    constant,
    convert,
    ensure_arraylike,
    user_dtype_or,
)
from tinyjax.transform.jit.api import jitted

# ---- identity and triangles ----


def eye(N: Any, M: Any = None, k: Any = 0, dtype: Any = None, *, device: Any = None) -> Array:  # noqa: N803
    """An N x M matrix with ones on its k-th diagonal; as numpy.eye."""
    out_dtype = user_dtype_or(dtype, dtypes.default_dtype(float), "eye")
    offset = ensure_arraylike("eye", k)
    if offset.shape != () or dtypes.kind(offset.dtype) not in "iu":
        raise ValueError(f"k must be a scalar integer; got {k}")
    rows, columns = canonicalize_shape((N, N if M is None else M))
    if rows < 0 or columns < 0:
        raise ValueError(f"negative dimensions are not allowed, got {N} and {M}")
    i = lax.broadcasted_iota(offset.dtype, (rows, columns), 0)
    j = lax.broadcasted_iota(offset.dtype, (rows, columns), 1)
    out = convert(equal(add(i, offset), j), out_dtype)
    if device is None:
        return out
    return device_put(out, device)


def identity(n: Any, dtype: Any = None) -> Array:
    """The n x n identity matrix; as numpy.identity."""
    return eye(n, dtype=dtype)


def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = None) -> Array:  # noqa: N803
    """An N x M matrix with ones on and below its k-th diagonal; as numpy.tri."""
    out_dtype = user_dtype_or(dtype, np.dtype("float32"), "tri")
    shape = canonicalize_shape((N, N if M is None else M))
    i = lax.broadcasted_iota(INT32, shape, 0)
    i = lax.add(i, convert(k, INT32))
    return convert(lax.ge(i, lax.broadcasted_iota(INT32, shape, 1)), out_dtype)


@jitted(static_argnames=("k",))
def tril(m: Any, k: int = 0) -> Array:
    """`m` with zeros above its k-th diagonal; as numpy.tril. Raises ValueError for vectors."""
    m = ensure_arraylike("tril", m)
    return lax.select(_lower_mask("tril", m, k), m, zeros_like(m))


@jitted(static_argnames=("k",))
def triu(m: Any, k: int = 0) -> Array:
    """`m` with zeros below its k-th diagonal; as numpy.triu. Raises ValueError for vectors."""
    m = ensure_arraylike("triu", m)
    return lax.select(_lower_mask("triu", m, k - 1), zeros_like(m), m)


def _lower_mask(name: str, m: Any, k: int) -> Any:
    if m.ndim < 2:
        raise ValueError(f"Argument to jax.numpy.{name} must be at least 2D")
    mask = tri(m.shape[-2], m.shape[-1], k=k, dtype=bool)
    return lax.broadcast_in_dim(mask, m.shape, (m.ndim - 2, m.ndim - 1)) if m.ndim > 2 else mask


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, Array]:
    """The positions on and below the k-th diagonal of an n x m matrix; as numpy.tril_indices."""
    rows, columns = np.tril_indices(n, k, m)
    return as_array(rows), as_array(columns)


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, Array]:
    """The positions on and above the k-th diagonal of an n x m matrix; as numpy.triu_indices."""
    rows, columns = np.triu_indices(n, k, m)
    return as_array(rows), as_array(columns)


def tril_indices_from(arr: Any, k: int = 0) -> tuple[Array, Array]:
    """tril_indices for the shape of a matrix; as numpy.tril_indices_from."""
    return tril_indices(_matrix_shape(arr)[0], k, _matrix_shape(arr)[1])


def triu_indices_from(arr: Any, k: int = 0) -> tuple[Array, Array]:
    """triu_indices for the shape of a matrix; as numpy.triu_indices_from."""
    return triu_indices(_matrix_shape(arr)[0], k, _matrix_shape(arr)[1])


def _matrix_shape(arr: Any) -> tuple[int, ...]:
    if len(arr.shape) != 2:
        raise ValueError("Only 2-D inputs are accepted")
    return arr.shape


def mask_indices(n: int, mask_func: Any, k: int = 0, *, size: int | None = None) -> Any:
    """The positions that mask_func (tril, triu) keeps of an n x n matrix; as numpy.mask_indices."""
    return nonzero(mask_func(ones((n, n)), k), size=size)


# ---- diagonals ----


def diag(v: Any, k: int = 0) -> Array:
    """A matrix with the vector `v` on its k-th diagonal, or the k-th diagonal of a matrix `v`.

    As numpy.diag. Raises ValueError for other ranks."""
    return _diag(ensure_arraylike("diag", v), operator.index(k))


@jitted(static_argnames=("k",))
def _diag(v: Any, k: int) -> Any:
    if v.ndim == 2:
        return diagonal(v, offset=k)
    if v.ndim != 1:
        raise ValueError("diag input must be 1d or 2d")
    zero = constant(0, v.dtype, dtypes.is_weakly_typed(v))
    v = lax.pad(v, zero, ((max(0, -k), max(0, k), 0),))
    n = v.shape[0]
    return where_(eye(n, k=k, dtype=bool), lax.expand_dims(v, (1,)), zero)


def diagflat(v: Any, k: int = 0) -> Array:
    """A matrix with the flattened `v` on its k-th diagonal; as numpy.diagflat."""
    flat = ravel(ensure_arraylike("diagflat", v))
    n = flat.size + abs(k)
    i = arange(flat.size)
    row_starts = multiply(i if k >= 0 else subtract(i, k), n)
    place = add(add(i, k), row_starts) if k >= 0 else add(i, row_starts)
    return reshape(zeros(n * n, flat.dtype).at[place].set(flat), (n, n))


@jitted(static_argnames=("offset", "axis1", "axis2"))
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """The diagonals of the planes of axis1 and axis2, as the last axis; as numpy.diagonal."""
    a = ensure_arraylike("diagonal", a)
    if a.ndim < 2:
        raise ValueError("diagonal requires an array of at least two dimensions.")
    rows, columns = a.shape[axis1], a.shape[axis2]
    a = moveaxis(a, (axis1, axis2), (-2, -1))
    size = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    near = arange(size)
    far = arange(abs(offset), abs(offset) + size)
    return a[..., near, far] if offset >= 0 else a[..., far, near]


@jitted(static_argnames=("axis1", "axis2", "dtype"))
def trace(
    a: Any, offset: Any = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: None = None
) -> Array:
    """The sum of the diagonal of the planes of axis1 and axis2; as numpy.trace."""
    check_no_out("trace", out)
    a = ensure_arraylike("trace", a)
    if canonicalize_axis(axis1, a.ndim) == canonicalize_axis(axis2, a.ndim):
        raise ValueError(f"axis1 and axis2 can not be same. axis1={axis1} and axis2={axis2}")
    rows, columns = a.shape[axis1], a.shape[axis2]
    a = moveaxis(a, (axis1, axis2), (-2, -1))
    on_diagonal = where_(eye(rows, columns, k=offset, dtype=bool), a, zeros_like(a))
    return reductions.sum(on_diagonal, (-2, -1), dtype=dtype)


def diag_indices(n: int, ndim: int = 2) -> tuple[Array, ...]:
    """The positions of the diagonal of an array with ndim axes of size n; as numpy.diag_indices."""
    n = concrete_int(n, "'n' argument of jnp.diag_indices()")
    ndim = concrete_int(ndim, "'ndim' argument of jnp.diag_indices()")
    if n < 0 or ndim < 0:
        raise ValueError(f"arguments to diag_indices must be nonnegative, got {n} and {ndim}")
    return (lax.iota(dtypes.default_dtype(int), n),) * ndim


def diag_indices_from(arr: Any) -> tuple[Array, ...]:
    """diag_indices for the shape of an array; as numpy.diag_indices_from."""
    arr = ensure_arraylike("diag_indices_from", arr)
    if arr.ndim < 2:
        raise ValueError("input array must be at least 2-d")
    if len(set(arr.shape)) != 1:
        raise ValueError("All dimensions of input must be of equal length")
    return diag_indices(arr.shape[0], arr.ndim)


@jitted(static_argnames=("N", "increasing"))
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Array:  # noqa: N803
    """The matrix of powers of a vector; as numpy.vander."""
    x = ensure_arraylike("vander", x)
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array")
    count = x.shape[0] if N is None else operator.index(N)
    if count < 0:
        raise ValueError("N must be nonnegative")
    powers = lax.iota(x.dtype, count)
    if not increasing:
        powers = lax.sub(constant(count - 1, x.dtype), powers)
    return power(x[..., None], lax.expand_dims(powers, (0,)))
