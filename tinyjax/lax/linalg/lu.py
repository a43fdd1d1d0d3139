"""lu: a matrix as the product of a permutation, a lower and an upper triangular one; linear systems by it.

In L^-1 (P dA) U^-1 = L^-1 dL + dU U^-1, the first term is the part below the diagonal and the second the
rest.

Source: F. R. de Hoog, R. S. Anderssen and M. A. Lukas, "Differentiation of matrix functionals using
triangular factorization", Mathematics of Computation 80 (2011)
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core import dtypes
from tinyjax.core.array import Array, ShapedArray
from tinyjax.core.bind import Primitive, as_array
from tinyjax.core.primitives import shape_of
from tinyjax.lax.linalg import batched_small, matrices
from tinyjax.lax.linalg.triangular_solve import triangular_solve
from tinyjax.transform.batching import vmap
from tinyjax.transform.jit.api import jitted
from tinyjax.transform.jvp import defzero, zero_tangent

# ---- pivots ----

# Parameter: permutation_size. Operand: at step i, the row that is exchanged with row i.
lu_pivots_to_permutation_p = Primitive(
    "lu_pivots_to_permutation", axes="matrices 1", makes_nan=False
)


def _permutation(pivots: np.ndarray, size: int) -> np.ndarray:
    """The order of the rows after all exchanges."""
    rows = list(range(size))
    for i, pivot in enumerate(pivots.tolist()):
        if 0 <= pivot < size:
            rows[i], rows[pivot] = rows[pivot], rows[i]
    return np.array(rows, np.int32)


def _pivots_impl(pivots: np.ndarray, *, permutation_size: int) -> np.ndarray:
    out = np.empty((*pivots.shape[:-1], permutation_size), np.int32)
    for at in np.ndindex(pivots.shape[:-1]):
        out[at] = _permutation(pivots[at], permutation_size)
    return out


def _pivots_aval(pivots: ShapedArray, *, permutation_size: int) -> ShapedArray:
    name = "lu_pivots_to_permutation"
    if pivots.dtype != np.int32:
        raise TypeError(
            f"{name} does not accept dtype {pivots.dtype.name} at position 0: it takes int32"
        )
    if not pivots.ndim:
        raise TypeError(f"Input 0 to {name} must have rank at least 1, but got shape=()")
    if permutation_size < pivots.shape[-1]:
        raise ValueError(
            f"{name}: permutation_size {permutation_size} is less than the number of pivots, "
            f"{pivots.shape[-1]}"
        )
    return pivots.update(shape=(*pivots.shape[:-1], permutation_size))


matrices.on_matrices(
    lu_pivots_to_permutation_p,
    _pivots_impl,
    _pivots_aval,
    reason="each exchange works on what the one before it has left",
)
defzero(lu_pivots_to_permutation_p)


def lu_pivots_to_permutation(pivots: Any, permutation_size: int) -> Array:
    """The order of the rows after exchanging row i with row pivots[i], for i = 0, 1, ...; int32.

    Raises TypeError for pivots that are not int32, ValueError if there are more than `permutation_size`
    of them."""
    return lu_pivots_to_permutation_p.bind(as_array(pivots), permutation_size=int(permutation_size))


# ---- the decomposition ----

lu_p = Primitive("lu", multiple_results=True, axes="matrices 2", makes_nan=True)


def _lu_impl(x: np.ndarray) -> Any:
    if batched_small.is_worth_it(x):
        outs = batched_small.lu(x.reshape(-1, *x.shape[-2:]))
        return tuple(out.reshape(*x.shape[:-2], *out.shape[1:]) for out in outs)
    return matrices.for_each_matrix(_lu_of_one, x)


def _lu_of_one(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if x.size == 0:
        return x, np.zeros(0, np.int32), np.arange(len(x), dtype=np.int32)
    lu, pivots, _ = matrices.scipy_lapack("getrf", x.dtype)(x)
    return np.ascontiguousarray(lu), pivots.astype(np.int32), _permutation(pivots, len(x))


def _lu_aval(x: ShapedArray) -> list[ShapedArray]:
    matrices.check_operands("lu", x)
    *batch, rows, columns = x.shape
    integers = x.update(dtype=np.dtype(np.int32))
    pivots = integers.update(shape=(*batch, min(rows, columns)))
    return [x, pivots, integers.update(shape=(*batch, rows))]


def _lu_jvp(primals: Any, tangents: Any) -> tuple[list[Any], list[Any]]:
    lu, pivots, permutation = lu_p.bind(*primals)
    moved = _moved
    for _ in shape_of(lu)[:-2]:
        moved = vmap(moved)
    lu_dot = moved(tangents[0], lu, permutation)
    return [lu, pivots, permutation], [lu_dot, zero_tangent(pivots), zero_tangent(permutation)]


def _moved(x_dot: Any, lu: Any, permutation: Any) -> Any:
    """dL + dU of one matrix. L is made square by columns of the unit matrix, U by rows of it."""
    rows, columns = shape_of(lu)
    rank = min(rows, columns)
    zero = np.zeros((), dtypes.dtype(lu))
    matmul = functools.partial(
        lax.dot, precision=lax.Precision.HIGHEST, preferred_element_type=zero.dtype
    )
    lower = matrices.tril(lu[:, :rank], -1)
    lower = lax.pad(lower, zero, ((0, 0, 0), (0, rows - rank, 0)))
    lower = lax.add(lower, matrices.eye(lu, rows))
    rest = lax.pad(matrices.eye(lu, columns - rank), zero, ((rank, 0, 0), (rank, 0, 0)))
    upper = matrices.triu(lu[:rank, :])
    upper = lax.add(lax.pad(upper, zero, ((0, columns - rank, 0), (0, 0, 0))), rest)
    left = triangular_solve(
        lower, x_dot[permutation], left_side=True, lower=True, unit_diagonal=True
    )
    both = triangular_solve(upper, left)
    return lax.add(matmul(lower, matrices.tril(both, -1)), matmul(matrices.triu(both), upper))


matrices.on_matrices(lu_p, _lu_impl, _lu_aval, _lu_jvp)


def lu(x: Any) -> list[Array]:
    """A list: L and U in one matrix, pivots, and the permutation, with x[permutation] = L U.

    `x` has shape (..., m, n). L has a diagonal of ones, which is not stored. Row i was exchanged with
    row pivots[i] (int32, min(m, n) of them). A singular matrix has a zero on U's diagonal. Raises
    TypeError where x is no matrix, and for integers."""
    return lu_p.bind(as_array(x))


# ---- systems ----


def lu_solve(lu: Any, permutation: Any, b: Any, trans: int = 0) -> Any:
    """X with op(A) X = b for one A = P L U, given as the results of `lu`. op transposes for trans=1, and
    transposes and conjugates for trans=2. `b` is (n,) or (n, k). Raises ValueError for another trans."""
    return _lu_solve(lu, permutation, b, trans)


@jitted(static_argnames=("trans",))
def _lu_solve(lu: Any, permutation: Any, b: Any, trans: int) -> Any:
    x = lax.expand_dims(b, (1,)) if len(shape_of(b)) == 1 else b
    if trans == 0:
        x = triangular_solve(lu, x[permutation], left_side=True, lower=True, unit_diagonal=True)
        x = triangular_solve(lu, x, left_side=True)
    elif trans in (1, 2):
        of_op: dict[str, bool] = {"left_side": True, "transpose_a": True, "conjugate_a": trans == 2}
        x = triangular_solve(lu, x, **of_op)
        x = triangular_solve(lu, x, lower=True, unit_diagonal=True, **of_op)
        places = lax.iota(np.int32, shape_of(permutation)[0])
        x = x[lax.sort_key_val(permutation, places)[1]]
    else:
        raise ValueError(f"'trans' value must be 0, 1, or 2, got {trans}")
    return lax.squeeze(x, (1,)) if len(shape_of(b)) == 1 else x
