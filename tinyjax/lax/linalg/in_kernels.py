"""Decompositions of small matrices as loops of elementary operations, which become kernels.

Matrices are in the last two axes. An iteration works on whole rows and columns, with masks for the parts
that must not change. So all matrices of a batch do the same work at the same time, like the lanes of a
vector. NaN and infinity spread as they do in LAPACK, with exceptions: LAPACK chooses a pivot among several
NaN by the lanes of its vectors, and skips zeros at the end of a reflection's vector.

Source: G. Golub and C. Van Loan, "Matrix Computations", 3.1, 3.4, 4.2 and 5.2
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.compile.passes.expand import expansions
from tinyjax.core.array import ShapedArray
from tinyjax.core.bind import Primitive
from tinyjax.core.jaxpr import JaxprEqn
from tinyjax.core.primitives import shape_of
from tinyjax.core.tracing import trace_to_jaxpr
from tinyjax.lax.control_flow.cond import cond_p
from tinyjax.lax.control_flow.scan import scan
from tinyjax.lax.linalg import matrices
from tinyjax.lax.linalg.cholesky import cholesky_p
from tinyjax.lax.linalg.lu import lu_p
from tinyjax.lax.linalg.qr import qr_p
from tinyjax.lax.linalg.triangular_solve import triangular_solve_p

MAX_SIZE = 16  # most rows and columns of a matrix that a kernel decomposes
MAX_COLUMNS = 2**12  # most right-hand sides of a system
MAX_SOLVE_WORK = 2**15  # multiplications to solve larger systems, in 20 microseconds

# ---- parts of matrices, of which the last axes are -2 and -1 ----


def _numbers(n: int, axis: int = -1) -> Any:
    """0, 1, ... along the axis of a matrix."""
    return lax.broadcasted_iota(np.int32, (n, 1) if axis == -2 else (n,), 0)


def _at(x: Any, i: Any, axis: int) -> Any:
    """Row i, or column i, as a matrix with one row or column."""
    start: list[Any] = [np.int32(0)] * x.ndim
    start[axis], sizes = i, list(x.shape)
    sizes[axis] = 1
    return lax.dynamic_slice(x, start, sizes, allow_negative_indices=False)


def _with(x: Any, part: Any, i: Any, axis: int) -> Any:
    """`x` with another row i, or column i."""
    start: list[Any] = [np.int32(0)] * x.ndim
    start[axis] = i
    return lax.dynamic_update_slice(x, part, start, allow_negative_indices=False)


def _where(mask: Any, x: Any, y: Any) -> Any:
    """x where the mask holds, else y, broadcast to one shape."""
    shape = np.broadcast_shapes(*map(shape_of, (mask, x, y)))
    dtype = next(v.dtype for v in (x, y) if not isinstance(v, float))
    x, y = (np.array(v, dtype) if isinstance(v, float) else v for v in (x, y))
    return lax.select(*(_broadcast(v, shape) for v in (mask, x, y)))


def _broadcast(x: Any, shape: tuple[int, ...]) -> Any:
    axes = tuple(range(len(shape) - len(shape_of(x)), len(shape)))
    return x if shape_of(x) == shape else lax.broadcast_in_dim(x, shape, axes)


def _sum(x: Any, axis: int) -> Any:
    """The sum along an axis, which is kept with size 1."""
    return lax.expand_dims(lax.reduce_sum(x, (x.ndim + axis,)), (axis,))


def _iterate(step: Callable[..., Any], carry: Any, count: int, reverse: bool = False) -> Any:
    """The carry after step(carry, k) for k = 0, 1, ... count - 1, or the other way round.

    A counter in the carry is known to a compiler that unrolls the loop."""

    def counted(carry: Any, _: Any) -> Any:
        k, carry = carry
        return (k + np.int32(-1 if reverse else 1), step(carry, k)), ()

    first = np.int32(count - 1 if reverse else 0)
    (_, carry), _ = scan(counted, (first, carry), length=count)
    return carry


# ---- the algorithms ----


def lu(a: Any) -> list[Any]:
    """L and U in one matrix, pivots and permutation: Gaussian elimination with partial pivoting.

    A NaN is a pivot only where it is first, and rows are not divided by it; inf / inf is 0."""
    *batch, m, n = a.shape
    count = min(m, n)
    rows, columns = _numbers(m, -2), _numbers(n)

    def step(carry: Any, k: Any) -> Any:
        a, pivots, order = carry
        size = lax.abs(_at(a, k, -1))
        size = _where((rows == k) & (size != size), math.inf, size)
        size = _where((rows >= k) & (size >= 0), size, -1.0)
        pivot = lax.expand_dims(lax.argmax(size, size.ndim - 2, np.int32), (-2,))
        pivots = _with(pivots, pivot, k, -2)
        is_pivot = rows == pivot
        pivot_row = _sum(_where(is_pivot, a, 0.0), -2)
        a = _where(rows == k, pivot_row, _where(is_pivot, _at(a, k, -2), a))
        first = _sum(_where(is_pivot, order, np.int32(0)), -2)
        order = _where(rows == k, first, _where(is_pivot, _at(order, k, -2), order))
        divisor = _at(pivot_row, k, -1)
        size = lax.abs(divisor)
        factors = _at(a, k, -1) / _where(size > 0, divisor, 1.0)
        factors = _where(size == math.inf, 0.0, factors)
        rest = _where(columns == k, factors, a - factors * pivot_row)
        return _where((rows > k) & (columns >= k), rest, a), pivots, order

    pivots = lax.full((*batch, count, 1), np.int32(0))
    order = _broadcast(rows, (*batch, m, 1))
    a, pivots, order = _iterate(step, (a, pivots, order), count)
    return [a, lax.squeeze(pivots, (-1,)), lax.squeeze(order, (-1,))]


def cholesky(a: Any) -> list[Any]:
    """The lower triangular factor, column by column; NaN if the matrix is not positive definite. inf / inf
    is 0."""
    n = a.shape[-1]
    rows = _numbers(n, -2)

    def step(carry: Any, k: Any) -> Any:
        factor, has_failed = carry
        column = _at(a, k, -1) - _sum(factor * _at(factor, k, -2), -1)
        square = _at(column, k, -2)
        root = lax.sqrt(square)
        column = _where((rows > k) & (root != math.inf), column / root, 0.0)
        column = _where(rows == k, root, column)
        return _with(factor, column, k, -1), has_failed | (square <= 0)

    has_failed = lax.full((*a.shape[:-2], 1, 1), False)
    factor, has_failed = _iterate(step, (lax.full_like(a, 0), has_failed), n)
    return [_where(has_failed, math.nan, factor)]


def qr(a: Any, *, full_matrices: bool, **_: Any) -> list[Any]:
    """Householder's reflections, one for each column that is not zero below the diagonal.

    A reflection changes no row above it, even if it has NaN, and the diagonal has its size, even infinity."""
    m, n = a.shape[-2:]
    rows, columns, places, count = _numbers(m, -2), _numbers(n), _numbers(m), min(m, n)
    size = _where(lax.abs(a) < math.inf, lax.abs(a), 0.0)
    largest = lax.expand_dims(lax.reduce_max(size, (a.ndim - 2, a.ndim - 1)), (-2, -1))
    largest = _where(largest > 0, largest, 1.0)  # keeps squares in the range of floats

    def step(carry: Any, k: Any) -> Any:
        q, r, diagonal = carry
        column = _where(rows >= k, _at(r, k, -1), 0.0)
        first, square = _at(column, k, -2), _sum(column * column, -2)
        rest = _sum(_where(rows > k, column * column, 0.0), -2)
        size = lax.sqrt(square)
        size = _where(first < 0, -size, size)
        v = _where(rows == k, first + size, column)
        length = rest + (first + size) * (first + size)
        factor = 2 / _where(rest == 0, 1.0, length)
        row = matrices.matrix_transpose(v)
        has_moved = rest != 0
        reflected = r - factor * v * _sum(v * r, -2)
        q = _where((places >= k) & has_moved, q - factor * _sum(q * row, -1) * row, q)
        r = _where((rows >= k) & has_moved, reflected, r)
        return q, r, _with(diagonal, _where(has_moved, -size, first), k, -2)

    unit = _where(rows == places, lax.full_like(a, 1, shape=()), 0.0)
    q, diagonal = (
        _broadcast(unit, (*a.shape[:-2], m, m)),
        lax.full_like(a, 0, shape=(*a.shape[:-2], m, 1)),
    )
    q, r, diagonal = _iterate(step, (q, a / largest, diagonal), count)
    r = _where(rows == columns, diagonal, _where(rows < columns, r, 0.0)) * largest
    if not full_matrices:
        q = lax.slice_in_dim(q, 0, count, axis=-1)
        r = lax.slice_in_dim(r, 0, count, axis=-2)
    return [q, r]


def triangular_solve(
    a: Any, b: Any, *, left_side: bool, lower: bool, transpose_a: bool, unit_diagonal: bool,
    **_: Any,
) -> list[Any]:  # fmt: skip
    """Row by row, as each row needs the rows before it. X op(A) = B is op(A)^T X^T = B^T."""
    n = a.shape[-1]
    if left_side == transpose_a:
        a, lower = matrices.matrix_transpose(a), not lower
    if not left_side:
        b = matrices.matrix_transpose(b)
    columns = _numbers(n)

    def step(x: Any, k: Any) -> Any:
        row = _at(a, k, -2)
        factors = matrices.matrix_transpose(_where(columns < k if lower else columns > k, row, 0.0))
        new = _at(b, k, -2) - _sum(factors * x, -2)
        return _with(x, new if unit_diagonal else new / _at(row, k, -1), k, -2)

    x = _iterate(step, lax.full_like(b, 0), n, reverse=not lower)
    return [x if left_side else matrices.matrix_transpose(x)]


# ---- the rules ----


def _as_kernel(fun: Callable[..., list[Any]], most: int, eqn: JaxprEqn) -> Any:
    """The function for an equation's matrices as the branch to take; None if they are large."""
    first, *others = (v.aval for v in eqn.invars)
    is_small = _is_small(first, MAX_SIZE) and all(_is_small(aval, most) for aval in others)
    if eqn.params.get("pivoting") or not (is_small or _is_short_solve(eqn)):
        return None
    plain = [ShapedArray(v.aval.shape, v.aval.dtype) for v in eqn.invars]  # as `expand` gives them
    body = trace_to_jaxpr(functools.partial(fun, **eqn.params), plain)
    return lambda *operands: cond_p.bind(np.int32(0), *operands, branches=(body,))


def _is_small(aval: ShapedArray, most: int) -> bool:
    return aval.dtype.char in "fd" and aval.size > 0 and max(aval.shape[-2:]) <= most


def _is_short_solve(eqn: JaxprEqn) -> bool:
    """Whether the equation solves a triangular system in less time than the host needs to begin."""
    if eqn.primitive is not triangular_solve_p:
        return False
    work = eqn.invars[0].aval.shape[-1] * eqn.invars[1].aval.size
    return work <= MAX_SOLVE_WORK and all(_is_small(v.aval, MAX_COLUMNS) for v in eqn.invars)


def _in_kernels(primitive: Primitive, fun: Callable[..., list[Any]], most: int = MAX_SIZE) -> None:
    expansions[primitive] = functools.partial(_as_kernel, fun, most)


_in_kernels(lu_p, lu)
_in_kernels(cholesky_p, cholesky)
_in_kernels(qr_p, qr)
_in_kernels(triangular_solve_p, triangular_solve, MAX_COLUMNS)
