"""Matrices that are made of few numbers: Toeplitz, Hankel, circulant, companion and others.

Where SciPy takes a vector, a stack of vectors gives a stack of matrices.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.core.array import Array
from tinyjax.numpy.promotion import promote_dtypes, promote_dtypes_inexact
from tinyjax.numpy.util import convert, ensure_arraylike
from tinyjax.transform.jit.api import jitted


def _vectors(name: str, *args: Any) -> list[Any]:
    """The arguments as arrays of one dtype, scalars as vectors of one element."""
    arrays = [jnp.atleast_1d(ensure_arraylike(name, x)) for x in args]
    return promote_dtypes(*arrays)


# ---- from vectors ----


@jitted
def block_diag(*arrs: Any) -> Array:
    """A matrix with these matrices along its diagonal, and zeros elsewhere; vectors are rows.

    Raises ValueError for arrays of more than two dimensions."""
    if not arrs:
        return jnp.zeros((1, 0))
    arrays = promote_dtypes(*[ensure_arraylike("block_diag", x) for x in arrs])
    for position, x in enumerate(arrays):
        if x.ndim > 2:
            raise ValueError(
                "Arguments to jax.scipy.linalg.block_diag must have at most 2 dimensions, got shape "
                f"{x.shape} at argument {position}."
            )
    blocks = [jnp.atleast_2d(x) for x in arrays]
    zero = np.zeros((), blocks[0].dtype)
    width, before, rows = sum(x.shape[1] for x in blocks), 0, []
    for x in blocks:
        after = width - before - x.shape[1]
        rows.append(lax.pad(x, zero, ((0, 0, 0), (before, after, 0))))
        before += x.shape[1]
    return lax.concatenate(rows, dimension=0)


def toeplitz(c: Any, r: Any = None) -> Array:
    """Constant diagonals: `c` is the first column, `r` the first row, but for the element that c has.

    Without `r` it is the conjugate of `c`."""
    c, r = _vectors("toeplitz", c, jnp.conj(ensure_arraylike("toeplitz", c)) if r is None else r)
    return _toeplitz(c, r)


@functools.partial(jnp.vectorize, signature="(m),(n)->(m,n)")
def _toeplitz(c: Any, r: Any) -> Any:
    m, n = len(c), len(r)
    if not m or not n:
        return jnp.zeros((m, n), c.dtype)
    diagonals = jnp.concatenate([c[::-1], r[1:]])
    return convert(diagonals[np.arange(m)[::-1, None] + np.arange(n)], c.dtype)


def circulant(c: Any) -> Array:
    """Columns that are `c`, each moved on by one more place."""
    (c,) = _vectors("circulant", c)
    places = np.arange(c.shape[-1])
    return c[..., (places[:, None] - places) % max(len(places), 1)]


def hankel(c: Any, r: Any = None) -> Array:
    """Constant antidiagonals: `c` is the first column, `r` the last row, but for the element that c has.

    Without `r` it is zeros. Raises ValueError for a scalar."""
    c = ensure_arraylike("hankel", c)
    if c.ndim == 0:
        raise ValueError("hankel: c must be at least 1-dimensional, got a scalar.")
    c, r = _vectors("hankel", c, jnp.zeros_like(c) if r is None else r)
    return _hankel(c, r)


@functools.partial(jnp.vectorize, signature="(m),(n)->(m,n)")
def _hankel(c: Any, r: Any) -> Any:
    m, n = len(c), len(r)
    if not m or not n:
        return jnp.zeros((m, n), c.dtype)
    return jnp.concatenate([c, r[1:]])[np.arange(m)[:, None] + np.arange(n)]


def convolution_matrix(a: Any, n: int, mode: str = "full") -> Array:
    """The matrix A with A @ v = convolve(a, v, mode) for all v of n elements.

    Raises ValueError for an empty `a`, n < 1 and an unknown mode."""
    (a,) = _vectors("convolution_matrix", a)
    if n <= 0:
        raise ValueError(f"n must be a positive integer; got {n}.")
    if a.shape[-1] == 0:
        raise ValueError(f"len(a) must be at least 1; got shape {a.shape}.")
    if mode not in ("full", "valid", "same"):
        raise ValueError(f"mode must be one of 'full', 'valid', 'same'; got {mode!r}.")
    less, more = sorted((a.shape[-1], n))
    rows = {
        "full": slice(None),
        "same": slice((less - 1) // 2, (less - 1) // 2 + more),
        "valid": slice(less - 1, more),
    }
    batch = a.shape[:-1]
    zeros = jnp.zeros((*batch, n - 1), a.dtype)
    padded = jnp.concatenate([a, zeros], axis=-1)
    return toeplitz(padded, jnp.concatenate([a[..., :1], zeros], axis=-1))[..., rows[mode], :]


def companion(a: Any) -> Array:
    """The matrix whose eigenvalues are the roots of the polynomial a[0] x**n + a[1] x**(n-1) + ...

    Raises ValueError for less than two coefficients."""
    (a,) = promote_dtypes_inexact(*_vectors("companion", a))
    if a.shape[-1] < 2:
        raise ValueError(
            f"The length of `a` along the last axis must be at least 2; got shape {a.shape}."
        )
    row = -a[..., 1:] / a[..., :1]
    below = jnp.eye(row.shape[-1] - 1, row.shape[-1], dtype=a.dtype)
    return _over(row, jnp.broadcast_to(below, (*row.shape[:-1], *below.shape)))


def _over(row: Any, below: Any) -> Any:
    return jnp.concatenate([row[..., None, :], below], axis=-2)


def fiedler_companion(a: Any) -> Array:
    """Another matrix with those eigenvalues, which has five diagonals.

    Raises ValueError for no coefficients. Source: M. Fiedler, "A note on companion matrices", Linear
    Algebra and its Applications 372 (2003)"""
    (a,) = promote_dtypes_inexact(*_vectors("fiedler_companion", a))
    if a.shape[-1] == 0:
        raise ValueError(
            f"fiedler_companion takes at least one coefficient, but got shape {a.shape}."
        )
    a = a / a[..., :1]
    n = a.shape[-1] - 1
    out = jnp.zeros((*a.shape[:-1], n, n), a.dtype)
    if n == 0:
        return out
    out = out.at[..., 0, 0].set(-a[..., 1])
    if n > 1:
        out = out.at[..., 1, 0].set(1)
    # Below the diagonal -a[3], -a[5], ..., above it -a[2], -a[4], ...; ones two places off it.
    odd, even = np.arange(3, n + 1, 2), np.arange(2, n + 1, 2)
    out = out.at[..., odd - 1, odd - 2].set(-a[..., odd])
    out = out.at[..., even - 2, even - 1].set(-a[..., even])
    low, high = np.arange(3, n, 2), np.arange(2, n, 2)
    return out.at[..., low, low - 2].set(1).at[..., high - 2, high].set(1)


def fiedler(a: Any) -> Array:
    """The absolute differences of all pairs of elements."""
    (a,) = _vectors("fiedler", a)
    return jnp.abs(a[..., :, None] - a[..., None, :])


def leslie(f: Any, s: Any) -> Array:
    """How a population moves on: `f` are the births of each age, `s` the parts that reach the next age.

    Raises ValueError unless f has at least two elements, and s one less."""
    f, s = _vectors("leslie", f, s)
    n = f.shape[-1]
    if n < 2:
        raise ValueError(
            f"The length of f along the last axis must be at least 2; got shape {f.shape}."
        )
    if s.shape[-1] != n - 1:
        raise ValueError(
            "Incorrect lengths for f and s: s must be one shorter than f along the last axis; got f shape "
            f"{f.shape} and s shape {s.shape}."
        )
    batch = jnp.broadcast_shapes(f.shape[:-1], s.shape[:-1])
    survive = s[..., :, None] * jnp.eye(n - 1, n, dtype=s.dtype)
    return _over(
        jnp.broadcast_to(f, (*batch, n)), jnp.broadcast_to(survive, (*batch, *survive.shape[-2:]))
    )
