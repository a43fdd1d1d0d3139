"""The gamma function, its logarithm and derivatives, and what is made of it: beta, binomials, zeta.

gamma(36) is beyond float32's range.

Source: https://dlmf.nist.gov/5
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.core import dtypes
from tinyjax.core.array import Array
from tinyjax.lax import incomplete_gamma, special_on_host
from tinyjax.lax.host_functions import host_primitive
from tinyjax.numpy.promotion import promote_args_inexact
from tinyjax.numpy.util import concrete, concrete_int, constant_like
from tinyjax.scipy.special.complex_gamma import complex_gamma, complex_loggamma
from tinyjax.scipy.special.operands import of_one, promote_args_real, promote_strong_real
from tinyjax.transform.custom.forward_rules import custom_jvp
from tinyjax.transform.jit.api import jitted
from tinyjax.transform.jvp import defjvp2, jvp

# ---- gamma ----

gammaln = of_one(
    "gammaln", lax.lgamma, "log(abs(gamma(x))), of real x; inf at the poles 0, -1, -2, ..."
)
digamma = of_one("digamma", lax.digamma, "The derivative of gammaln, of real x; NaN at the poles.")


@jitted
def gammasgn(x: Any) -> Array:
    """The sign of gamma(x), of real x: -1.0 or 1.0, and NaN at the poles -1, -2, ...

    At -0.0 it is -1.0. Raises ValueError for complex numbers."""
    (x,) = promote_args_real("gammasgn", x)
    typ = x.dtype.type
    floor_x = lax.floor(x)
    negative = x < 0
    is_pole = (negative & (x == floor_x)) | jnp.isnan(x)
    is_negative = (negative & (floor_x % 2 != 0)) | ((x == 0) & jnp.signbit(x))
    return jnp.select([is_pole, is_negative], [typ(np.nan), typ(-1.0)], typ(1.0))


def loggamma(x: Any) -> Array:
    """log(gamma(x)); of real x NaN where x <= 0, of complex x the branch that is real for x > 0."""
    (x,) = promote_args_inexact("loggamma", x)
    if dtypes.kind(x.dtype) == "c":
        return complex_loggamma(x)
    out = lax.lgamma(x)
    return jnp.where(x > 0, out, np.nan)


def gamma(x: Any) -> Array:
    """The gamma function, of real or complex x: x gamma(x) = gamma(x + 1), and gamma(n + 1) = n!"""
    (x,) = promote_args_inexact("gamma", x)
    if dtypes.kind(x.dtype) == "c":
        return complex_gamma(x)
    return gammasgn(x) * lax.exp(lax.lgamma(x))


# ---- beta ----

_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)


def _stirling_rest(x: Any) -> Any:
    """What Stirling's formula lacks of lgamma(x), for x >= 8. Source: https://dlmf.nist.gov/5.11.E1"""
    total = 0.0
    for coefficient in reversed(_STIRLING):
        total = total / (x * x) + coefficient
    return total / x


def betaln(a: Any, b: Any) -> Array:
    """log(abs(beta(a, b))), of real numbers.

    For large b the difference lgamma(b) - lgamma(a + b) is taken by Stirling's formula, in which what
    they have in common is left out."""
    a, b = promote_args_inexact("betaln", a, b)
    a, b = jnp.minimum(a, b), jnp.maximum(a, b)
    total = a + b
    small = lax.lgamma(a) + (lax.lgamma(b) - lax.lgamma(total))
    of_b = jnp.where(b < 8, 8, b)  # keeps inf and NaN out of the derivative of what is not taken
    difference = a - (of_b - 0.5) * lax.log1p(a / of_b) - a * lax.log(a + of_b)
    large = lax.lgamma(a) + (difference + (_stirling_rest(of_b) - _stirling_rest(a + of_b)))
    return jnp.where(b < 8, small, large)


def beta(a: Any, b: Any) -> Array:
    """gamma(a) gamma(b) / gamma(a + b), of real numbers. Raises ValueError for complex ones."""
    a, b = promote_args_real("beta", a, b)
    return gammasgn(a) * gammasgn(b) * gammasgn(a + b) * lax.exp(betaln(a, b))


def betainc(a: Any, b: Any, x: Any) -> Array:
    """The regularized incomplete beta function: the probability that a Beta(a, b) variate is below x.

    For a, b >= 0 and 0 <= x <= 1, else NaN; differentiable in x alone. Raises ValueError for complex
    numbers, and for derivatives by a and b. Source: https://dlmf.nist.gov/8.17"""
    return special_on_host.betainc(*promote_args_real("betainc", a, b, x))


# ---- factorials and binomials ----


def factorial(n: Any, exact: bool = False) -> Array:
    """gamma(n + 1), and 0 for negative n. Raises NotImplementedError for exact=True."""
    if exact:
        raise NotImplementedError("factorial with exact=True: use Python's math.factorial")
    (n,) = promote_args_inexact("factorial", n)
    return jnp.where(n < 0, 0, lax.exp(lax.lgamma(n + 1)))


