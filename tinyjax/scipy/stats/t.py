"""`jax.scipy.stats.t`: Student's distribution of df degrees of freedom.

Sources: https://en.wikipedia.org/wiki/Student's_t-distribution
https://docs.jax.dev/en/latest/jax.scipy.html#module-jax.scipy.stats.t
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.array import Array
from tinyjax.missing_names import getattr_of
from tinyjax.numpy.util import promote_args_inexact
from tinyjax.scipy.special.gamma_family import gammaln


def logpdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """log of (1 + y**2 / df)**-(df + 1) / 2, less its normalizer, for y = (x - loc) / scale."""
    x, df, loc, scale = promote_args_inexact("t.logpdf", x, df, loc, scale)
    y = (x - loc) / scale
    half = (df + 1) / 2
    normalizer = gammaln(df / 2) - gammaln(half) + 0.5 * jnp.log(df * np.pi * jnp.square(scale))
    return -(normalizer + half * jnp.log1p(y * y / df))


def pdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The density: exp of logpdf."""
    return jnp.exp(logpdf(x, df, loc, scale))


__getattr__ = getattr_of(__name__)
