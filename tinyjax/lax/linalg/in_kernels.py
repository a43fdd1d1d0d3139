"""Decompositions of small matrices as loops of elementary operations, which become kernels.

Matrices are in the last two axes. An iteration works on whole rows and columns, with masks for the parts
that must not change. So all matrices of a batch do the same work at the same time, like the lanes of a
vector. NaN and infinity spread as they do in LAPACK, with exceptions: LAPACK chooses a pivot among several
NaN by the lanes of its vectors, and skips zeros at the end of a reflection's vector.

Sources: G. Golub and C. Van Loan, "Matrix Computations", 3.1, 3.4, 4.2, 5.2, 8.5 and 8.6; for the rounding
of rotations H. Rutishauser, "The Jacobi method for real symmetric matrices", 1966
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
from tinyjax.core.jaxpr import Jaxpr, JaxprEqn
from tinyjax.core.primitives import shape_of
from tinyjax.core.tracing import trace_to_jaxpr
from tinyjax.lax.control_flow.cond import cond_p
from tinyjax.lax.control_flow.scan import scan
from tinyjax.lax.control_flow.while_loop import while_loop
from tinyjax.lax.linalg import matrices, signs
from tinyjax.lax.linalg.cholesky import cholesky_p
from tinyjax.lax.linalg.eigh import eigh_p
from tinyjax.lax.linalg.lu import lu_p
from tinyjax.lax.linalg.qr import qr_p
from tinyjax.lax.linalg.spectra import diagonal
from tinyjax.lax.linalg.svd import svd_p
from tinyjax.lax.linalg.triangular_solve import triangular_solve_p
from tinyjax.lax.linalg.tridiagonal import tridiagonal_solve_p
from tinyjax.transform.batching import moveaxis, vmap

MAX_SIZE_IN_LANES = 16  # most rows and columns of a matrix in a lane of vectors
MAX_BYTES = 2**14  # of a matrix that a kernel decomposes
MAX_SOLVE_WORK = 2**20  # multiplications to solve a system with such a matrix
MAX_LARGE_SOLVE_WORK = 2**15  # and with a larger one
MAX_ROTATED = 16  # columns of a matrix that Jacobi's rotations decompose
MAX_SWEEPS = 30

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


def _reduced(reduce: Callable[..., Any], x: Any, axis: int) -> Any:
    """The reduction along an axis, which is kept with size 1."""
    return lax.expand_dims(reduce(x, (x.ndim + axis,)), (axis,))


_sum = functools.partial(_reduced, lax.reduce_sum)


def _iterate(step: Callable[..., Any], carry: Any, count: int, reverse: bool = False) -> Any:
    """The carry after step(carry, k) for k = 0, 1, ... count - 1, or the other way round.

    A counter in the carry is known to a compiler that unrolls the loop."""

    def counted(carry: Any, _: Any) -> Any:
        k, carry = carry
        return (k + np.int32(-1 if reverse else 1), step(carry, k)), ()

    first = np.int32(count - 1 if reverse else 0)
    (_, carry), _ = scan(counted, (first, carry), length=count)
    return carry


def _size(x: Any) -> Any:
    """The magnitudes by which LAPACK compares numbers: for complex ones, |real part| + |imaginary part|."""
    if x.dtype.kind != "c":
        return lax.abs(x)
    return lax.abs(lax.real(x)) + lax.abs(lax.imag(x))


# ---- the algorithms ----


def lu(a: Any) -> list[Any]:
    """L and U in one matrix, pivots and permutation: Gaussian elimination with partial pivoting.

    No rows are exchanged before the end: `place` is where each row belongs. A NaN is a pivot only where it
    is first, and rows are not divided by it; inf / inf is 0. Below a NaN, LAPACK's pivots may be others."""
    *batch, m, n = a.shape
    count = min(m, n)
    rows, columns = _numbers(m, -2), _numbers(n)

    def step(carry: Any, k: Any) -> Any:
        a, upper, pivots, place = carry
        size = _size(_at(a, k, -1))
        size = _where((place == k) & (size != size), math.inf, size)
        size = _where((place >= k) & (size >= 0), size, -1.0)
        largest = _reduced(lax.reduce_max, size, -2)
        pivot = _reduced(lax.reduce_min, _where(size == largest, place, np.int32(m)), -2)
        is_pivot = place == pivot
        upper = _with(upper, _row(a, is_pivot, rows), k, -2)
        pivots = _with(pivots, pivot, k, -2)
        place = _where(is_pivot, k, _where(place == k, pivot, place))
        pivot_row = _at(upper, k, -2)
        divisor = _at(pivot_row, k, -1)
        size = _size(divisor)
        factors = _at(a, k, -1) / _where(size > 0, divisor, 1.0)
        factors = _where(size == math.inf, 0.0, factors)
        rest = _where(columns == k, factors, a - factors * pivot_row)
        a = _where((place > k) & (columns >= k), rest, a)
        return a, upper, pivots, place

    upper = lax.full_like(a, 0, shape=(*batch, count, n))
    pivots = lax.full((*batch, count, 1), np.int32(0))
    place = _broadcast(rows, (*batch, m, 1))
    a, _, pivots, place = _iterate(step, (a, upper, pivots, place), count)
    order = lax.squeeze(_sum(_where(place == _numbers(m), rows, np.int32(0)), -2), (-2,))
    take = lambda a, order: a[order]  # noqa: E731
    for _ in batch:
        take = vmap(take)
    return [take(a, order), lax.squeeze(pivots, (-1,)), order]


