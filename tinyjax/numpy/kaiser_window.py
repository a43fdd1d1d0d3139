"""The modified Bessel function i0, and Kaiser's window, which is made of it.

exp(|x|) has a kink at 0 and I_0 has not, so the rule says that the slope is 0 there.

Source: https://docs.jax.dev/en/latest/_autosummary/jax.numpy.kaiser.html; https://dlmf.nist.gov/10.25
"""

from __future__ import annotations

from typing import Any

from tinyjax import lax
from tinyjax.core import dtypes
from tinyjax.core.array import Array
from tinyjax.lax.special_on_host import bessel_i0e
from tinyjax.numpy.choosing import where
from tinyjax.numpy.creation import full
from tinyjax.numpy.elementary import sqrt
from tinyjax.numpy.promotion import promote_args_inexact
from tinyjax.numpy.util import concrete_int
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
    return _i0(x)


@custom_jvp
def _i0(x: Any) -> Any:
    magnitude = lax.abs(x)
    return lax.mul(lax.exp(magnitude), bessel_i0e(magnitude))


@_i0.defjvp
def _i0_jvp(primals: Any, tangents: Any) -> Any:
    out, out_dot = jvp(_i0.fun, primals, tangents)
    return out, where(primals[0] == 0, 0.0, out_dot)


def kaiser(M: int, beta: Any) -> Array:  # noqa: N803  (NumPy's name)
    """Kaiser's window of M points, M a static int; the larger beta, the narrower; as numpy.kaiser."""
    size = concrete_int(M, "M argument of jnp.kaiser")
    dtype = dtypes.default_dtype(float)
    if size <= 1:
        return full((size,), 1, dtype)
    middle = 0.5 * (size - 1)
    distance = ((lax.iota(dtype, size) - middle) / middle) ** 2
    return i0(beta * sqrt(1 - distance)) / i0(beta)
