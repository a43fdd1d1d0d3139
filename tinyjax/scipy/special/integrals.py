"""Integrals with names: exponential, sine and cosine integrals, Fresnel's, Dawson's, Spence's; Faddeeva's and
Owen's functions.

SciPy computes the value, and the derivative is the integrand.

Source: https://dlmf.nist.gov/6, 7
"""

from __future__ import annotations

import math
from typing import Any, NoReturn

import numpy as np

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.core import dtypes, type_promotion
from tinyjax.core.array import Array
from tinyjax.lax.host_functions import host_primitive
from tinyjax.numpy.promotion import promote_args_inexact
from tinyjax.numpy.sinc_function import sinc
from tinyjax.scipy.special.operands import check_float, promote_strong, promote_strong_real
from tinyjax.transform.jvp import defjvp, defjvp2

TWO_OVER_SQRT_PI = 2 / math.sqrt(math.pi)

# ---- exponential integrals ----

expi_p = host_primitive("expi", 1, lambda special, x: special.expi(x))
defjvp(expi_p, lambda g, x: g * lax.exp(x) / x)


def expi(x: Any) -> Array:
    """Ei(x), the integral of exp(t) / t from -inf to x; -inf at 0. Raises ValueError for complex numbers."""
    return expi_p.bind(*promote_strong_real("expi", x))


def _expn_impl(special: Any, n: np.ndarray, x: np.ndarray) -> np.ndarray:
    """SciPy's for n > 0; else x**(n - 1) gamma(1 - n, x), a sum of n + 1 terms.

    Source: https://dlmf.nist.gov/8.19.E1"""
    order = np.where(n > 0, 1, 1 - n)
    sum_of_terms = x ** (n - 1) * special.gamma(order) * special.gammaincc(order, x)
    out = np.where(
        n > 0, special.expn(np.where(n > 0, np.floor(n), 1).astype(int), x), sum_of_terms
    )
    return np.where((n == np.floor(n)) & (x >= 0), out, np.nan)


def _expn_jvp_of_n(g: Any, n: Any, x: Any) -> NoReturn:
    raise ValueError("expn gradient with respect to n is not supported: n is an order")


expn_p = host_primitive("expn", 2, _expn_impl)
defjvp(expn_p, _expn_jvp_of_n, lambda g, n, x: -g * expn(n - 1, x))


def expn(n: Any, x: Any) -> Array:
    """E_n(x), the integral of exp(-x t) / t**n from 1 to inf, for whole n and x >= 0, else NaN.

    Not differentiable in n. Raises ValueError for complex numbers."""
    return expn_p.bind(*promote_strong_real("expn", n, x))


def exp1(x: Any) -> Array:
    """E_1(x), the integral of exp(-t) / t from x to inf. Raises ValueError for complex numbers."""
    (x,) = promote_strong_real("exp1", x)
    return expn(1, x)


# ---- sine and cosine integrals ----

sine_integral_p = host_primitive(
    "sine_integral",
    1,
    lambda special, x: np.copysign(special.sici(x)[0], x),  # of -0.0: -0.0
)
cosine_integral_p = host_primitive("cosine_integral", 1, lambda special, x: special.sici(x)[1])
defjvp(sine_integral_p, lambda g, x: g * sinc(x / math.pi))
defjvp(cosine_integral_p, lambda g, x: g * (lax.cos(x) / x))


def sici(x: Any) -> tuple[Array, Array]:
    """Si(x) and Ci(|x|): integrals of sin(t) / t from 0 to x, and of -cos(t) / t from |x| to inf.

    Raises ValueError for complex numbers."""
    (x,) = promote_strong_real("sici", x)
    return sine_integral_p.bind(x), cosine_integral_p.bind(x)


# ---- Fresnel's integrals ----

fresnel_sine_p = host_primitive("fresnel_sine", 1, lambda special, x: special.fresnel(x)[0])
fresnel_cosine_p = host_primitive("fresnel_cosine", 1, lambda special, x: special.fresnel(x)[1])


def _fresnel_angle(x: Any) -> Any:
    """pi/2 x**2, less whole turns: sin of a large float32 would have lost its digits."""
    return math.pi / 2 * lax.rem(x * x, lax.full_like(x, 4))


