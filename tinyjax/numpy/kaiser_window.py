"""The modified Bessel functions i0 and i1, and Kaiser's window, which uses i0.

Source: https://dlmf.nist.gov/10.25
"""

from __future__ import annotations

import functools
import math
from typing import Any

from tinyjax import lax
from tinyjax.core import dtypes
from tinyjax.core.array import Array
from tinyjax.lax.special_on_host import bessel_i0e, bessel_i1e
from tinyjax.numpy.choosing import where
from tinyjax.numpy.creation import full
from tinyjax.numpy.elementary import sqrt
from tinyjax.numpy.promotion import promote_args_inexact
from tinyjax.numpy.util import concrete_int, constant_like
from tinyjax.transform.custom.forward_rules import custom_jvp
from tinyjax.transform.jit.api import jitted
from tinyjax.transform.jvp import jvp


@jitted
def i0(x: Any) -> Array:
    """I_0(x), the modified Bessel function of order 0, of real x; as numpy.i0.

    Raises ValueError for complex numbers."""
    (x,) = promote_args_inexact("i0", x)
    if dtypes.kind(x.dtype) != "f":
        raise ValueError(
            f"Unsupported input type to jax.numpy.i0: {x.dtype}. It takes real numbers."
        )
    return i0_impl(x)


@custom_jvp
def i0_impl(x: Any) -> Any:
    """I_0 of a float."""
    magnitude = lax.abs(x)
    return lax.mul(lax.exp(magnitude), bessel_i0e(magnitude))


@i0_impl.defjvp
def i0_impl_jvp(primals: Any, tangents: Any) -> Any:
    """I_0' is I_1."""
    (x,), (x_dot,) = primals, tangents
    return i0_impl(x), lax.mul(x_dot, i1_impl(x))


def _i1(x: Any) -> Any:
    """I_1 of a float."""
    return lax.mul(lax.exp(lax.abs(x)), bessel_i1e(x))


i1_impl = custom_jvp(_i1)


@i1_impl.defjvp
def i1_impl_jvp(primals: Any, tangents: Any) -> Any:
    """Near 0, where |x| has a kink and I_1 has none, the rule uses the series' derivatives, for all
    orders."""
    (x,), (x_dot,) = primals, tangents
    out, out_dot = jvp(_i1, primals, tangents)
    near = math.sqrt(dtypes.finfo(dtypes.dtype(x)).eps)
    is_near = lax.le(lax.abs(x), constant_like(x, near))
    return out, where(is_near, lax.mul(_i1_maclaurin(1, x), x_dot), out_dot)


@functools.partial(custom_jvp, nondiff_argnums=(0,))
def _i1_maclaurin(order: int, x: Any) -> Any:
    """The derivative of this order near 0, by the first term of its series."""
    half = order // 2
    if order % 2:
        return lax.full_like(x, math.comb(order, half) / 2**order)
    return lax.mul(constant_like(x, math.comb(order + 1, half) / 2 ** (order + 1)), x)


@_i1_maclaurin.defjvp
def _i1_maclaurin_jvp(order: int, primals: Any, tangents: Any) -> Any:
    (x,), (x_dot,) = primals, tangents
    return _i1_maclaurin(order, x), lax.mul(_i1_maclaurin(order + 1, x), x_dot)


def kaiser(M: int, beta: Any) -> Array:  # noqa: N803  (NumPy's name)
    """Kaiser's window of M points, M a static int; the larger beta, the narrower; as numpy.kaiser."""
    size = concrete_int(M, "M argument of jnp.kaiser")
    dtype = dtypes.default_dtype(float)
    if size <= 1:
        return full((size,), 1, dtype)
    middle = 0.5 * (size - 1)
    distance = ((lax.iota(dtype, size) - middle) / middle) ** 2
    return i0(beta * sqrt(1 - distance)) / i0(beta)
