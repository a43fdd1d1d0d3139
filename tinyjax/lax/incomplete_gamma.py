"""The incomplete gamma functions, and how a gamma variate moves with its parameter.

Where P(a, x) is the probability that a Gamma(a, 1) variate is below x, a sample x keeps its P when `a` moves,
and so dx/da is -(dP/da) / (dP/dx). Eager values of P and Q = 1 - P are SciPy's; dP/da is computed here, as
SciPy lacks it.

Source: https://dlmf.nist.gov/8.2, 8.11.E4 (the series), 8.9.E2 (the continued fraction)
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tinyjax.compile.kernel.scalar_ops import FUNCTION
from tinyjax.core.bind import no_rule_reasons
from tinyjax.core.primitives import add, mul, neg
from tinyjax.lax.arithmetic import sub
from tinyjax.lax.creation import full_like
from tinyjax.lax.exponential import exp, log
from tinyjax.lax.host_functions import host_primitive
from tinyjax.lax.special import lgamma
from tinyjax.transform.jvp import defjvp

# ---- dP/da, in units of x**a exp(-x) / gamma(a) ----

# A term that changes a sum by less is ignored.
PRECISION = 1e-15


def _of_series(special: Any, a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """For x <= max(1, a): P is x**a exp(-x) / gamma(a + 1) times 1 + x/(a+1) + x**2/((a+1)(a+2)) + ...

    Each term, and its derivative by `a`, is computed from the term before."""
    term, d_term = x / (a + 1), -x / (a + 1) ** 2
    total, d_total = 1 + term, d_term
    n = 1
    while np.any(np.abs(d_term) > PRECISION * np.abs(d_total)):
        n += 1
        d_term = (d_term - term / (a + n)) * x / (a + n)
        term = term * x / (a + n)
        total, d_total = total + term, d_total + d_term
    return (total * (np.log(x) - special.digamma(a + 1)) + d_total) / a


def _of_fraction(special: Any, a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """For x > max(1, a): Q is x**a exp(-x) / gamma(a) times the fraction
    1/(x+1-a + 1(a-1)/(x+3-a + 2(a-2)/(x+5-a + ...))), here by Lentz's method: a product of c * d.

    Source: https://dlmf.nist.gov/3.10.iii"""
    b = x + 1 - a
    c, d = np.full_like(x, np.inf), 1 / b
    d_c, d_d = np.zeros_like(x), d * d
    out, d_out = d, d_d
    moved, n = np.full_like(x, np.inf), 0
    while np.any(np.abs(moved) > PRECISION * np.abs(d_out)):
        n += 1
        b = b + 2
        numerator, d_numerator = n * (a - n), n
        d_c = d_numerator / c - numerator * d_c / (c * c) - 1
        c = b + numerator / c
        slope = d_numerator * d + numerator * d_d - 1
        d = 1 / (b + numerator * d)
        d_d = -d * d * slope
        moved = d_out * (c * d - 1) + out * (d_c * d + c * d_d)
        out, d_out = out * c * d, d_out + moved
    return -(out * (np.log(x) - special.digamma(a)) + d_out)


def _of_large_a(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """P depends on a and x by eta sqrt(a) alone, where eta**2 / 2 is x/a - 1 - log(x/a), but for O(1/a).
    With 1/(6a), the next part of dx/da near x = a, 9 digits are right.

    Source: https://dlmf.nist.gov/8.12"""
    above = (x - a) / a
    half_eta_squared = above - np.log1p(above)
    return (np.where(above == 0, 0, half_eta_squared / above) - 1) / a - 1 / (6 * a * x)


LARGE = 1e6  # from here on the sums would take more than 10000 terms


def _scaled_grad_a(special: Any, a: np.ndarray, x: np.ndarray) -> np.ndarray:
    a, x = np.broadcast_arrays(a, x)
    out = np.full(a.shape, np.nan)
    valid = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    large, right = a > LARGE, x > np.maximum(a, 1)
    for place, function in (
        (valid & ~large & ~right, functools.partial(_of_series, special)),
        (valid & ~large & right, functools.partial(_of_fraction, special)),
        (valid & large, _of_large_a),
    ):
        out[place] = function(a[place], x[place])
    return out


def _igamma_grad_a_impl(special: Any, a: np.ndarray, x: np.ndarray) -> np.ndarray:
    unit = np.exp(special.xlogy(a, x) - x - special.gammaln(a))
    return np.where((a > 0) & (x == 0), 0, unit * _scaled_grad_a(special, a, x))


def _random_gamma_grad_impl(special: Any, a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """-(dP/da) / (dP/dx), where dP/dx is that unit divided by x."""
    return np.where((a > 0) & (x == 0), 0, -x * _scaled_grad_a(special, a, x))


# ---- primitives ----

COST = 50 * FUNCTION  # of a loop in a kernel
igamma_p = host_primitive("igamma", 2, lambda special, a, x: special.gammainc(a, x), cost=COST)
igammac_p = host_primitive("igammac", 2, lambda special, a, x: special.gammaincc(a, x), cost=COST)
igamma_grad_a_p = host_primitive("igamma_grad_a", 2, _igamma_grad_a_impl, cost=COST)
random_gamma_grad_p = host_primitive("random_gamma_grad", 2, _random_gamma_grad_impl, cost=COST)
for _primitive in (igamma_grad_a_p, random_gamma_grad_p):
    no_rule_reasons[_primitive, "jvp"] = "it is a derivative itself, and has none in JAX either"


def _igamma_jvp_of_a(g: Any, a: Any, x: Any) -> Any:
    return mul(g, igamma_grad_a(a, x))


def _igamma_jvp_of_x(g: Any, a: Any, x: Any) -> Any:
    """The density x**(a - 1) exp(-x) / gamma(a), by logarithms."""
    logarithm = add(neg(x), mul(sub(a, full_like(a, 1)), log(x)))
    return mul(g, exp(sub(logarithm, lgamma(a))))


defjvp(igamma_p, _igamma_jvp_of_a, _igamma_jvp_of_x)
defjvp(
    igammac_p,
    lambda g, a, x: neg(_igamma_jvp_of_a(g, a, x)),
    lambda g, a, x: neg(_igamma_jvp_of_x(g, a, x)),
)


# ---- functions ----


def igamma(a: Any, x: Any) -> Any:
    """P(a, x), the integral of t**(a - 1) exp(-t) / gamma(a) from 0 to x; floats of one dtype, >= 0.

    NaN for negative numbers, and where both are 0."""
    return igamma_p.bind(a, x)


def igammac(a: Any, x: Any) -> Any:
    """Q(a, x) = 1 - P(a, x), accurate even if Q is small."""
    return igammac_p.bind(a, x)


def igamma_grad_a(a: Any, x: Any) -> Any:
    """The derivative of P(a, x) by `a`. It has no derivative itself: a NotImplementedError says so."""
    return igamma_grad_a_p.bind(a, x)


def random_gamma_grad(a: Any, x: Any) -> Any:
    """The derivative of a sample x of Gamma(a, 1) by `a`, for the same underlying draw.

    Source: https://arxiv.org/abs/1805.08498 (implicit reparameterization gradients)"""
    return random_gamma_grad_p.bind(a, x)
