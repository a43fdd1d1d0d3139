"""`jax.scipy.stats.uniform`: the uniform distribution on [loc, loc + scale].

Sources: https://en.wikipedia.org/wiki/Continuous_uniform_distribution
https://docs.jax.dev/en/latest/jax.scipy.html#module-jax.scipy.stats.uniform
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.array import Array
from tinyjax.missing_names import getattr_of
from tinyjax.numpy.util import promote_args_inexact


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """-log(scale) inside, both ends included; -inf outside."""
    x, loc, scale = promote_args_inexact("uniform.logpdf", x, loc, scale)
    outside = (x > loc + scale) | (x < loc)
    return jnp.where(outside, -np.inf, -jnp.log(scale))


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The density: exp of logpdf."""
    return jnp.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The probability of at most x."""
    x, loc, scale = promote_args_inexact("uniform.cdf", x, loc, scale)
    part = (x - loc) / scale
    return jnp.where(x < loc, 0, jnp.where(x > loc + scale, 1, part))


def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The x with cdf(x) = q; NaN for q outside of [0, 1]."""
    q, loc, scale = promote_args_inexact("uniform.ppf", q, loc, scale)
    return jnp.where((q < 0) | (q > 1), np.nan, loc + scale * q)


__getattr__ = getattr_of(__name__)