def comb(N: Any, k: Any, *, repetition: bool = False) -> Array:  # noqa: N803  (SciPy's name)
    """The number of ways to choose k of N things, with `repetition` each any number of times.

    0 where N or k is negative, or k is greater than N. Arguments may be fractional."""
    N, k = promote_args_inexact("comb", N, k)  # noqa: N806
    if repetition:
        return jnp.where((k == 0) & (N >= 0), 1.0, comb(N + k - 1, k))
    valid = (k <= N) & (N >= 0) & (k >= 0)
    n, k = jnp.where(valid, N, 0.0), jnp.where(valid, k, 0.0)
    ways = lax.exp(gammaln(n + 1) - gammaln(k + 1) - gammaln(n + 1 - k))
    return jnp.where(valid, ways, 0.0)


poch_p = host_primitive("poch", 2, lambda special, z, m: special.poch(z, m))
defjvp2(
    poch_p,
    lambda g, out, z, m: (digamma(z + m) - digamma(z)) * out * g,
    lambda g, out, z, m: digamma(z + m) * out * g,
)


def poch(z: Any, m: Any) -> Array:
    """gamma(z + m) / gamma(z): z (z + 1) ... (z + m - 1) for whole m. Raises ValueError for complex ones."""
    return poch_p.bind(*promote_strong_real("poch", z, m))


def multigammaln(a: Any, d: Any) -> Array:
    """The logarithm of the gamma function of d dimensions, d a static int: log of pi**(d (d - 1) / 4), plus
    the sum of gammaln(a - j/2) for j = 0 to d - 1."""
    d = int(concrete(d, "d argument of multigammaln"))
    a, size = promote_args_inexact("multigammaln", a, d)
    constant = lax.mul(
        lax.mul(lax.mul(constant_like(a, 0.25), size), lax.sub(size, constant_like(a, 1))),
        lax.log(constant_like(a, math.pi)),
    )
    halves = lax.div(jnp.arange(d, dtype=size.dtype), constant_like(a, 2))
    shifted = jnp.expand_dims(a, axis=-1) - jnp.expand_dims(halves, axis=tuple(range(a.ndim)))
    return jnp.sum(gammaln(shifted), axis=-1) + constant


# ---- derivatives of log(gamma) ----


def polygamma(n: Any, x: Any) -> Array:
    """The n-th derivative of digamma, n of integer dtype, x real.

    Raises ValueError for another dtype of n, and for derivatives by n."""
    if dtypes.kind(dtypes.dtype(n)) not in "iu":
        raise ValueError(
            f"Argument `n` to polygamma must be of integer type. Got dtype {dtypes.dtype(n).name}."
        )
    return lax.polygamma(*promote_args_real("polygamma", n, x))


# ---- incomplete gamma functions ----


def gammainc(a: Any, x: Any) -> Array:
    """The regularized lower incomplete gamma function: the probability that Gamma(a, 1) is below x."""
    return incomplete_gamma.igamma(*promote_args_inexact("gammainc", a, x))


def gammaincc(a: Any, x: Any) -> Array:
    """1 - gammainc(a, x), accurate where that is small."""
    return incomplete_gamma.igammac(*promote_args_inexact("gammaincc", a, x))


# ---- zeta and Bernoulli's numbers ----

_BERNOULLI = (
    1 / 6,
    -1 / 30,
    1 / 42,
    -1 / 30,
    5 / 66,
    -691 / 2730,
    7 / 6,
    -3617 / 510,
)  # B2, B4, ...


@custom_jvp
def zeta(x: Any, q: Any = None) -> Array:
    """Hurwitz's zeta function, the sum of (q + k)**-x over k = 0, 1, ...; Riemann's is zeta(x, 1).

    Infinite at x = 1, NaN for x < 1. Raises NotImplementedError without q."""
    if q is None:
        raise NotImplementedError(
            "Riemann zeta function not implemented; pass q != None to compute the Hurwitz Zeta "
            "function. Of Riemann's, q is 1."
        )
    return special_on_host.zeta(*promote_args_inexact("zeta", x, q))


def _zeta_by_sums(x: Any, q: Any) -> Any:
    """Euler and Maclaurin's formula: 12 terms, and an integral with corrections for the others.

    It can be differentiated as often as you like. Source: https://dlmf.nist.gov/25.11.E28"""
    x, q = promote_args_inexact("zeta", x, q)
    terms = 12
    total = sum((q + k) ** -x for k in range(terms))
    a = q + terms
    total = total + a ** (1 - x) / (x - 1) + a**-x / 2
    factor = x * a ** (-x - 1)
    for n, bernoulli_number in enumerate(_BERNOULLI, start=1):
        total = total + factor * (bernoulli_number / math.factorial(2 * n))
        factor = factor * (x + 2 * n - 1) * (x + 2 * n) / (a * a)
    return total


@zeta.defjvp
def _zeta_jvp(primals: Any, tangents: Any) -> Any:
    return jvp(_zeta_by_sums, primals, tangents)


def bernoulli(n: int) -> Array:
    """Bernoulli's numbers B0, B1, ..., Bn, where B1 is -1/2; n a static int. Raises ValueError for n < 0."""
    n = concrete_int(n, "Argument n of bernoulli")
    if n < 0:
        raise ValueError(f"n must be a non-negative integer, got {n}.")
    from scipy import special

    return jnp.array(special.bernoulli(n)[: n + 1], dtypes.canonicalize_dtype(float))
