"""expm: the exponential of a matrix, and its derivative in a direction.

Halve the matrix until it is small, take a rational function that is near the exponential there, and square
the result as often.

Source: N. Higham, "The scaling and squaring method for the matrix exponential revisited", SIAM J. Matrix
Anal. Appl. 26 (2005)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.core.array import Array
from tinyjax.numpy.linalg.solving import solve
from tinyjax.numpy.promotion import promote_dtypes_inexact
from tinyjax.numpy.util import ensure_arraylike
from tinyjax.scipy.linalg.factors import solve_triangular
from tinyjax.transform.jit.api import jitted
from tinyjax.transform.jvp import jvp

# Degrees of rational functions, and up to which 1-norm of a matrix they are exact to the last bits.
_DEGREES: dict[str, tuple[tuple[int, float], ...]] = {
    "f": ((3, 4.258730016922831e-01), (5, 1.880152677804762), (7, 3.925724783138660)),
    "d": (
        (3, 1.495585217958292e-02),
        (5, 2.539398330063230e-01),
        (7, 9.504178996162932e-01),
        (9, 2.097847961257068),
        (13, 5.371920351148152),
    ),
}
_DEGREES |= {"F": _DEGREES["f"], "D": _DEGREES["d"]}


@jitted(static_argnames=("upper_triangular", "max_squarings"))
def expm(
    A: Any,  # noqa: N803
    *,
    upper_triangular: bool = False,
    max_squarings: int = 16,
) -> Array:
    """The exponential 1 + A + A A / 2 + ... of square matrices (..., n, n).

    With `upper_triangular` they are taken to be that. One whose norm asks for more than `max_squarings`
    halvings gives NaN. Raises ValueError for matrices that are not square, TypeError for 16-bit floats."""
    (a,) = promote_dtypes_inexact(ensure_arraylike("expm", A))
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"Expected A to be a (batched) square matrix, got A.shape={a.shape}.")
    if a.dtype.char not in _DEGREES:
        raise TypeError(f"expm: A.dtype={a.dtype} is not supported: use A.astype(jnp.float32)")

    def expm_of_one(a: Any) -> Any:
        return _expm(a, upper_triangular, max_squarings)

    return jnp.vectorize(expm_of_one, signature="(n,n)->(n,n)")(a)


def _expm(a: Any, upper_triangular: bool, max_squarings: int) -> Any:
    degrees, bounds = zip(*_DEGREES[a.dtype.char])
    norm = lax.stop_gradient(jnp.linalg.norm(a, 1)) if a.size else jnp.zeros((), a.real.dtype)
    halvings = jnp.maximum(0, jnp.ceil(jnp.log2(norm / bounds[-1])))
    small = a / jnp.power(2, halvings).astype(a.dtype)
    which = jnp.sum(norm > np.array(bounds[:-1], norm.dtype))
    branches = [lambda x, degree=degree: _pade(x, degree) for degree in degrees]
    numerator, denominator = lax.switch(which, branches, small)
    if upper_triangular:
        power = solve_triangular(denominator, numerator)
    else:
        power = solve(denominator, numerator)

    def square(i: Any, x: Any) -> Any:
        return lax.cond(i < halvings, lambda x: _product(x, x), lambda x: x, x)

    power = lax.fori_loop(0, max_squarings, square, power)
    return jnp.where(halvings > max_squarings, jnp.full_like(power, jnp.nan), power)


def _product(x: Any, y: Any) -> Any:
    return jnp.matmul(x, y, precision=lax.Precision.HIGHEST)


def _pade(x: Any, degree: int) -> tuple[Any, Any]:
    """p(x) and p(-x), for the polynomial p of this degree with p(x) / p(-x) nearest to exp(x).

    Its coefficients are (2m - k)! / (k! (m - k)!) for k = 0 to m; those of even powers are shared."""
    m, factorial = degree, math.factorial
    coefficients = [
        factorial(2 * m - k) / (factorial(k) * factorial(m - k)) for k in range(degree + 1)
    ]
    squared = _product(x, x)
    powers = [jnp.eye(len(x), dtype=x.dtype), squared]
    while len(powers) <= degree // 2:
        powers.append(_product(powers[-1], squared))
    even = sum(c * power for c, power in zip(coefficients[0::2], powers))
    odd = _product(x, sum(c * power for c, power in zip(coefficients[1::2], powers)))
    return even + odd, even - odd


@jitted(static_argnames=("method", "compute_expm"))
def expm_frechet(
    A: Any,  # noqa: N803
    E: Any,  # noqa: N803
    *,
    method: str | None = None,
    compute_expm: bool = True,
) -> Array | tuple[Array, Array]:
    """A pair: expm(A), and how it moves as A moves in direction E; the latter alone if not compute_expm.

    It is the jvp of expm, whatever `method` of SciPy's is asked for. Raises ValueError for matrices that
    are not square, TypeError where the dtypes differ."""
    a, e = jnp.asarray(A), jnp.asarray(E)
    for name, x in ("A", a), ("E", e):
        if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
            raise ValueError(
                f"expected {name} to be a (batched) square matrix, got {name}.shape={x.shape}"
            )
    value, derivative = jvp(expm, (a,), (e,))
    return (value, derivative) if compute_expm else derivative
