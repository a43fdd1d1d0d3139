"""Bessel functions.

I(x) overflows from x = 92 on, exp(-|x|) I(x) does not.

Source: https://dlmf.nist.gov/10
"""

from __future__ import annotations

import operator
from typing import Any

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.core.array import Array
from tinyjax.lax.host_functions import host_primitive
from tinyjax.lax.special_on_host import bessel_i0e, bessel_i1e
from tinyjax.numpy.kaiser_window import i0_impl, i1_impl
from tinyjax.numpy.promotion import promote_args_inexact
from tinyjax.numpy.util import concrete
from tinyjax.scipy.special.operands import of_one, promote_strong_real
from tinyjax.transform.jvp import defjvp

# ---- modified Bessel functions of the first kind ----


i0e = of_one(
    "i0e", bessel_i0e, "exp(-|x|) I_0(x), of real x: the modified Bessel function, scaled."
)
i1e = of_one("i1e", bessel_i1e, "exp(-|x|) I_1(x), of real x.")


def i0(x: Any) -> Array:
    """I_0(x), of real x."""
    (x,) = promote_args_inexact("i0", x)
    return i0_impl(x)


def i1(x: Any) -> Array:
    """I_1(x), of real x."""
    (x,) = promote_args_inexact("i1", x)
    return i1_impl(x)


# ---- Bessel functions of the first kind ----

bessel_jv_p = host_primitive("bessel_jv", 2, lambda special, v, x: special.jv(v, x))


def _bessel_jv_jvp(g: Any, v: Any, x: Any) -> Any:
    """Source: https://dlmf.nist.gov/10.6.E1"""
    return g * ((bessel_jv_p.bind(v - 1, x) - bessel_jv_p.bind(v + 1, x)) / 2)


defjvp(bessel_jv_p, None, _bessel_jv_jvp)


def bessel_jn(z: Any, *, v: int, n_iter: int = 50) -> Array:
    """J_0(z), ..., J_v(z), of real z: an array with a leading axis of size v + 1.

    `v` is a static int. `n_iter` is JAX's number of recurrences, which SciPy needs not. Raises ValueError
    for complex numbers."""
    (z,) = promote_strong_real("bessel_jn", jnp.asarray(z))
    v = operator.index(concrete(v, "Argument v of bessel_jn"))
    orders = jnp.arange(v + 1, dtype=z.dtype)
    return bessel_jv_p.bind(lax.expand_dims(orders, range(1, z.ndim + 1)), z[None])