def _row(a: Any, is_row: Any, rows: Any) -> Any:
    """The row for which `is_row` holds, another one in each matrix of a batch."""
    if a.ndim > 2:
        return _sum(_where(is_row, a, 0.0), -2)
    return _at(a, lax.squeeze(_sum(_where(is_row, rows, np.int32(0)), -2), (0, 1)), -2)


def cholesky(a: Any) -> list[Any]:
    """The lower triangular factor, column by column; NaN if the matrix is not positive definite. inf / inf
    is 0."""
    n = a.shape[-1]
    rows, columns = _numbers(n, -2), _numbers(n)

    def step(carry: Any, k: Any) -> Any:
        a, has_failed = carry
        column = _at(a, k, -1)
        square = _at(column, k, -2)
        root = lax.sqrt(square)
        column = _where((rows > k) & (root != math.inf), column / root, 0.0)
        column = _where(rows == k, root, column)
        rest = a - column * matrices.matrix_transpose(column)
        a = _where(columns > k, rest, _where(columns == k, column, a))
        return a, has_failed | (square <= 0)

    has_failed = lax.full((*a.shape[:-2], 1, 1), False)
    a, has_failed = _iterate(step, (a, has_failed), n)
    return [_where(has_failed, math.nan, _where(rows >= columns, a, 0.0))]


def qr(a: Any, *, full_matrices: bool, **_: Any) -> list[Any]:
    """Householder's reflections, one for each column that is not zero below the diagonal; Q is their product
    with the unit matrix, from the last one on.

    A reflection changes no row above it and no column before it, even if it has NaN, and the diagonal has its
    size, even infinity."""
    *batch, m, n = a.shape
    count = min(m, n)
    rows, columns = _numbers(m, -2), _numbers(n)
    width = m if full_matrices else count
    size = _where(lax.abs(a) < math.inf, lax.abs(a), 0.0)
    largest = lax.expand_dims(lax.reduce_max(size, (a.ndim - 2, a.ndim - 1)), (-2, -1))
    largest = _where(largest > 0, largest, 1.0)  # keeps squares in the range of floats

    def step(carry: Any, k: Any) -> Any:
        r, vectors, factors, diagonal = carry
        column = _where(rows >= k, _at(r, k, -1), 0.0)
        first, square = _at(column, k, -2), _sum(column * column, -2)
        rest = _sum(_where(rows > k, column * column, 0.0), -2)
        size = lax.sqrt(square)
        size = _where(first < 0, -size, size)
        has_moved = rest != 0
        length = rest + (first + size) * (first + size)
        factor = _where(has_moved, 2 / _where(has_moved, length, 1.0), 0.0)
        vector = _where(rows == k, first + size, column)
        vectors = _with(vectors, matrices.matrix_transpose(vector), k, -2)
        factors = _with(factors, factor, k, -2)
        diagonal = _with(diagonal, _where(has_moved, -size, first), k, -2)
        return reflected(r, vectors, factors, k), vectors, factors, diagonal

    def reflected(x: Any, vectors: Any, factors: Any, k: Any) -> Any:
        v, factor = matrices.matrix_transpose(_at(vectors, k, -2)), _at(factors, k, -2)
        has_moved = (rows >= k) & (_numbers(x.shape[-1]) >= k) & (factor != 0)
        return _where(has_moved, x - factor * v * _sum(v * x, -2), x)

    vectors, factors, diagonal = (
        lax.full_like(a, 0, shape=(*batch, *shape)) for shape in ((count, m), (count, 1), (m, 1))
    )
    carry = a / largest, vectors, factors, diagonal
    r, vectors, factors, diagonal = _iterate(step, carry, count)
    unit = _where(rows == _numbers(width), lax.full_like(a, 1, shape=()), 0.0)
    q = _iterate(
        lambda q, k: reflected(q, vectors, factors, k),
        _broadcast(unit, (*batch, m, width)), count, reverse=True,
    )  # fmt: skip
    r = _where(rows == columns, diagonal, _where(rows < columns, r, 0.0)) * largest
    return [q, lax.slice_in_dim(r, 0, width, axis=-2)]


