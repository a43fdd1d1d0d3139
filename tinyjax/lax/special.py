"""Special functions: erf and its kin, lgamma, digamma, polygamma.

After this file you know a good way to compute each of them but polygamma in NumPy alone, in float64
inside. All take floats. Builds on exponential.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tinyjax.interpreters.jvp import defjvp, defjvp2
from tinyjax.lax.arithmetic import square
from tinyjax.lax.elementwise import FLOAT, constant, in_float32, in_float64, nary, unary
from tinyjax.lax.exponential import exp
from tinyjax.primitives import add, mul, neg

# ---- values: the error function ----


def _each(function: Callable[[float], float]) -> Callable[[np.ndarray], np.ndarray]:
    """A function of one float as an impl rule: math's are exact to the last bit or two."""

    def impl(x: np.ndarray) -> np.ndarray:
        return np.fromiter(map(function, x.ravel().tolist()), np.float64, x.size).reshape(x.shape)

    return in_float64(impl)


_TWO_OVER_SQRT_PI = 2 / math.sqrt(math.pi)
_erf_impl = _each(math.erf)
_erfc_impl = _each(math.erfc)

# For w = -log(1 - y**2): erf_inv(y) / y is a polynomial in w - 2.5 in the middle, and in sqrt(w) - 3
# in the tails: XLA's polynomials for float32, which random.normal shares with it.
# Source: M. Giles, "Approximating the erfinv function", GPU Computing Gems (2012).
ERF_INV_MIDDLE = (
    2.81022636e-08,
    3.43273939e-07,
    -3.5233877e-06,
    -4.39150654e-06,
    0.00021858087,
    -0.00125372503,
    -0.00417768164,
    0.246640727,
    1.50140941,
)
ERF_INV_TAILS = (
    -0.000200214257,
    0.000100950558,
    0.00134934322,
    -0.00367342844,
    0.00573950773,
    -0.0076224613,
    0.00943887047,
    1.00167406,
    2.83297682,
)
# Nearer to 1 than a float32 can be, where w is from 16 to 37: in sqrt(w) - 5. Fitted, with 7 digits.
ERF_INV_FAR_TAILS = (
    -2.19652994e-05,
    8.39387551e-05,
    -0.000213403298,
    -0.000142034018,
    1.01030013,
    4.8499066,
)


def _erf_inv_polynomial(y: np.ndarray) -> np.ndarray:
    one = y.dtype.type(1)
    w = -np.log((one - y) * (one + y))  # 1 - y * y would lose the digits of a y near 1
    middle = np.polyval(np.array(ERF_INV_MIDDLE, y.dtype), w - y.dtype.type(2.5))
    tails = np.polyval(np.array(ERF_INV_TAILS, y.dtype), np.sqrt(w) - y.dtype.type(3))
    if y.dtype == np.float64:
        tails = np.where(w < 16, tails, np.polyval(ERF_INV_FAR_TAILS, np.sqrt(w) - 5))
    return y * np.where(w < 5, middle, tails)


@in_float32
def _erf_inv_impl(y: np.ndarray) -> np.ndarray:
    inside = np.where(np.abs(y) < 1, y, y.dtype.type(0))
    x = _erf_inv_polynomial(inside)
    if y.dtype == np.float64:
        # Halley's step triples the digits; erfc keeps those of 1 - |y| in the tails.
        magnitude = np.abs(inside)
        in_tails = (1 - magnitude) - _erfc_impl(np.abs(x))
        error = np.where(magnitude < 0.5, _erf_impl(x) - inside, np.sign(inside) * in_tails)
        step = error / (_TWO_OVER_SQRT_PI * np.exp(-x * x))
        x = x - step / (1 + x * step)
    at_ends = np.where(np.abs(y) == 1, np.copysign(np.inf, y), np.nan)
    return np.where(np.abs(y) < 1, x, at_ends.astype(y.dtype))


# ---- values: the gamma function ----


def _lgamma(x: float) -> float:
    try:
        return math.lgamma(x)
    except (ValueError, OverflowError):  # at a pole, and beyond the largest float
        return math.inf


_lgamma_impl = _each(_lgamma)

_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)  # B2, B4, ...


