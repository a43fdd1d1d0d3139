"""Draws without rejection: gamma and Poisson numbers by `method="approximate"`, faster and slightly biased.

A normal number is mapped to a quantile of the distribution, by a series that is good to four digits or more.
Sources: R. Goldstein, "Algorithm 451: Chi-square quantiles" (1973); A. Stuart, "Gamma-distributed products of
independent random variables" (1962); D. Peizer and J. Pratt, "A normal approximation for binomial, F, beta,
and other common, related tail probabilities" (1968)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.core import dtypes
from tinyjax.core.primitives import shape_of
from tinyjax.random.continuous import exponential
from tinyjax.random.distributions import checked_shape, normal
from tinyjax.random.keys import split_typed
from tinyjax.scipy.special.normal_distribution import ndtr
from tinyjax.transform.jit.api import jitted

# ---- gamma numbers ----

# Number k has the coefficients of x**k * nu**(-k/2), by powers of 1 / nu: for a chi-square number of nu
# degrees of freedom from a normal x. The first is exactly 1, as its cube root tends to 1 for large nu.
CHI_SQUARE_QUANTILE = (
    (1.0, -0.2237368, -0.01513904),
    (0.4713941, 0.02607083, -0.008986007),
    (0.0001348028, 0.01128186, 0.02277679),
    (-0.008553069, -0.01153761, -0.01323293),
    (0.00312558, 0.005169654, -0.006950356),
    (-0.0008426812, 0.00253001, 0.001060438),
    (0.00009780499, -0.001450117, 0.001565326),
)
BOOSTS = 4  # the series is good for shapes from 4 on


@jitted(static_argnames=("shape", "dtype", "log_space"))
def gamma(key: Any, a: Any, shape: Any, dtype: np.dtype, log_space: bool = False) -> Any:
    """A gamma number of shape a + 4, times u**(1 / (a + k)) for k = 0, 1, 2, 3 and uniform u; or its log."""
    work_dtype = np.dtype("float32") if dtypes.finfo(dtype).bits < 32 else dtype
    shape = checked_shape("gamma", shape, a)
    a = jnp.broadcast_to(lax.convert_element_type(a, work_dtype), shape)
    key_base, key_boost = split_typed(key)
    base = _log_gamma_of_large_shape(key_base, a + BOOSTS)
    k = jnp.arange(BOOSTS, dtype=work_dtype).reshape(BOOSTS, *(1,) * len(shape))
    log_u = -exponential(key_boost, (BOOSTS, *shape), work_dtype)
    out = base + jnp.sum(log_u / (a[None] + k), axis=0)
    return lax.convert_element_type(out if log_space else lax.exp(out), dtype)


def _log_gamma_of_large_shape(key: Any, a: Any) -> Any:
    """log of half a chi-square number of nu = 2 a: the cube of a polynomial in x / sqrt(nu), times a."""
    nu = 2 * a
    t = normal(key, shape_of(a), a.dtype) * lax.rsqrt(nu)
    coefficients = [lax.polynomial(1 / nu, row) for row in CHI_SQUARE_QUANTILE]
    cube_root = jnp.maximum(lax.polynomial(t, coefficients), dtypes.finfo(a.dtype).tiny)
    return jnp.log(a) + 3 * jnp.log(cube_root)


# ---- Poisson numbers ----

SPLIT = 7.0  # smaller means sum up probabilities, larger ones use Peizer and Pratt
TERMS = 20


@jitted(static_argnames=("shape", "dtype"))
def poisson(key: Any, lam: Any, shape: tuple[int, ...], dtype: np.dtype) -> Any:
    """The Poisson quantile at the probability of a normal number; the total variation error is below
    1e-4."""
    is_wide = dtypes.dtype(lam) == np.float64 or np.dtype(dtype).itemsize > 4
    lam = lax.convert_element_type(lam, np.dtype("float64" if is_wide else "float32"))
    lam = lax.expand_dims(lam, range(len(shape) - lam.ndim))
    z = normal(key, shape, lam.dtype)
    counts = jnp.where(lam < SPLIT, _by_probabilities(ndtr(z), lam), _by_root(z, lam))
    return lax.convert_element_type(counts, dtype)


def _by_probabilities(u: Any, lam: Any) -> Any:
    """How many of the sums of the first probabilities are below u."""
    probability = total = lax.exp(-lam)
    count = lax.convert_element_type(total < u, u.dtype)
    for k in range(1, TERMS - 1):
        probability = probability * (lam / k)
        total = total + probability
        count = count + lax.convert_element_type(total < u, u.dtype)
    return count


def _by_root(z: Any, lam: Any) -> Any:
    """The smallest integer whose normal score is at least z: a guess, corrected by one at most."""
    root = jnp.sqrt(lam)
    square = jnp.square(z)
    guess = lam + root * z - 2 / 3 + square / 6 + z * (1 - square) / (72 * root)
    c = jnp.ceil(guess + 0.6)

    def is_enough(c: Any) -> Any:
        score = jnp.where(c < 0, -np.inf, _score(jnp.maximum(c, 0.0), lam))
        return lax.convert_element_type(score >= z, c.dtype)

    return jnp.maximum(c + 1 - is_enough(c) - is_enough(c - 1), 0.0)


def _score(x: Any, lam: Any) -> Any:
    """z with a normal probability of at most z that is about the Poisson probability of at most x."""
    y = (x + 0.5) / lam
    return (x - lam + 2 / 3 + 0.02 / (x + 1)) * jnp.sqrt((1 + _peizer_pratt(y)) / lam)


def _peizer_pratt(y: Any) -> Any:
    """(1 - y**2 + 2 y log(y)) / (1 - y)**2, by a series near 1."""
    d = y - 1
    is_near = jnp.abs(d) < 0.25
    series = jnp.zeros_like(d)
    for k in reversed(range(1, 10)):
        series = d * (2 * (-1) ** k / ((k + 1) * (k + 2)) + series)
    far_y, far_d = jnp.where(is_near, 2.0, y), jnp.where(is_near, 1.0, d)
    direct = (1 - jnp.square(far_y) + 2 * far_y * jnp.log(far_y)) / jnp.square(far_d)
    return jnp.where(is_near, series, direct)