def triangular_solve(
    a: Any, b: Any, *, left_side: bool, lower: bool, transpose_a: bool, conjugate_a: bool,
    unit_diagonal: bool,
) -> list[Any]:  # fmt: skip
    """Row by row, as each row needs the rows before it. X op(A) = B is op(A)^T X^T = B^T."""
    n = a.shape[-1]
    if conjugate_a and a.dtype.kind == "c":
        a = lax.conj(a)
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


def tridiagonal_solve(dl: Any, d: Any, du: Any, b: Any, **_: Any) -> list[Any]:
    """Gaussian elimination with partial pivoting, one row after the other, as LAPACK's gtsv: where two rows
    are exchanged, the upper one gets a second side diagonal. NaN for a zero on the diagonal."""
    axis, columns = d.ndim - 1, [lax.expand_dims(x, (-1,)) for x in (dl, d, du)]
    dl, d, du, b = (moveaxis(x, axis, 0) for x in (*columns, b))
    if len(d) == 1:
        return [moveaxis(b / _where(d == 0, math.nan, d), 0, axis)]
    du = _where(lax.broadcasted_iota(np.int32, du.shape, 0) == len(du) - 1, 0.0, du)

    def eliminate(carry: Any, row: Any) -> Any:
        (d, du, b, has_failed), (below, d_next, du_next, b_next) = carry, row
        stays, is_done = lax.abs(d) >= lax.abs(below), below == 0
        factor = _where(stays, below, d) / _where(stays, d, below)
        upper = _where(stays, d, below), _where(stays, du, d_next), _where(stays, 0.0, du_next)
        rest = _where(is_done, d_next, _where(stays, d_next - factor * du, du - factor * d_next))
        side = _where(stays, du_next, -factor * du_next)
        right = _where(stays, b_next - factor * b, b - factor * b_next)
        right = _where(is_done, b_next, right)
        has_failed = has_failed | (is_done & (d == 0))
        return (rest, side, right, has_failed), (*upper, _where(stays, b, b_next))

    def substitute(carry: Any, row: Any) -> Any:
        (x1, x2), (d, du, du2, b) = carry, row
        x = (b - du * x1 - du2 * x2) / d
        return (x, x1), x

    first = d[0], du[0], b[0], lax.full_like(d[0], False, bool)
    carry, upper = scan(eliminate, first, (dl[1:], d[1:], du[1:], b[1:]))
    d, _, b, has_failed = carry
    last = b / d
    _, x = scan(substitute, (last, lax.full_like(last, 0)), upper, reverse=True)
    x = lax.concatenate([x, lax.expand_dims(last, (0,))], 0)
    return [moveaxis(_where(has_failed | (d == 0), math.nan, x), 0, axis)]


# ---- eigenvalues and singular values of one matrix ----


