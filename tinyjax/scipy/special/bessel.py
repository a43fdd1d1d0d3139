"""Bessel functions.

After this file you know why there is exp(-|x|) I(x) beside I(x): the latter overflows from x = 92 on.
Builds on jax.lax.

Source: https://docs.jax.dev/en/latest/jax.scipy.html#module-jax.scipy.special; https://dlmf.nist.gov/10
"""

from __future__ import annotations

from typing import Any

from tinyjax import lax
from tinyjax.array import Array
from tinyjax.lax.special_on_host import bessel_i0e, bessel_i1e
from tinyjax.numpy.util import promote_args_inexact

# ---- modified Bessel functions of the first kind ----


def i0e(x: Any) -> Array:
    """exp(-|x|) I_0(x), of real x: the modified Bessel function of order 0, scaled."""
    (x,) = promote_args_inexact("i0e", x)
    return bessel_i0e(x)


def i0(x: Any) -> Array:
    """I_0(x), of real x."""
    (x,) = promote_args_inexact("i0", x)
    return lax.mul(lax.exp(lax.abs(x)), bessel_i0e(x))


def i1e(x: Any) -> Array:
    """exp(-|x|) I_1(x), of real x: the modified Bessel function of order 1, scaled."""
    (x,) = promote_args_inexact("i1e", x)
    return bessel_i1e(x)


def i1(x: Any) -> Array:
    """I_1(x), of real x."""
    (x,) = promote_args_inexact("i1", x)
    return lax.mul(lax.exp(lax.abs(x)), bessel_i1e(x))
