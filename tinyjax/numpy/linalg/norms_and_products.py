"""Norms, powers and products of jnp.linalg."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core.array import Array
from tinyjax.lax.elementwise import real_dtype
from tinyjax.lax.shape import canonicalize_axis
from tinyjax.numpy import linear_algebra, reductions, triangles
from tinyjax.numpy.contraction import einsum
from tinyjax.numpy.elementary import sqrt
from tinyjax.numpy.linalg.decompositions import svd
from tinyjax.numpy.linalg.solving import inv
from tinyjax.numpy.linear_algebra import matmul, tensordot, vecdot
from tinyjax.numpy.logic import not_equal
from tinyjax.numpy.manipulation import expand_dims, matrix_transpose, moveaxis
from tinyjax.numpy.promotion import promote_dtypes_inexact
from tinyjax.numpy.ufuncs import absolute, conj, multiply, power, real
from tinyjax.numpy.util import constant, ensure_arraylike
from tinyjax.transform.jit.api import jitted

__all__ = [
    "cross", "diagonal", "matmul", "matrix_norm", "matrix_power", "matrix_transpose", "multi_dot",
    "norm", "outer", "tensordot", "trace", "vecdot", "vector_norm",
]  # fmt: skip


@jitted(static_argnames=("ord", "axis", "keepdims"))
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Array:
    """The norm of vectors (one axis) or matrices (two axes), of all elements by default.

    As numpy.linalg.norm: ord 2 is the Euclidean norm of vectors, 'fro' the Frobenius norm of matrices;
    numbers and inf mean the same as in NumPy. Raises ValueError for an unknown ord, or more than two
    axes."""
    (x,) = promote_dtypes_inexact(ensure_arraylike("jnp.linalg.norm", x))
    if axis is None:
        if ord is None:
            return sqrt(reductions.sum(_squares(x), keepdims=keepdims))
        axis = tuple(range(x.ndim))
    axes = tuple(
        canonicalize_axis(i, x.ndim) for i in (axis if isinstance(axis, tuple) else (axis,))
    )
    if len(axes) == 1:
        return vector_norm(x, ord=2 if ord is None else ord, axis=axes, keepdims=keepdims)
    if len(axes) != 2:
        raise ValueError(
            f"Improper number of axes for norm: {axis=}. Pass one axis to compute a vector-norm, or two "
            "axes to compute a matrix-norm."
        )
    if ord in (None, "f", "fro"):
        return sqrt(reductions.sum(_squares(x), axis=axes, keepdims=keepdims))
    if ord not in (1, -1, np.inf, -np.inf):
        if ord in ("nuc", 2, -2):
            return _norm_of_singular_values(x, ord, axes, keepdims)
        raise ValueError(f"Invalid order '{ord}' for matrix norm.")
    summed, kept = axes if abs(ord) == 1 else axes[::-1]
    if not keepdims and kept > summed:
        kept -= 1
    sums = reductions.sum(absolute(x), axis=summed, keepdims=keepdims)
    if ord > 0:
        return reductions.max(sums, axis=kept, keepdims=keepdims, initial=0)
    return reductions.min(sums, axis=kept, keepdims=keepdims)


def _norm_of_singular_values(x: Any, ord: Any, axes: Any, keepdims: bool) -> Any:
    """The largest, the smallest or the sum of the singular values of the matrices along two axes."""
    s = svd(moveaxis(x, axes, (-2, -1)), compute_uv=False)
    if ord == "nuc":
        out = reductions.sum(s, axis=-1)
    elif ord == 2:
        out = reductions.max(s, axis=-1, initial=0)
    else:
        out = reductions.min(s, axis=-1)
    return expand_dims(out, axes) if keepdims else out


def _squares(x: Any) -> Any:
    return real(multiply(x, conj(x)))


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Array:
    """The norm of vectors along `axis`: (sum of |x|**ord)**(1/ord); as numpy.linalg.vector_norm."""
    (x,) = promote_dtypes_inexact(ensure_arraylike("jnp.linalg.vector_norm", x))
    options = {"axis": axis, "keepdims": keepdims}
    if ord is None or ord == 2:
        return sqrt(reductions.sum(_squares(x), **options))
    if ord == np.inf:
        return reductions.max(absolute(x), initial=0, **options)
    if ord == -np.inf:
        return reductions.min(absolute(x), **options)
    if ord == 0:
        return reductions.sum(not_equal(x, 0), dtype=real_dtype(x.dtype), **options)
    if ord == 1:
        return reductions.sum(absolute(x), **options)
    if isinstance(ord, str):
        raise ValueError(f"Invalid order '{ord}' for vector norm.")
    abs_x = absolute(x)
    total = reductions.sum(power(abs_x, constant(ord, abs_x.dtype)), **options)
    return power(total, constant(1 / np.asarray(ord, abs_x.dtype), abs_x.dtype))


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Array:
    """The norm of the matrices in the last two axes; as numpy.linalg.matrix_norm."""
    return norm(x, ord=ord, keepdims=keepdims, axis=(-2, -1))


@jitted(static_argnames=("n",))
def matrix_power(a: Any, n: int) -> Array:
    """A square matrix multiplied n times with itself, by squaring; for n < 0 its inverse -n times.

    As numpy.linalg.matrix_power. Raises TypeError for matrices that are not square, and for an n that is
    no integer."""
    a = ensure_arraylike("jnp.linalg.matrix_power", a)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise TypeError(f"matrix_power: the last two axes must be square matrices, got {a.shape}")
    try:
        n = operator.index(n)
    except TypeError:
        raise TypeError(f"exponent must be an integer, got {n}") from None
    if n < 0:
        a, n = inv(a), -n
    if n == 0:
        unit = triangles.eye(a.shape[-1], dtype=a.dtype)
        return lax.broadcast_in_dim(unit, a.shape, (a.ndim - 2, a.ndim - 1))
    if n == 3:
        return matmul(matmul(a, a), a)
    result: Any = None
    square: Any = None
    while n:
        square = a if square is None else matmul(square, square)
        n, is_odd = divmod(n, 2)
        if is_odd:
            result = square if result is None else matmul(result, square)
    return result


def multi_dot(arrays: Sequence[Any], *, precision: Any = None) -> Array:
    """The product of a chain of matrices, in the cheapest order; as numpy.linalg.multi_dot."""
    operands = [ensure_arraylike("jnp.linalg.multi_dot", x) for x in arrays]
    if len(operands) < 2:
        raise ValueError(f"multi_dot requires at least two arrays; got len(arrays)={len(operands)}")
    if any(x.ndim != 2 for x in operands[1:-1]) or any(
        x.ndim not in (1, 2) for x in (operands[0], operands[-1])
    ):
        raise ValueError("multi_dot: all arrays are matrices, the first and last may be vectors")
    letters = "abcdefghijklmnopqrstuvwxyz"
    names = [letters[i : i + 2] for i in range(len(operands))]
    first = names[0][0] if operands[0].ndim == 2 else ""
    last = names[-1][1] if operands[-1].ndim == 2 else ""
    names[0], names[-1] = first + names[0][1], names[-1][0] + last
    return einsum(f"{','.join(names)}->{first}{last}", *operands, precision=precision)


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Array:
    """The cross product of vectors of three elements; as numpy.linalg.cross."""
    x1, x2 = ensure_arraylike("jnp.linalg.cross", x1, x2)
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ValueError(
            f"Both input arrays must be (arrays of) 3-dimensional vectors along axis {axis}, got {x1.shape} "
            f"and {x2.shape}"
        )
    return linear_algebra.cross(x1, x2, axis=axis)


def outer(x1: Any, x2: Any, /) -> Array:
    """The outer product of two vectors; as numpy.linalg.outer. Raises ValueError for other ranks."""
    x1, x2 = ensure_arraylike("jnp.linalg.outer", x1, x2)
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(
            f"Input arrays must be one-dimensional, but they are {x1.ndim}- and {x2.ndim}-dimensional"
        )
    return multiply(x1[:, None], x2[None, :])


def diagonal(x: Any, /, *, offset: int = 0) -> Array:
    """The diagonals of the matrices in the last two axes; as numpy.linalg.diagonal."""
    return triangles.diagonal(x, offset=offset, axis1=-2, axis2=-1)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Array:
    """The sums of the diagonals of the matrices in the last two axes; as numpy.linalg.trace."""
    return triangles.trace(x, offset=offset, axis1=-2, axis2=-1, dtype=dtype)
