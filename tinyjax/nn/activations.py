"""Activation functions: what a network does between its matrix products.

Where a function has a kink, say which derivative is meant there (relu: zero, by custom_jvp), and where one
branch of a `where` may overflow, give that branch a harmless argument (elu), since 0 * inf is NaN.

All take arrays or scalars of any real dtype, elementwise, and raise TypeError for lists.
Source: https://docs.jax.dev/en/latest/jax.nn.html
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.core.array import Array
from tinyjax.numpy.promotion import promote_args_inexact
from tinyjax.numpy.util import ensure_arraylike
from tinyjax.transform.custom.forward_rules import custom_jvp
from tinyjax.transform.jit.api import jitted

# ---- rectifiers ----


@custom_jvp
@jitted
def relu(x: Any) -> Array:
    """max(x, 0), with derivative 0 at 0 (and not 1/2, as that of max).

    Source: Bertoin et al., "Numerical influence of ReLU'(0) on backpropagation" (2021)."""
    return jnp.maximum(x, 0)


relu.defjvps(lambda g, ans, x: lax.select(x > 0, g, lax.full_like(g, 0)))


@custom_jvp
@jitted
def relu6(x: Any) -> Array:
    """min(max(x, 0), 6), with derivative 0 at both kinks."""
    return jnp.minimum(jnp.maximum(x, 0), 6.0)


relu6.defjvps(lambda g, ans, x: lax.select((x > 0) & (x < 6), g, lax.full_like(g, 0)))


@jitted
def leaky_relu(x: Any, negative_slope: Any = 1e-2) -> Array:
    """x where it is not negative, else negative_slope * x."""
    x = ensure_arraylike("leaky_relu", x)
    return jnp.where(x >= 0, x, negative_slope * x)


@jitted
def elu(x: Any, alpha: Any = 1.0) -> Array:
    """x where it is positive, else alpha * (exp(x) - 1)."""
    x = ensure_arraylike("elu", x)
    return jnp.where(x > 0, x, alpha * jnp.expm1(jnp.where(x > 0, 0.0, x)))


@jitted
def celu(x: Any, alpha: Any = 1.0) -> Array:
    """max(x, 0) + alpha * (exp(min(x, 0) / alpha) - 1): elu with a continuous derivative."""
    return jnp.maximum(x, 0.0) + alpha * jnp.expm1(jnp.minimum(x, 0.0) / alpha)


@jitted
def selu(x: Any) -> Array:
    """elu, scaled so that mean 0 and variance 1 are kept from layer to layer.

    Source: Klambauer et al., "Self-normalizing neural networks" (2017)."""
    alpha = 1.6732632423543772848170429916717
    scale = 1.0507009873554804934193349852946
    return scale * elu(x, alpha)


# ---- smooth ones ----


def sigmoid(x: Any) -> Array:
    """1 / (1 + exp(-x)). Raises TypeError for integers."""
    return lax.logistic(x)


@jitted
def log_sigmoid(x: Any) -> Array:
    """log(sigmoid(x)), which stays finite where sigmoid(x) rounds to 0."""
    x = ensure_arraylike("log_sigmoid", x)
    return -softplus(-x)


@jitted
def softplus(x: Any) -> Array:
    """log(1 + exp(x)), which does not overflow."""
    return jnp.logaddexp(x, 0)


@jitted
def silu(x: Any) -> Array:
    """x * sigmoid(x), also known as swish."""
    x = ensure_arraylike("silu", x)
    return x * sigmoid(x)


swish = silu


@jitted
def mish(x: Any) -> Array:
    """x * tanh(softplus(x)). Source: D. Misra, "Mish" (2019)."""
    x = ensure_arraylike("mish", x)
    return x * jnp.tanh(softplus(x))


def gelu(x: Any, approximate: bool = True) -> Array:
    """x * P(N <= x) of a normal number N, exactly or by a tanh that is close to it.

    Source: Hendrycks and Gimpel, "Gaussian error linear units" (2016), section 2."""
    (x,) = promote_args_inexact("gelu", x)
    if approximate:
        sqrt_2_over_pi = np.sqrt(2 / np.pi).astype(x.dtype)
        return x * (0.5 * (1.0 + jnp.tanh(sqrt_2_over_pi * (x + 0.044715 * x**3))))
    sqrt_half = np.sqrt(0.5).astype(x.dtype)
    return jnp.array(0.5 * x * lax.erfc(-x * sqrt_half), dtype=x.dtype)


@jitted
def squareplus(x: Any, b: Any = 4) -> Array:
    """(x + sqrt(x**2 + b)) / 2. Source: J. Barron, "Squareplus" (2021)."""
    x, b = ensure_arraylike("squareplus", x, b)
    return (x + jnp.sqrt(jnp.square(x) + b)) / 2


@jitted
def soft_sign(x: Any) -> Array:
    """x / (|x| + 1)."""
    x = ensure_arraylike("soft_sign", x)
    return x / (jnp.abs(x) + 1)


# ---- piecewise polynomials ----


@jitted
def hard_tanh(x: Any) -> Array:
    """x, cut to [-1, 1]."""
    x = ensure_arraylike("hard_tanh", x)
    return jnp.where(x > 1, 1, jnp.where(x < -1, -1, x))


@jitted
def hard_sigmoid(x: Any) -> Array:
    """relu6(x + 3) / 6."""
    return relu6(x + 3.0) / 6.0


@jitted
def hard_silu(x: Any) -> Array:
    """x * hard_sigmoid(x), also known as hard swish."""
    x = ensure_arraylike("hard_silu", x)
    return x * hard_sigmoid(x)


hard_swish = hard_silu


@jitted
def sparse_plus(x: Any) -> Array:
    """0 up to -1, (x + 1)**2 / 4 up to 1, then x: softplus with an exact zero."""
    x = ensure_arraylike("sparse_plus", x)
    return jnp.where(x <= -1.0, 0.0, jnp.where(x >= 1.0, x, (x + 1.0) ** 2 / 4))


@jitted
def sparse_sigmoid(x: Any) -> Array:
    """(x + 1) / 2, cut to [0, 1]: the derivative of sparse_plus."""
    return 0.5 * jnp.clip(x + 1.0, 0.0, 2.0)


# ---- others ----


@custom_jvp
@jitted
def log1mexp(x: Any) -> Array:
    """log(1 - exp(-x)) for x >= 0, by whichever of two formulas is accurate there.

    Source: M. Maechler, "Accurately computing log(1 - exp(-|a|))" (2012)."""
    x = ensure_arraylike("log1mexp", x)
    return jnp.where(x < jnp.log(2.0), jnp.log(-jnp.expm1(-x)), jnp.log1p(-jnp.exp(-x)))


log1mexp.defjvps(lambda g, ans, x: g / jnp.expm1(x))


@jitted
def identity(x: Any) -> Array:
    """x, as an array."""
    return ensure_arraylike("identity", x)


@jitted(static_argnames=("axis",))
def glu(x: Any, axis: int = -1) -> Array:
    """The first half of `x` along `axis`, times the sigmoid of the second half.

    Raises ValueError if the axis has an odd size."""
    x = ensure_arraylike("glu", x)
    if x.shape[axis] % 2:
        raise ValueError(f"glu needs an even size along axis {axis}, got shape {x.shape}")
    x1, x2 = jnp.split(x, 2, axis)
    return x1 * sigmoid(x2)
