"""Special functions: the error functions, lgamma, digamma, polygamma. All take floats.

All are computed in float64: the error functions in NumPy alone, the others by SciPy.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinyjax.core import dtypes
from tinyjax.core.facts import FUNCTION
from tinyjax.core.primitives import add, mul, neg
from tinyjax.lax.arithmetic import square
from tinyjax.lax.conversion import convert_element_type
from tinyjax.lax.elementwise import (
    FLOAT,
    constant,
    from_scipy,
    in_float32,
    in_float64,
    nary,
    of_one,
    unary,
)
from tinyjax.lax.exponential import exp
from tinyjax.transform.jvp import defjvp, defjvp2

# ---- values: the error function ----


def _each(function: Callable[[float], float]) -> Callable[[np.ndarray], np.ndarray]:
    """Makes an impl rule from a function of one float. The functions of `math` are exact to the last bit
    or two."""

    def impl(x: np.ndarray) -> np.ndarray:
        return np.fromiter(map(function, x.ravel().tolist()), np.float64, x.size).reshape(x.shape)

    return in_float64(impl)


_TWO_OVER_SQRT_PI = 2 / math.sqrt(math.pi)
_erf_impl = _each(math.erf)
_erfc_impl = _each(math.erfc)

# For w = -log(1 - y**2): erf_inv(y) / y is a polynomial in w - 2.5 in the middle, and in sqrt(w) - 3
# in the tails.
# Source: M. Giles, "Approximating the erfinv function", GPU Computing Gems (2012).
ERF_INV_MIDDLE = (
    2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503,
    -0.00417768164, 0.246640727, 1.50140941,
)  # fmt: skip
ERF_INV_TAILS = (
    -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613,
    0.00943887047, 1.00167406, 2.83297682,
)  # fmt: skip
# Nearer to 1 than a float32 can be, where w is from 16 to 37: in sqrt(w) - 5. Fitted, with 7 digits.
ERF_INV_FAR_TAILS = (
    -2.19652994e-05, 8.39387551e-05, -0.000213403298, -0.000142034018, 1.01030013, 4.8499066,
)  # fmt: skip


# log(1 + x) near 0 is x - x**2 / 2 + x**3 P(x) / Q(x); log(1 + f), further on, x - x**2 / 2 + x**3 R(x).
# Source: S. Moshier, Cephes Math Library (1989), https://www.netlib.org/cephes/
LOG1P_P = (
    4.5270000862445199635215e-5, 4.9854102823193375972212e-1, 6.5787325942061044846969,
    2.9911919328553073277375e1, 6.0949667980987787057556e1, 5.7112963590585538103336e1,
    2.0039553499201281259648e1,
)  # fmt: skip
LOG1P_Q = (
    1.0, 1.5062909083469192043167e1, 8.3047565967967209469434e1, 2.2176239823732856465394e2,
    3.0909872225312059774938e2, 2.1642788614495947685003e2, 6.0118660497603843919306e1,
)  # fmt: skip
LOG_R = (
    (7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1),
    (-1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1),
    (2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1),
)


def _fma(x: Any, y: Any, z: Any) -> Any:
    """x * y + z of float32s, rounded once: a product of two has room in a float64."""
    return (np.float64(x) * np.float64(y) + np.float64(z)).astype(np.float32)


def _polynomial(coefficients: Sequence[Any], x: np.ndarray) -> Any:
    total: Any = np.float32(coefficients[0])
    for coefficient in coefficients[1:]:
        total = _fma(total, x, np.float32(coefficient))
    return total


def _xla_log1p(x: np.ndarray) -> np.ndarray:
    """log(1 + x) for float32 x from -1 to 0, with the same bits as XLA on a CPU."""
    half, x2 = np.float32(-0.5), x * x
    ratio = _polynomial(LOG1P_P, x) / _polynomial(LOG1P_Q, x)
    near_0 = x + _fma(half, x2, x * x2 * ratio)
    bits = (1 + x).view(np.int32) - 0x3F3504F3  # 1 + x = 2**e (1 + f), from sqrt(1/2) to sqrt(2)
    e = (bits >> 23).astype(np.float32)
    f = ((bits & 0x007FFFFF) + 0x3F3504F3).view(np.float32) - 1
    f2 = f * f
    r = _polynomial([_polynomial(part, f) for part in LOG_R], f2 * f)
    far = _fma(r, f2 * f, e * np.float32(-2.12194440e-4))
    far = _fma(e, np.float32(0.693359375), _fma(half, f2, f) + far)
    return np.where(x > np.float32(-0.41421356237), near_0, far)


def _erf_inv_float32(y: np.ndarray) -> np.ndarray:
    """Follows XLA on a CPU operation for operation, so that random draws have JAX's bits. It loses digits
    if y is near 1, because of 1 - y * y."""
    w = -_xla_log1p(-(y * y))
    in_middle = w < 5
    t = np.where(in_middle, w - np.float32(2.5), np.sqrt(w) - np.float32(3))
    pairs = zip(ERF_INV_MIDDLE, ERF_INV_TAILS)
    both = [np.where(in_middle, *pair).astype(np.float32) for pair in pairs]
    return _polynomial(both, t) * y


def erf_inv_float64(y: Any, log: Any, sqrt: Any, exp: Any, erf: Any, erfc: Any, where: Any) -> Any:
    """erf_inv of y in (-1, 1), by these functions of an array, or of a number in a kernel.

    The polynomials have seven digits; Halley's step triples them."""
    w = -log((1 - y) * (1 + y))  # 1 - y * y would lose the digits of a y near 1
    tails = _horner(ERF_INV_TAILS, sqrt(w) - 3)
    tails = where(w < 16, tails, _horner(ERF_INV_FAR_TAILS, sqrt(w) - 5))
    x = y * where(w < 5, _horner(ERF_INV_MIDDLE, w - 2.5), tails)
    magnitude = abs(y)
    in_tails = (1 - magnitude) - erfc(abs(x))  # erfc keeps the digits of 1 - |y|
    error = where(magnitude < 0.5, erf(x) - y, where(y < 0, -in_tails, in_tails))
    step = error / (_TWO_OVER_SQRT_PI * exp(-x * x))
    return x - step / (1 + x * step)


