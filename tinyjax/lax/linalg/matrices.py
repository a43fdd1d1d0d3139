"""Shared by the decompositions: checks, running LAPACK on each matrix, parts of matrices.

Matrices are in the last two axes everywhere.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.linalg import _umath_linalg

from tinyjax import lax
from tinyjax.compile.kernel.rules import OnHost, lowering_rules
from tinyjax.core import dtypes, primitives
from tinyjax.core.array import ShapedArray
from tinyjax.core.bind import Primitive, abstract_eval_rules, as_array, impl_rules
from tinyjax.core.primitives import shape_of
from tinyjax.lax.blas_threads import for_small_matrices
from tinyjax.lax.creation import unit_matrix
from tinyjax.lax.elementwise import to_inexact_dtype
from tinyjax.lax.shape import batch_size
from tinyjax.transform.batching import batch_rules, bdim_at_front
from tinyjax.transform.jvp import jvp_rules

# ---- checks ----


def check_operands(name: str, *avals: ShapedArray, halves: bool = False) -> None:
    """Raises TypeError for operands that are no matrices of floats or complex numbers, of one dtype.

    LAPACK computes with 32 and 64 bits; `halves` lets smaller floats pass."""
    for position, aval in enumerate(avals):
        small = aval.dtype.char not in "fdFD" and not halves
        if dtypes.kind(aval.dtype) not in "fc" or small:
            raise TypeError(
                f"{name} does not accept dtype {aval.dtype.name} at position {position}: it takes "
                "floating and complex numbers of 32 and 64 bits; use x.astype(jnp.float32)"
            )
        if aval.ndim < 2:
            raise TypeError(
                f"Input {position} to {name} must have rank at least 2, but got shape={aval.shape}"
            )
    if len({aval.dtype for aval in avals}) > 1:
        listed = ", ".join(aval.dtype.name for aval in avals)
        raise TypeError(
            f"{name} requires arguments to have the same dtypes, got {listed}. Convert one with x.astype"
        )


def check_square(name: str, x: Any) -> None:
    """Raises ValueError if the matrices are not square."""
    shape = shape_of(x)
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise ValueError(f"The input to {name} must be a square matrix. Got shape {shape}.")


def check_matrices(name: str, x: Any) -> None:
    """Raises ValueError if `x` is no array of square matrices."""
    shape = shape_of(x)
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise ValueError(f"{name} must have shape [..., n, n], got shape {shape}")


def as_inexact(x: Any) -> Any:
    """`x` as an array of floats or complex numbers."""
    x = as_array(x)
    return lax.convert_type(x, to_inexact_dtype(x.dtype), x.weak_type)


# ---- on the host ----


def on_matrices(
    primitive: Primitive,
    impl: Callable[..., Any],
    abstract_eval: Callable[..., Any],
    jvp: Callable[..., Any] | None = None,
    reason: str = "LAPACK works on whole matrices",
) -> None:
    """The rules of a primitive whose operands are stacks of matrices: a batch is one more leading axis.
    `reason` says why it is computed between kernels."""

    def batch(vals: Any, dims: Any, **params: Any) -> tuple[Any, Any]:
        size = batch_size(vals, dims)
        out = primitive.bind(*[bdim_at_front(x, d, size) for x, d in zip(vals, dims)], **params)
        return out, [0] * len(out) if primitive.multiple_results else 0

    impl_rules[primitive] = for_small_matrices(impl)
    abstract_eval_rules[primitive] = abstract_eval
    if jvp is not None:
        jvp_rules[primitive] = jvp
    batch_rules[primitive] = batch
    lowering_rules[primitive] = OnHost(reason)


def for_each_matrix(fun: Callable[..., Any], *arrays: np.ndarray) -> Any:
    """`fun` of one matrix of each array, for all matrices: its result, or tuple of results, stacked."""
    batch = arrays[0].shape[:-2]
    if not batch:
        return fun(*arrays)
    matrices = [x.reshape(math.prod(batch), *x.shape[-2:]) for x in arrays]
    if len(matrices[0]):
        outs = [fun(*each) for each in zip(*matrices)]
    else:  # its result for unit matrices gives the shapes
        outs = [fun(*[np.eye(*x.shape[-2:], dtype=x.dtype) for x in arrays])]

    def stacked(column: Any) -> np.ndarray:
        found = np.stack(column)
        return found[: len(matrices[0])].reshape(*batch, *found.shape[1:])

    if isinstance(outs[0], tuple):
        return tuple(stacked(column) for column in zip(*outs))
    return stacked(outs)


def by_numpy(names: str, x: np.ndarray) -> Any:
    """What LAPACK computes of a stack of matrices, in the precision of `x`: np.linalg computes float32 in
    float64. NaN where LAPACK fails. `names` are those of NumPy's function, that of its last version first."""
    function = next(f for name in names.split() if (f := getattr(_umath_linalg, name, None)))
    with np.errstate(all="ignore"):
        return function(x)


@functools.cache
def scipy_lapack(name: str, dtype: np.dtype) -> Callable[..., Any]:
    """A routine of LAPACK for one matrix in column order."""
    from scipy.linalg import get_lapack_funcs

    return get_lapack_funcs((name,), dtype=dtype)[0]


# ---- parts and products of matrices, in terms of lax ----


def _lower(shape: tuple[int, ...], k: int) -> Any:
    """For matrices of this shape: True on and below the k-th diagonal."""
    rows = lax.add(lax.broadcasted_iota(np.int32, shape[-2:], 0), np.int32(k))
    mask = lax.ge(rows, lax.broadcasted_iota(np.int32, shape[-2:], 1))
    if len(shape) == 2:
        return mask
    return primitives.broadcast_in_dim(mask, shape, (len(shape) - 2, len(shape) - 1))


def tril(x: Any, k: int = 0) -> Any:
    """`x` with zeros above its k-th diagonal."""
    return lax.select(_lower(shape_of(x), k), x, lax.full_like(x, 0))


def triu(x: Any, k: int = 0) -> Any:
    """`x` with zeros below its k-th diagonal."""
    return lax.select(_lower(shape_of(x), k - 1), lax.full_like(x, 0), x)


def eye(like: Any, n: int | None = None) -> Any:
    """The unit matrix of the size, or of size n, and the dtype of the matrices `like`."""
    return unit_matrix(shape_of(like)[-1] if n is None else n, dtypes.dtype(like))


def matrix_transpose(x: Any) -> Any:
    ndim = len(shape_of(x))
    return lax.transpose(x, (*range(ndim - 2), ndim - 1, ndim - 2))


def conj_transpose(x: Any) -> Any:
    """The conjugated transposes; for real matrices, the transposes."""
    transposed = matrix_transpose(x)
    return lax.conj(transposed) if dtypes.kind(dtypes.dtype(x)) == "c" else transposed


def symmetrized(x: Any) -> Any:
    """(x + its conjugate transpose) / 2."""
    return lax.div(lax.add(x, conj_transpose(x)), np.array(2, dtypes.dtype(x)))


def matmul(x: Any, y: Any) -> Any:
    """The products of the matrices of two stacks."""
    return lax.batch_matmul(x, y, precision=lax.Precision.HIGHEST)


def typed_matmul(x: Any, y: Any, precision: Any = None) -> Any:
    """matmul with an explicit result dtype, as JAX writes it in the derivatives of qr and svd."""
    ndim = len(shape_of(x))
    batch = tuple(range(ndim - 2))
    numbers = (((ndim - 1,), (ndim - 2,)), (batch, batch))
    return lax.dot_general(x, y, numbers, precision, dtypes.dtype(x))
