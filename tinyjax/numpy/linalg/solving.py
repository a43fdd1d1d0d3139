"""Linear systems: cholesky, solve, inv, and tensors used as matrices."""

from __future__ import annotations

import math
from typing import Any

from tinyjax import lax
from tinyjax.core.array import Array
from tinyjax.lax import linalg
from tinyjax.lax.linalg.matrices import check_matrices, conj_transpose
from tinyjax.lax.linalg.systems import solve_one
from tinyjax.numpy.manipulation import moveaxis
from tinyjax.numpy.mapping import vectorize
from tinyjax.numpy.promotion import promote_dtypes_inexact
from tinyjax.numpy.triangles import eye
from tinyjax.numpy.util import ensure_arraylike
from tinyjax.transform.jit.api import jitted


@jitted(static_argnames=("upper", "symmetrize_input"))
def cholesky(a: Any, *, upper: bool = False, symmetrize_input: bool = True) -> Array:
    """The lower triangular L with L L^H = a for positive definite matrices, NaN for all others.

    With `upper`, U = L^H. With `symmetrize_input`, the factor of (a + a^H) / 2. Raises ValueError where
    `a` is no square matrix; as numpy.linalg.cholesky."""
    (a,) = promote_dtypes_inexact(ensure_arraylike("jnp.linalg.cholesky", a))
    check_matrices("Argument to linalg.cholesky", a)
    factor = linalg.cholesky(a, symmetrize_input=symmetrize_input)
    return conj_transpose(factor) if upper else factor


@jitted
def solve(a: Any, b: Any) -> Array:
    """X with a X = b: for `a` (..., n, n), b is one vector (n,), or columns (..., n, k).

    A singular `a` gives inf or NaN. Raises ValueError where shapes do not fit; as numpy.linalg.solve."""
    a, b = promote_dtypes_inexact(*ensure_arraylike("jnp.linalg.solve", a, b))
    if a.ndim < 2:
        raise ValueError(f"jnp.linalg.solve: a must be at least two dimensional; got {a.shape=}")
    if a.ndim > 2 and a.shape[:-1] == b.shape:
        raise ValueError(
            f"Invalid shapes for solve: {a.shape}, {b.shape}. A stack of vectors is "
            "solve(a, b[..., None]).squeeze(-1)"
        )
    signature = "(m,m),(m)->(m)" if b.ndim == 1 else "(m,m),(m,n)->(m,n)"
    return vectorize(solve_one, signature=signature)(a, b)


@jitted
def inv(a: Any) -> Array:
    """The inverses of square matrices; inf or NaN for singular ones.

    To multiply by an inverse, `solve` is faster and more accurate. Raises ValueError for matrices that
    are not square; as numpy.linalg.inv."""
    a = ensure_arraylike("jnp.linalg.inv", a)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"Argument to inv must have shape [..., n, n], got {a.shape}.")
    unit = eye(a.shape[-1], dtype=a.dtype)
    return solve(a, lax.broadcast(unit, a.shape[:-2]))


def tensorinv(a: Any, ind: int = 2) -> Array:
    """The inverse of `a` as a linear map from tensors of shape a.shape[ind:] to those of a.shape[:ind].

    Raises ValueError if the two shapes differ in size, or ind < 1; as numpy.linalg.tensorinv."""
    a = ensure_arraylike("jnp.linalg.tensorinv", a)
    if ind <= 0:
        raise ValueError(f"ind must be a positive integer; got ind={ind}")
    front, back = a.shape[:ind], a.shape[ind:]
    if math.prod(front) != math.prod(back):
        raise ValueError(
            f"tensorinv: the first {ind} axes of a {a.shape} have {math.prod(front)} elements, and the "
            f"others {math.prod(back)}; these must be equal (ind={ind})"
        )
    return inv(a.reshape(math.prod(front), math.prod(back))).reshape(*back, *front)


def tensorsolve(a: Any, b: Any, axes: tuple[int, ...] | None = None) -> Array:
    """The tensor x with tensordot(a, x, x.ndim) = b; `axes` of `a` are moved to its end first.

    Raises ValueError where shapes do not fit; as numpy.linalg.tensorsolve."""
    a, b = ensure_arraylike("jnp.linalg.tensorsolve", a, b)
    if axes is not None:
        a = moveaxis(a, axes, tuple(range(a.ndim - len(axes), a.ndim)))
    out_shape = a.shape[b.ndim :]
    if a.shape[: b.ndim] != b.shape:
        raise ValueError(
            "After moving axes to end, leading shape of a must match shape of b. got "
            f"a.shape={a.shape}, b.shape={b.shape}"
        )
    if b.size != math.prod(out_shape):
        raise ValueError(
            f"tensorsolve: b has {b.size} elements, and x of shape {out_shape} has "
            f"{math.prod(out_shape)}: got a.shape={a.shape}, b.ndim={b.ndim}"
        )
    return solve(a.reshape(b.size, b.size), b.ravel()).reshape(out_shape)