@in_float64
def _digamma_impl(x: np.ndarray) -> np.ndarray:
    """By the asymptotic series at x >= 16, reached by psi(x) = psi(x + 1) - 1/x.

    Left of 0 the reflection psi(x) = psi(1 - x) - pi / tan(pi x) is used first. All in long doubles (of more
    than 64 bits on x86), as the terms are larger than the result near the zeros of psi.
    Source: https://dlmf.nist.gov/5.11.E2, 5.5.E2, 5.5.E4"""
    x = x.astype(np.longdouble)
    pi = 4 * np.arctan(np.longdouble(1))
    t = np.where(x < 0, 1 - x, x)
    out = np.zeros_like(t)
    for _ in range(16):
        out = out - np.where(t < 16, 1 / t, 0)
        t = np.where(t < 16, t + 1, t)
    for n, bernoulli in enumerate(_BERNOULLI, start=1):
        out = out - bernoulli / (2 * n * t ** (2 * n))
    out = out + np.log(t) - 0.5 / t
    fraction = x - np.rint(x)
    out = np.where(x < 0, out - pi / np.tan(pi * fraction), out)
    return np.where((x <= 0) & (fraction == 0) | (x == -np.inf), np.nan, out).astype(np.float64)


@in_float64
def _polygamma_impl(m: np.ndarray, x: np.ndarray) -> np.ndarray:
    """(-1)**(m + 1) m! zeta(m + 1, x), by SciPy's zeta. Source: https://dlmf.nist.gov/25.11.E12"""
    from scipy import special

    order = np.where(m >= 1, m, 1)
    sign = np.where(order % 2 == 1, 1.0, -1.0)
    out = sign * special.gamma(order + 1) * special.zeta(order + 1, x)
    out = np.where(m == 0, _digamma_impl(x + np.zeros_like(m)), out)
    return np.where((m < 0) | (m != np.floor(m)) | np.isnan(x), np.nan, out)


# ---- primitives ----

erf_p = unary("erf", FLOAT, _erf_impl)
defjvp(erf_p, lambda g, x: mul(constant(x, _TWO_OVER_SQRT_PI), mul(g, exp(neg(square(x))))))

erfc_p = unary("erfc", FLOAT, _erfc_impl)
defjvp(erfc_p, lambda g, x: mul(constant(x, -_TWO_OVER_SQRT_PI), mul(g, exp(neg(square(x))))))

erf_inv_p = unary("erf_inv", FLOAT, _erf_inv_impl)
defjvp2(
    erf_inv_p,
    lambda g, out, x: mul(constant(x, math.sqrt(math.pi) / 2), mul(g, exp(square(out)))),
)

lgamma_p = unary("lgamma", FLOAT, _lgamma_impl)
defjvp(lgamma_p, lambda g, x: mul(g, digamma(x)))

digamma_p = unary("digamma", FLOAT, _digamma_impl)
defjvp(digamma_p, lambda g, x: mul(g, polygamma(constant(x, 1), x)))


def _polygamma_jvp_m(g: Any, m: Any, x: Any) -> Any:
    raise ValueError("polygamma gradient with respect to m is not supported: m is an order")


polygamma_p = nary("polygamma", FLOAT, _polygamma_impl)
defjvp(
    polygamma_p,
    _polygamma_jvp_m,
    lambda g, m, x: mul(g, polygamma(add(m, constant(m, 1)), x)),
)


# ---- functions ----


def erf(x: Any) -> Any:
    """The error function, 2 / sqrt(pi) times the integral of exp(-t**2) from 0 to x."""
    return erf_p.bind(x)


def erfc(x: Any) -> Any:
    """1 - erf(x), accurate where that is small."""
    return erfc_p.bind(x)


def erf_inv(x: Any) -> Any:
    """The inverse of erf, for x in (-1, 1); infinite at the ends, NaN outside."""
    return erf_inv_p.bind(x)


def lgamma(x: Any) -> Any:
    """The logarithm of the absolute value of the gamma function; inf at its poles."""
    return lgamma_p.bind(x)


def digamma(x: Any) -> Any:
    """The derivative of lgamma; NaN at the poles."""
    return digamma_p.bind(x)


def polygamma(m: Any, x: Any) -> Any:
    """The m-th derivative of digamma, for floats m = 0, 1, ...; not differentiable in m."""
    return polygamma_p.bind(m, x)
