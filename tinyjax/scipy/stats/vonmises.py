"""`jax.scipy.stats.vonmises`: von Mises' distribution of an angle x.

Sources: https://en.wikipedia.org/wiki/Von_Mises_distribution
https://docs.jax.dev/en/latest/jax.scipy.html#module-jax.scipy.stats.vonmises
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.array import Array
from tinyjax.missing_names import getattr_of
from tinyjax.numpy.util import promote_args_inexact
from tinyjax.scipy.special.bessel import i0e


def logpdf(x: Any, kappa: Any) -> Array:
    """kappa (cos(x) - 1) - log(2 pi i0e(kappa)); NaN where kappa is not positive."""
    x, kappa = promote_args_inexact("vonmises.logpdf", x, kappa)
    inside = kappa * (jnp.cos(x) - 1) - jnp.log(2 * np.pi * i0e(kappa))
    return jnp.where(kappa > 0, inside, np.nan)


def pdf(x: Any, kappa: Any) -> Array:
    """The density: exp of logpdf."""
    return jnp.exp(logpdf(x, kappa))


__getattr__ = getattr_of(__name__)