defjvp(fresnel_sine_p, lambda g, x: g * lax.sin(_fresnel_angle(x)))
defjvp(fresnel_cosine_p, lambda g, x: g * lax.cos(_fresnel_angle(x)))


def fresnel(x: Any) -> tuple[Array, Array]:
    """The integrals of sin(pi/2 t**2) and of cos(pi/2 t**2) from 0 to x.

    Raises NotImplementedError for complex numbers."""
    (x,) = promote_strong("fresnel", x)
    if dtypes.kind(x.dtype) == "c":
        raise NotImplementedError(
            f"fresnel of complex numbers (here {x.dtype}) is not implemented."
        )
    return fresnel_sine_p.bind(x), fresnel_cosine_p.bind(x)


# ---- Spence's function ----

spence_p = host_primitive("spence", 1, lambda special, x: special.spence(x))


def _spence_jvp(g: Any, x: Any) -> Any:
    """log(x) / (1 - x), which is -1 at 1."""
    is_one = x == 1
    apart = jnp.where(is_one, 2, x)
    return g * jnp.where(is_one, -1, lax.log(apart) / (1 - apart))


defjvp(spence_p, _spence_jvp)


def spence(x: Any) -> Array:
    """The integral of log(t) / (1 - t) from 1 to x, also called dilogarithm; NaN for x < 0.

    Raises TypeError unless x is float32 or float64."""
    x = jnp.asarray(x)
    check_float(x)
    return spence_p.bind(*promote_strong("spence", x))


# ---- exp(-x**2) and its integrals ----

dawsn_p = host_primitive("dawsn", 1, lambda special, x: special.dawsn(x))
defjvp2(dawsn_p, lambda g, out, x: g * (1 - 2 * x * out))


def dawsn(x: Any) -> Array:
    """Dawson's integral: exp(-x**2) times that of exp(t**2) from 0 to x. Raises ValueError for complex x."""
    return dawsn_p.bind(*promote_strong_real("dawsn", x))


erfcx_p = host_primitive("erfcx", 1, lambda special, x: special.erfcx(x))
defjvp2(erfcx_p, lambda g, out, x: g * (2 * x * out - TWO_OVER_SQRT_PI))

wofz_p = host_primitive("wofz", 1, lambda special, z: special.wofz(z), kinds="c")
defjvp2(wofz_p, lambda g, out, z: g * (1j * TWO_OVER_SQRT_PI - 2 * z * out))


def erfcx(x: Any) -> Array:
    """exp(x**2) erfc(x), of real or complex x: erfc where it would be too small for a float."""
    (x,) = promote_strong("erfcx", x)
    return wofz(1j * x) if dtypes.kind(x.dtype) == "c" else erfcx_p.bind(x)


def wofz(z: Any) -> Array:
    """Faddeeva's function exp(-z**2) erfc(-iz), of which the real part is Voigt's profile; complex."""
    (z,) = promote_args_inexact("wofz", z)
    return wofz_p.bind(z.astype(type_promotion.result_type(z.dtype, np.complex64)))


# ---- Owen's function ----

owens_t_p = host_primitive("owens_t", 2, lambda special, h, a: special.owens_t(h, a))


def _owens_t_jvp_of_h(g: Any, h: Any, a: Any) -> Any:
    density = lax.exp(-0.5 * h * h) / math.sqrt(2 * math.pi)
    return g * (-0.5 * density * lax.erf(a * h / math.sqrt(2)))


def _owens_t_jvp_of_a(g: Any, h: Any, a: Any) -> Any:
    radius = 1 + a * a
    return g * (lax.exp(-0.5 * radius * h * h) / (2 * math.pi * radius))


defjvp(owens_t_p, _owens_t_jvp_of_h, _owens_t_jvp_of_a)


def owens_t(h: Any, a: Any) -> Array:
    """The probability of X > h and 0 < Y < a X, for independent normal variates X and Y; real h and a.

    Source: D. B. Owen, Tables for computing bivariate normal probabilities (1956)"""
    return owens_t_p.bind(*promote_strong_real("owens_t", h, a))