def _orthogonal_rows(x: Any, columns: int) -> Any:
    """`x` with its rows rotated until their first `columns` elements are orthogonal: Jacobi's method,
    one-sided.

    Row i of `upper` and of `lower` are a pair, and a round rotates all pairs at once. As in a
    round-robin tournament, all rows but the first then move on: after a sweep, each row was paired with each
    other one and is back at its place. The last sweep finds that the rows were orthogonal, to within the
    rounding of the largest."""
    n = len(x)
    half = (n + 1) // 2
    x = lax.pad(x, np.zeros((), x.dtype), ((0, 2 * half - n, 0), (0, 0, 0)))
    squares = lax.reduce_sum(lax.square(x[:, :columns]), (0, 1))
    bound = squares * (2 * np.finfo(x.dtype).eps) ** 2

    def turn(carry: Any, _: Any) -> Any:
        upper, lower, worst = carry
        p, q = upper[:, :columns], lower[:, :columns]
        p2, q2, pq = (_sum(x, -1) for x in (p * p, q * q, p * q))
        larger = lax.max(p2, q2)
        error = pq * pq / _where(larger > 0, larger, 1.0)
        worst = lax.max(worst, lax.reduce_max(error, (0, 1)))
        is_zero = pq == 0
        ratio = (q2 - p2) / _where(is_zero, 1.0, 2 * pq)
        tangent = 1 / (lax.abs(ratio) + lax.sqrt(1 + ratio * ratio))
        tangent = _where(is_zero, 0.0, _where(ratio < 0, -tangent, tangent))
        cosine = 1 / lax.sqrt(1 + tangent * tangent)
        sine = cosine * tangent
        half_tangent = sine / (1 + cosine)  # 1 - sine * half_tangent is the cosine, more exactly
        upper, lower = (
            upper - sine * (lower + half_tangent * upper),
            lower + sine * (upper - half_tangent * lower),
        )
        if half > 1:
            upper, lower = (
                lax.concatenate([upper[:1], lower[:1], upper[1:-1]], 0),
                lax.concatenate([lower[1:], upper[-1:]], 0),
            )
        return (upper, lower, worst), ()

    def sweep(carry: Any) -> Any:
        upper, lower, worst, count = carry
        first = upper, lower, lax.full_like(worst, 0)
        return *scan(turn, first, length=2 * half - 1)[0], count + 1

    def goes_on(carry: Any) -> Any:
        *_, worst, count = carry
        return (worst > bound) & (count < MAX_SWEEPS)

    first = x[:half], x[half:], lax.full_like(bound, math.inf), np.int32(0)
    upper, lower, *_ = while_loop(goes_on, sweep, first)
    return lax.concatenate([upper, lower], 0)[:n]


def _scale(a: Any) -> tuple[Any, Any]:
    """The largest magnitude of an element (1 for a matrix of zeros), and whether one is NaN or infinite. The
    squares of a matrix divided by it are in the range of floats."""
    largest = lax.reduce_max(lax.abs(a), (0, 1))
    return _where(largest > 0, largest, 1.0), ~(largest < math.inf)


def _order(keys: Any) -> Any:
    return lax.sort_key_val(keys, lax.iota(np.int32, len(keys)))[1]


def eigh(a: Any, *, lower: bool, **_: Any) -> list[Any]:
    """Eigenvectors of any signs, and the eigenvalues. With a multiple of the unit matrix added, all
    eigenvalues are positive and of one size. If its rows are then rotated until they are orthogonal, they are
    eigenvectors."""
    n = a.shape[-1]
    rows, columns = _numbers(n, -2), _numbers(n)
    a = _where(rows >= columns if lower else rows <= columns, a, matrices.matrix_transpose(a))
    scale, is_nan = _scale(a)
    a = a / scale
    shift = 2 * lax.sqrt(lax.reduce_sum(a * a, (0, 1)))
    shift = _where(shift > 0, shift, 1.0)
    rotated = _orthogonal_rows(_where(rows == columns, a + shift, a), n)
    rotated = rotated / lax.sqrt(_sum(rotated * rotated, -1))
    w = lax.reduce_sum(rotated * matrices.matmul(rotated, a), (1,))
    order = _order(w)
    v = matrices.matrix_transpose(rotated[order])
    return [_where(is_nan, math.nan, x) for x in (v, w[order] * scale)]


def svd(a: Any, *, full_matrices: bool, compute_uv: bool, **_: Any) -> list[Any]:
    """Singular values; with `compute_uv` U and V^H too, of any signs. V makes the columns of A V orthogonal.
    Those of them that are not zero are U's; a QR decomposition adds the others."""
    m, n = a.shape
    if m < n:
        a = matrices.matrix_transpose(a)
        s, *both = svd(a, full_matrices=full_matrices, compute_uv=compute_uv)
        return [s, *map(matrices.matrix_transpose, reversed(both))]
    scale, is_nan = _scale(a)
    a = a / scale
    x = matrices.matrix_transpose(_qr(a)[1] if m > 2 * n else a)
    columns = x.shape[-1]
    if compute_uv:
        x = lax.concatenate([x, matrices.eye(x, n)], 1)
    x = _orthogonal_rows(x, columns)
    s = lax.sqrt(lax.reduce_sum(lax.square(x[:, :columns]), (1,)))
    order = _order(-s)
    outs = [s[order] * scale]
    if compute_uv:
        vh = x[order, columns:]
        u, r = _qr(matrices.matmul(a, matrices.matrix_transpose(vh)))
        sign = _where(diagonal(r) < 0, -1.0, lax.full_like(s, 1))
        outs += [u * lax.expand_dims(sign, (0,)), vh]
    return [_where(is_nan, math.nan, x) for x in outs]


