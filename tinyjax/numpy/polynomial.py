"""Polynomials as vectors of coefficients, the highest power first; window functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core import dtypes
from tinyjax.core.array import Array
from tinyjax.core.declared_functions import public
from tinyjax.numpy import reductions
from tinyjax.numpy.convolution import convolve
from tinyjax.numpy.creation import array, full, ones, zeros
from tinyjax.numpy.editing import trim_zeros
from tinyjax.numpy.elementary import cos
from tinyjax.numpy.joining import concatenate
from tinyjax.numpy.manipulation import atleast_1d
from tinyjax.numpy.promotion import promote_dtypes, promote_dtypes_inexact
from tinyjax.numpy.ranges import arange
from tinyjax.numpy.ufuncs import (
    absolute,
    add,
    divide,
    maximum,
    multiply,
    negative,
    subtract,
    true_divide,
)
from tinyjax.numpy.util import broadcast_shapes, concrete_int, ensure_arraylike
from tinyjax.transform.jit.api import jitted

# ---- polynomials ----


@jitted(static_argnames=("unroll",))
def polyval(p: Any, x: Any, *, unroll: int | None = None) -> Array:
    """The polynomial `p` at `x`, by Horner's rule; as numpy.polyval."""
    p, x = promote_dtypes(*ensure_arraylike("polyval", p, x))
    shape = broadcast_shapes(p.shape[1:], x.shape)
    if not p.shape[0]:
        return lax.full_like(x, 0, shape=shape)

    def of_rank(x: Any) -> Any:
        return lax.broadcast_to_rank(x, len(shape)) if 0 < x.ndim < len(shape) else x

    coefficients = [of_rank(p[i]) for i in reversed(range(p.shape[0]))]
    return lax.polynomial(of_rank(x), coefficients, unroll=unroll)


@jitted
def polyadd(a1: Any, a2: Any) -> Array:
    """The sum of two polynomials; as numpy.polyadd."""
    a1, a2 = promote_dtypes(*ensure_arraylike("polyadd", a1, a2))
    if a2.shape[0] <= a1.shape[0]:
        return a1.at[-a2.shape[0] :].add(a2)
    return a2.at[-a1.shape[0] :].add(a1)


@jitted
def polysub(a1: Any, a2: Any) -> Array:
    """The difference of two polynomials; as numpy.polysub."""
    a1, a2 = promote_dtypes(*ensure_arraylike("polysub", a1, a2))
    return polyadd(a1, negative(a2))


def polymul(a1: Any, a2: Any, *, trim_leading_zeros: bool = False) -> Array:
    """The product of two polynomials; as numpy.polymul."""
    a1, a2 = promote_dtypes_inexact(*ensure_arraylike("polymul", a1, a2))
    if trim_leading_zeros and (a1.size > 1 or a2.size > 1):
        a1, a2 = trim_zeros(a1, trim="f"), trim_zeros(a2, trim="f")
    a1, a2 = (a if a.size else zeros(1, a.dtype) for a in (a1, a2))
    return convolve(a1, a2, mode="full")


def polydiv(u: Any, v: Any, *, trim_leading_zeros: bool = False) -> tuple[Array, Array]:
    """(quotient, remainder) of two polynomials; as numpy.polydiv."""
    u, v = promote_dtypes_inexact(*ensure_arraylike("polydiv", u, v))
    m, n = u.size - 1, v.size - 1
    scale = divide(1.0, v[0])
    quotient = zeros(max(m - n + 1, 1), u.dtype)
    for k in range(m - n + 1):
        d = multiply(scale, u[k])
        quotient = quotient.at[k].set(d)
        u = u.at[k : k + n + 1].add(multiply(negative(d), v))
    return quotient, trim_zeros(u, trim="f") if trim_leading_zeros else u


@jitted(static_argnames=("m",))
def polyder(p: Any, m: int = 1) -> Array:
    """The m-th derivative of a polynomial; as numpy.polyder. Raises ValueError for negative m."""
    (p,) = promote_dtypes_inexact(ensure_arraylike("polyder", p))
    m = concrete_int(m, "'m' argument of jnp.polyder")
    if m < 0:
        raise ValueError("Order of derivative must be positive")
    if m == 0:
        return p
    powers = subtract(arange(m, p.size, dtype=p.dtype)[None], arange(m, dtype=p.dtype)[:, None])
    factors = reductions.prod(powers, 0)
    return multiply(p[:-m], factors[::-1])


@jitted(static_argnames=("m",))
def polyint(p: Any, m: int = 1, k: Any = None) -> Array:
    """The m-th integral of a polynomial, with constants `k`; as numpy.polyint."""
    m = concrete_int(m, "'m' argument of jnp.polyint")
    p, k = promote_dtypes_inexact(*ensure_arraylike("polyint", p, 0 if k is None else k))
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    k = atleast_1d(k)
    if k.size == 1:
        k = full((m,), k[0])
    if k.shape != (m,):
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or m.")
    if m == 0:
        return p
    powers = subtract(arange(p.size + m, dtype=p.dtype)[None], arange(m, dtype=p.dtype)[:, None])
    factors = reductions.prod(maximum(1, powers), 0)[::-1]
    return true_divide(concatenate((p, k)), factors)


@jitted
def poly(seq_of_zeros: Any) -> Array:
    """The polynomial with these zeros; as numpy.poly. Matrices (by eigenvalues) are not supported."""
    (roots,) = promote_dtypes_inexact(ensure_arraylike("poly", seq_of_zeros))
    roots = atleast_1d(roots)
    if roots.ndim != 1:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    if not roots.size:
        return ones((), roots.dtype)
    p = ones((1,), roots.dtype)
    for i in range(roots.size):
        p = convolve(p, array([1, negative(roots[i])], dtype=roots.dtype), mode="full")
    return p


# ---- windows ----


def _window(name: str, which: str, formula: Callable[[int, Any], Any]) -> Callable[[int], Array]:
    """jnp.`name`: formula(M, 0 .. M - 1)."""

    @public("tinyjax.numpy", name, f"The {which} window of M points; as numpy.{name}.")
    def window(M: int) -> Array:  # noqa: N803  (NumPy's name)
        size = concrete_int(M, f"M argument of jnp.{name}")
        dtype = dtypes.default_dtype(float)
        return formula(size, lax.iota(dtype, size)) if size > 1 else ones((size,), dtype)

    return window


def _wave(k: int, m: int, n: Any) -> Any:
    return cos(divide(multiply(k * np.pi, n), m - 1))


def _blackman(m: int, n: Any) -> Any:
    return add(subtract(0.42, multiply(0.5, _wave(2, m, n))), multiply(0.08, _wave(4, m, n)))


def _bartlett(m: int, n: Any) -> Any:
    return subtract(1, divide(absolute(subtract(add(multiply(2, n), 1), m)), m - 1))


blackman = _window("blackman", "Blackman", _blackman)
bartlett = _window("bartlett", "triangular", _bartlett)
hamming = _window("hamming", "Hamming", lambda m, n: subtract(0.54, multiply(0.46, _wave(2, m, n))))
hanning = _window("hanning", "Hann", lambda m, n: multiply(0.5, subtract(1, _wave(2, m, n))))