def _horner(coefficients: Sequence[float], x: Any) -> Any:
    return functools.reduce(lambda total, coefficient: total * x + coefficient, coefficients)


_erf_inv_float64 = functools.partial(
    erf_inv_float64, log=np.log, sqrt=np.sqrt, exp=np.exp, erf=_erf_impl, erfc=_erfc_impl,
    where=np.where,
)  # fmt: skip


@in_float32
def _erf_inv_impl(y: np.ndarray) -> np.ndarray:
    inside = np.where(np.abs(y) < 1, y, y.dtype.type(0))
    x = _erf_inv_float64(inside) if y.dtype == np.float64 else _erf_inv_float32(inside)
    at_ends = np.where(np.abs(y) == 1, np.copysign(np.inf, y), np.nan)
    return np.where(np.abs(y) < 1, x, at_ends.astype(y.dtype))


# ---- values: the gamma function ----


@from_scipy
def _lgamma_impl(special: Any, x: np.ndarray) -> np.ndarray:
    return np.where(x == -np.inf, np.inf, special.gammaln(x))


@from_scipy
def _digamma_impl(special: Any, x: np.ndarray) -> np.ndarray:
    """Left of 0: psi(x) = psi(1 - x) - pi / tan(pi x). Source: https://dlmf.nist.gov/5.5.E4"""
    out = special.psi(np.where(x < 0, 1 - x, x))
    fraction = x - np.rint(x)  # exact, as pi x would not be
    left = np.where(fraction == 0, np.nan, out - np.pi / np.tan(np.pi * fraction))
    return np.where(x == 0, -np.inf, np.where(x < 0, left, out))


@from_scipy
def _polygamma_impl(special: Any, m: np.ndarray, x: np.ndarray) -> np.ndarray:
    """(-1)**(m + 1) m! zeta(m + 1, x), where m! is a float64.

    Source: https://dlmf.nist.gov/25.11.E12"""
    order = np.where(m >= 1, m, 1)
    sign = np.where(order % 2 == 1, 1.0, -1.0)
    out = sign * special.gamma(order + 1) * special.zeta(order + 1, x)
    if (m == 0).any():
        out = np.where(m == 0, _digamma_impl(x), out)
    return np.where((m >= 0) & (m <= 170) & (m == np.floor(m)) & ~np.isnan(x), out, np.nan)


# ---- primitives ----


def _exp_neg_square(x: Any) -> Any:
    """exp(-x**2), which is not weakly typed."""
    return exp(neg(square(convert_element_type(x, dtypes.dtype(x)))))


erf_p = unary("erf", FLOAT, _erf_impl, **FUNCTION)
erf = of_one(
    erf_p, "The error function, 2 / sqrt(pi) times the integral of exp(-t**2) from 0 to x."
)
defjvp(erf_p, lambda g, x: mul(constant(x, _TWO_OVER_SQRT_PI), mul(g, _exp_neg_square(x))))

erfc_p = unary("erfc", FLOAT, _erfc_impl, **FUNCTION)
erfc = of_one(erfc_p, "1 - erf(x), accurate where that is small.")
defjvp(erfc_p, lambda g, x: mul(constant(x, -_TWO_OVER_SQRT_PI), mul(g, _exp_neg_square(x))))

erf_inv_p = unary("erf_inv", FLOAT, _erf_inv_impl, **FUNCTION)
erf_inv = of_one(
    erf_inv_p, "The inverse of erf, for x in (-1, 1); infinite at the ends, NaN outside."
)
defjvp2(
    erf_inv_p, lambda g, out, x: mul(constant(x, math.sqrt(math.pi) / 2), mul(g, exp(square(out))))
)

lgamma_p = unary("lgamma", FLOAT, _lgamma_impl, **FUNCTION)
lgamma = of_one(
    lgamma_p, "The logarithm of the absolute value of the gamma function; inf at its poles."
)
digamma_p = unary("digamma", FLOAT, _digamma_impl, **FUNCTION)
digamma = of_one(digamma_p, "The derivative of lgamma; NaN at the poles.")
defjvp(lgamma_p, lambda g, x: mul(g, digamma(x)))
defjvp(digamma_p, lambda g, x: mul(g, polygamma(constant(x, 1), x)))


def _polygamma_jvp_m(g: Any, m: Any, x: Any) -> Any:
    raise ValueError("polygamma gradient with respect to m is not supported: m is an order")


polygamma_p = nary("polygamma", FLOAT, _polygamma_impl, **FUNCTION)
defjvp(polygamma_p, _polygamma_jvp_m, lambda g, m, x: mul(g, polygamma(add(m, constant(m, 1)), x)))


def polygamma(m: Any, x: Any) -> Any:
    """The m-th derivative of digamma, for floats m = 0, 1, ..., 170; not differentiable in m.

    NaN for other m."""
    return polygamma_p.bind(m, x)
