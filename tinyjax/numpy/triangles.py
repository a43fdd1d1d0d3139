"""Matrices of a pattern and index grids: eye, tri, tril, diag, trace, meshgrid, indices, mgrid.

After this file you can read their jaxprs: comparisons of two iotas. Builds on creation and indexing.

Sources: https://docs.jax.dev/en/latest/_autosummary/jax.numpy.<name>.html, one page a function.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tinyjax import dtypes, lax
from tinyjax.array import Array
from tinyjax.interpreters.jit import jitted
from tinyjax.numpy import reductions
from tinyjax.numpy.creation import arange, array, linspace, ones, zeros, zeros_like
from tinyjax.numpy.joining import concatenate, stack
from tinyjax.numpy.manipulation import moveaxis, ravel, reshape, transpose
from tinyjax.numpy.reductions import check_no_out
from tinyjax.numpy.searching import nonzero
from tinyjax.numpy.selecting import where_
from tinyjax.numpy.ufuncs import add, equal, multiply, power, subtract
from tinyjax.numpy.util import (
    as_array,
    canonicalize_axis,
    canonicalize_shape,
    concrete,
    concrete_int,
    constant,
    convert,
    ensure_arraylike,
    promote_dtypes,
    user_dtype_or,
)

INT32 = np.dtype("int32")

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
    from tinyjax import device_put

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
    zero = constant(0, v.dtype)
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


# ---- grids ----


def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> list[Array]:
    """The coordinates of a grid, an array for each axis; as numpy.meshgrid.

    indexing 'ij' keeps the order of the axes, 'xy' swaps the first two. With `sparse` each array has
    size 1 along the other axes. Raises ValueError for arrays that have not one axis."""
    arrays = [ensure_arraylike("meshgrid", x) for x in xi]
    if not copy:
        raise ValueError("jax.numpy.meshgrid only supports copy=True")
    if indexing not in ("xy", "ij"):
        raise ValueError(f"Valid values for indexing are 'xy' and 'ij', got {indexing}")
    if any(x.ndim != 1 for x in arrays):
        raise ValueError(
            f"Arguments to jax.numpy.meshgrid must be 1D, got shapes {[x.shape for x in arrays]}"
        )
    swap = indexing == "xy" and len(arrays) >= 2
    if swap:
        arrays[0], arrays[1] = arrays[1], arrays[0]
    sizes = [x.shape[0] for x in arrays]
    out = [
        lax.broadcast_in_dim(x, [n if not sparse or j == i else 1 for j, n in enumerate(sizes)], (i,))
        for i, x in enumerate(arrays)
    ]
    if swap:
        out[0], out[1] = out[1], out[0]
    return out


def ix_(*args: Any) -> tuple[Array, ...]:
    """Vectors shaped so that as indices they choose a grid; as numpy.ix_."""
    arrays = [ensure_arraylike("ix", x) for x in args]
    for x in arrays:
        if x.ndim != 1:
            raise ValueError(f"Arguments to jax.numpy.ix_ must be 1-dimensional, got shape {x.shape}")
        if x.dtype == np.bool_:
            raise NotImplementedError("Boolean arguments to jax.numpy.ix_ are not implemented")
    shapes = [[x.shape[0] if j == i else 1 for j in range(len(arrays))] for i, x in enumerate(arrays)]
    return tuple(
        lax.broadcast_in_dim(x, shape, (i,)) for i, (x, shape) in enumerate(zip(arrays, shapes))
    )


def indices(dimensions: Any, dtype: Any = None, sparse: bool = False) -> Any:
    """The index of each element along each axis, stacked (a tuple if sparse); as numpy.indices."""
    out_dtype = user_dtype_or(dtype, dtypes.default_dtype(int), "indices")
    sizes = tuple(concrete_int(n, "dimensions argument of jnp.indices") for n in dimensions)
    out = []
    for i, n in enumerate(sizes):
        shape = [n if j == i else 1 for j in range(len(sizes))] if sparse else sizes
        out.append(lax.broadcast_in_dim(lax.iota(out_dtype, n), shape, (i,)))
    if sparse:
        return tuple(out)
    return stack(out, 0) if out else array([], dtype=out_dtype)


def fromfunction(function: Any, shape: Any, *, dtype: Any = float, **kwargs: Any) -> Any:
    """function(i, j, ...) at each position of a grid, by vmap; as numpy.fromfunction."""
    from tinyjax.interpreters.batching import vmap

    sizes = canonicalize_shape(shape)
    for i in range(len(sizes)):
        in_axes = [0 if i == j else None for j in range(len(sizes))]
        function = vmap(function, in_axes=tuple(in_axes[::-1]))
    return function(*[arange(n, dtype=dtype) for n in sizes], **kwargs)


def _range_of(part: slice) -> Any:
    """start:stop:step as arange; start:stop:nj as linspace with n values."""
    start, stop, step = (concrete(x, "in an index grid") for x in (part.start, part.stop, part.step))
    start, step = start or 0, step or 1
    if np.iscomplex(step):
        return linspace(start, stop, int(abs(step)))
    return arange(start, stop, step)


class _Grid:
    """What mgrid and ogrid are: indexed by slices, they give the coordinates of a grid."""

    def __init__(self, sparse: bool):
        self.sparse = sparse

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return _range_of(key)
        axes = promote_dtypes(*[_range_of(part) for part in key]) if key else []
        out = meshgrid(*axes, indexing="ij", sparse=self.sparse)
        if self.sparse:
            return out
        return stack(out, 0) if out else arange(0)


mgrid = _Grid(sparse=False)
ogrid = _Grid(sparse=True)


class _AxisConcat:
    """What r_ and c_ are: indexed by slices and arrays, they concatenate them; as numpy.r_, c_."""

    def __init__(self, axis: int, ndmin: int, trans1d: int):
        self.axis, self.ndmin, self.trans1d = axis, ndmin, trans1d

    def __getitem__(self, key: Any) -> Any:
        items = list(key) if isinstance(key, tuple) else [key]
        axis, ndmin, trans1d, matrix = self.axis, self.ndmin, self.trans1d, -1
        if isinstance(items[0], str):
            directive = items.pop(0)
            if directive in ("r", "c"):
                matrix = "rc".index(directive)
            else:
                axis, ndmin, trans1d = self._numbers(directive)
        out = []
        for item in items:
            if isinstance(item, str):
                raise ValueError("string directive must be placed at the beginning")
            x = _range_of(item) if isinstance(item, slice) else array(item, copy=False)
            item_ndim = 0 if isinstance(item, slice) else x.ndim
            x = array(x, copy=False, ndmin=ndmin)
            if trans1d != -1 and ndmin > item_ndim:
                shift = ndmin - abs(ndmin + trans1d + 1) % ndmin
                order = tuple(range(ndmin))
                x = transpose(x, order[shift:] + order[:shift])
            out.append(x)
        joined = concatenate(tuple(out), axis)
        return lax.expand_dims(joined, (matrix,)) if matrix != -1 and joined.ndim == 1 else joined

    def _numbers(self, directive: str) -> tuple[int, int, int]:
        defaults = [self.axis, self.ndmin, self.trans1d]
        try:
            given = [int(n) for n in directive.split(",")]
        except ValueError as error:
            raise ValueError(f"could not understand directive {directive!r}") from error
        axis, ndmin, trans1d = given + defaults[len(given) :]
        return axis, ndmin, trans1d

    def __len__(self) -> int:
        return 0


r_ = _AxisConcat(axis=0, ndmin=1, trans1d=-1)
c_ = _AxisConcat(axis=-1, ndmin=2, trans1d=0)
s_ = np.s_
index_exp = np.index_exp


# ---- bits ----


@jitted(static_argnames=("axis", "bitorder"))
def packbits(a: Any, axis: int | None = None, bitorder: str = "big") -> Array:
    """Eight bools in each uint8; as numpy.packbits."""
    from tinyjax.numpy.manipulation import swapaxes
    from tinyjax.numpy.ufuncs import left_shift

    a = ensure_arraylike("packbits", a)
    if dtypes.kind(a.dtype) not in "biu":
        raise TypeError("Expected an input array of integer or boolean data type")
    bits = _bit_numbers(bitorder)
    uint8 = np.dtype("uint8")
    a = convert(lax.ne(a, constant(0, a.dtype)), uint8)
    a, axis = (ravel(a), 0) if axis is None else (a, axis)
    a = swapaxes(a, axis, -1)
    missing = -a.shape[-1] % 8
    if missing:
        a = lax.pad(a, constant(0, uint8), [(0, 0, 0)] * (a.ndim - 1) + [(0, missing, 0)])
    a = reshape(a, (*a.shape[:-1], -1, 8))
    packed = convert(reductions.sum(left_shift(a, bits), -1), uint8)
    return swapaxes(packed, axis, -1)


@jitted(static_argnames=("axis", "count", "bitorder"))
def unpackbits(
    a: Any, axis: int | None = None, count: int | None = None, bitorder: str = "big"
) -> Array:
    """The eight bits of each uint8, as uint8; as numpy.unpackbits."""
    from tinyjax.numpy.manipulation import swapaxes
    from tinyjax.numpy.ufuncs import bitwise_and, right_shift

    a = ensure_arraylike("unpackbits", a)
    if a.dtype != np.uint8:
        raise TypeError("Expected an input array of unsigned byte data type")
    bits = _bit_numbers(bitorder)
    a, axis = (ravel(a), 0) if axis is None else (a, axis)
    a = swapaxes(a, axis, -1)
    out = bitwise_and(right_shift(a[..., None], bits), constant(1, a.dtype))
    out = reshape(out, (*a.shape[:-1], a.shape[-1] * 8))
    if count is not None:
        if count > out.shape[-1]:
            more = zeros((*out.shape[:-1], count - out.shape[-1]), out.dtype)
            out = concatenate([out, more], -1)
        else:
            out = out[..., :count]
    return swapaxes(out, axis, -1)


def _bit_numbers(bitorder: str) -> Any:
    if bitorder not in ("little", "big"):
        raise ValueError("'order' must be either 'little' or 'big'")
    bits = np.arange(8, dtype=np.uint8)
    return as_array(bits[::-1].copy() if bitorder == "big" else bits)
