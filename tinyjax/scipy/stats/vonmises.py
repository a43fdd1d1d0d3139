"""`jax.scipy.stats.vonmises`: von Mises' distribution of an angle x.

Source: https://en.wikipedia.org/wiki/Von_Mises_distribution
"""

from typing import Any

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.core.array import Array
from tinyjax.core.missing_names import getattr_of
from tinyjax.scipy.special.bessel import i0e
from tinyjax.scipy.stats.distribution_functions import exp_of, promoted


@promoted
def logpdf(x: Any, kappa: Any) -> Array:
    """kappa (cos(x) - 1) - log(2 pi i0e(kappa)); NaN where kappa is not positive."""
    inside = kappa * (jnp.cos(x) - 1) - jnp.log(2 * np.pi * i0e(kappa))
    return jnp.where(kappa > 0, inside, np.nan)


pdf = exp_of(logpdf)

__getattr__ = getattr_of(__name__)
