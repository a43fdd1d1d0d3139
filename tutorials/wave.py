"""The function of all lessons, in its own file: to step through, to explain, to try things with.

python -m tinyjax step tutorials/wave.py:f --args 3.0 --transform grad
"""

import tinyjax as jax
import tinyjax.numpy as jnp


def f(x):
    return jnp.sin(x) * x


def slope(x):
    """The derivative of f, by forward mode."""
    return jax.jvp(f, (x,), (1.0,))[1]


def linearized_slope(x):
    """The derivative of f, by linearize: what is known is computed, the rest written down."""
    _, f_jvp = jax.linearize(f, x)
    return f_jvp(1.0)


def curvature(x):
    """The derivative of the derivative."""
    return jax.jvp(slope, (x,), (1.0,))[1]