def _qr(a: Any) -> list[Any]:
    return qr_p.bind(a, pivoting=False, full_matrices=False, use_magma=None)


# ---- the rules ----


def _as_kernel(fun: Callable[..., list[Any]], eqn: JaxprEqn, _: Jaxpr) -> Any:
    """The function of an equation's matrices in kernels; None if these are large.

    The matrices of a batch are in the lanes of vectors, if they are so small that these are full; otherwise
    they are decomposed one by one."""
    if eqn.params.get("pivoting") or not _has_small_matrices(eqn):
        return None
    *batch, m, n = eqn.invars[0].aval.shape
    fun = functools.partial(fun, **eqn.params)
    if batch and max(m, n) > MAX_SIZE_IN_LANES:
        return functools.partial(_one_by_one, fun, len(batch))
    plain = [ShapedArray(v.aval.shape, v.aval.dtype) for v in eqn.invars]  # as `expand` gives them
    body = trace_to_jaxpr(fun, plain)
    return lambda *operands: cond_p.bind(np.int32(0), *operands, branches=(body,))


def _has_small_matrices(eqn: JaxprEqn) -> bool:
    """Whether a kernel takes less time for one of its matrices than a call of LAPACK."""
    avals = [v.aval for v in (*eqn.invars, *eqn.outvars)]
    dtypes = "fdFD" if eqn.primitive in (lu_p, triangular_solve_p) else "fd"
    if avals[0].dtype.char not in dtypes or not all(aval.size for aval in avals):
        return False
    if eqn.primitive is not triangular_solve_p:
        axes = eqn.invars[0].aval.ndim  # pivots have fewer
        stacks = [v.aval for v in (*eqn.invars, *eqn.outvars) if v.aval.ndim == axes]
        return all(_bytes(aval) <= MAX_BYTES for aval in stacks)
    a, b = (v.aval for v in eqn.invars)
    work = _bytes(b) // b.dtype.itemsize * a.shape[-1]
    return work <= (MAX_SOLVE_WORK if _bytes(a) <= MAX_BYTES else MAX_LARGE_SOLVE_WORK)


def _bytes(aval: ShapedArray) -> int:
    """The bytes of a matrix. Complex numbers count more, as their product is four products."""
    times = 4 if aval.dtype.kind == "c" else 1
    return times * math.prod(aval.shape[-2:]) * aval.dtype.itemsize


def _one_by_one(fun: Callable[..., list[Any]], axes: int, *stacks: Any) -> list[Any]:
    """The results of `fun` for each matrix of the stacks, which have this number of axes before it."""
    batch = stacks[0].shape[:axes]
    flat = [lax.reshape(x, (math.prod(batch), *x.shape[axes:])) for x in stacks]
    _, outs = scan(lambda carry, each: (carry, fun(*each)), (), flat)
    return [lax.reshape(out, (*batch, *out.shape[1:])) for out in outs]


def _by_rotations(
    fun: Callable[..., list[Any]], axes: tuple[int | None, ...], eqn: JaxprEqn, jaxpr: Jaxpr
) -> Any:
    """The same for a function of one matrix. It has a loop of unknown length, so it is not one kernel. None
    too if a result of the jaxpr depends on the signs of the vectors, as theirs are not LAPACK's. `axes` has
    the axis that numbers them, for each result."""
    *batch, m, n = eqn.invars[0].aval.shape
    if not _has_small_matrices(eqn) or min(m, n) > MAX_ROTATED:
        return None
    if len(eqn.outvars) == 3 and eqn.params["full_matrices"] and m != n:
        return None  # some vectors have no partners
    if not signs.are_free(eqn, axes, jaxpr):
        return None
    fun = functools.partial(fun, **eqn.params)
    for _ in batch:
        fun = vmap(fun)
    return fun


expansions[eigh_p] = functools.partial(_by_rotations, eigh, (-1, None))
expansions[svd_p] = functools.partial(_by_rotations, svd, (None, -1, -2))
for _primitive, _fun in (
    (lu_p, lu),
    (cholesky_p, cholesky),
    (qr_p, qr),
    (triangular_solve_p, triangular_solve),
):
    expansions[_primitive] = functools.partial(_as_kernel, _fun)


def _tridiagonal_solve(eqn: JaxprEqn, _: Jaxpr) -> Any:
    """The function of real systems of any size."""
    aval = eqn.outvars[0].aval
    return tridiagonal_solve if aval.dtype.char in "fd" and aval.size else None


expansions[tridiagonal_solve_p] = _tridiagonal_solve
