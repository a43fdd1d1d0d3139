"""Special functions that SciPy computes eagerly: Bessel functions, the incomplete beta function, zeta.

An eager value is SciPy's, and the derivative is written with other primitives.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from tinyjax.compile.kernel.scalar_ops import FUNCTION
from tinyjax.core import dtypes
from tinyjax.core.bind import no_rule_reasons
from tinyjax.core.primitives import add, gt, mul, neg
from tinyjax.lax.arithmetic import abs as lax_abs
from tinyjax.lax.arithmetic import reciprocal, sign, sub
from tinyjax.lax.creation import full_like
from tinyjax.lax.elementwise import constant, of_one
from tinyjax.lax.exponential import exp, log, log1p
from tinyjax.lax.host_functions import host_primitive
from tinyjax.lax.selection import select
from tinyjax.lax.special import lgamma
from tinyjax.transform.jvp import defjvp, defjvp2

# ---- modified Bessel functions, scaled by exp(-|x|) ----

bessel_i0e_p = host_primitive("bessel_i0e", 1, lambda special, x: special.i0e(x))
bessel_i0e = of_one(bessel_i0e_p, "exp(-|x|) I_0(x), of floats; I_0(x) alone would overflow.")
# of -0.0: -0.0
bessel_i1e_p = host_primitive("bessel_i1e", 1, lambda special, x: np.copysign(special.i1e(x), x))
bessel_i1e = of_one(bessel_i1e_p, "exp(-|x|) I_1(x), of floats.")
defjvp2(bessel_i0e_p, lambda g, out, x: mul(g, sub(bessel_i1e(x), mul(sign(x), out))))


def _bessel_i1e_jvp(g: Any, out: Any, x: Any) -> Any:
    """i0e(x) - i1e(x) (sign(x) + 1/x), and 1/2 near 0, where the last part is 0/0.

    Source: https://dlmf.nist.gov/10.29.E2"""
    epsilon = float(dtypes.finfo(dtypes.dtype(x)).eps)
    is_tiny = gt(constant(x, epsilon), lax_abs(x))
    safe = select(is_tiny, full_like(x, 1), x)
    slope = sub(bessel_i0e(safe), mul(out, add(sign(safe), reciprocal(safe))))
    return mul(g, select(is_tiny, full_like(x, 0.5), slope))


defjvp2(bessel_i1e_p, _bessel_i1e_jvp)


# ---- the regularized incomplete beta function ----


def _betainc_impl(special: Any, a: np.ndarray, b: np.ndarray, x: np.ndarray) -> np.ndarray:
    """SciPy's value, and its limits: if a is 0 or b is infinite, all of the mass is at 0, and so on."""
    inside = (a >= 0) & (b >= 0) & (x >= 0) & (x <= 1)
    at_0, at_1 = (a == 0) | np.isinf(b), (b == 0) | np.isinf(a)
    out = np.where(at_0, x > 0, np.where(at_1, x == 1, special.betainc(a, b, x)))
    return np.where(inside & ~(at_0 & at_1), out, np.nan)


regularized_incomplete_beta_p = host_primitive(
    "regularized_incomplete_beta", 3, _betainc_impl, cost=50 * FUNCTION
)


def _no_betainc_jvp(g: Any, a: Any, b: Any, x: Any) -> NoReturn:
    raise ValueError(
        "Betainc gradient with respect to a and b not supported: it is differentiable in x alone. "
        "lax.stop_gradient makes a and b constants"
    )


def _betainc_jvp_of_x(g: Any, a: Any, b: Any, x: Any) -> Any:
    """x**(a - 1) (1 - x)**(b - 1) / B(a, b), by logarithms."""
    log_beta = sub(add(lgamma(a), lgamma(b)), lgamma(add(a, b)))
    log_1_minus_x = mul(sub(b, constant(b, 1)), log1p(neg(x)))
    log_x = mul(sub(a, constant(a, 1)), log(x))
    return mul(exp(sub(add(log_1_minus_x, log_x), log_beta)), g)


defjvp(regularized_incomplete_beta_p, _no_betainc_jvp, _no_betainc_jvp, _betainc_jvp_of_x)


def betainc(a: Any, b: Any, x: Any) -> Any:
    """The regularized incomplete beta function I_x(a, b): the probability that Beta(a, b) is below x.

    Floats of one dtype, a and b >= 0, x from 0 to 1; NaN outside, and where a and b are both 0 or both
    infinite. Differentiable in x alone: a ValueError says so. Source: https://dlmf.nist.gov/8.17"""
    return regularized_incomplete_beta_p.bind(a, b, x)


# ---- Hurwitz's zeta function ----


def _zeta_impl(special: Any, x: np.ndarray, q: np.ndarray) -> np.ndarray:
    """SciPy's value; it has NaN for a large x, where all powers of q > 1 are 0."""
    out = np.where((x > 1e10) & (q > 1) & np.isnan(special.zeta(x, q)), 0, special.zeta(x, q))
    return np.where(np.isnan(x) | np.isnan(q), np.nan, out)


zeta_p = host_primitive("zeta", 2, _zeta_impl, cost=10 * FUNCTION)
no_rule_reasons[zeta_p, "jvp"] = "jax.scipy.special.zeta has one"


def zeta(x: Any, q: Any) -> Any:
    """The sum of (q + k)**-x over k = 0, 1, ...; floats, x > 1; infinite at x = 1, NaN below.

    Source: https://dlmf.nist.gov/25.11"""
    return zeta_p.bind(x, q)
