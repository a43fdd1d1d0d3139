"""`jax.scipy.stats.truncnorm`: the normal distribution of (x - loc) / scale, cut to [a, b].

Source: https://en.wikipedia.org/wiki/Truncated_normal_distribution
"""

from typing import Any

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.core.array import Array
from tinyjax.core.missing_names import getattr_of
from tinyjax.nn.activations import log1mexp
from tinyjax.scipy.special.normal_distribution import log_ndtr, ndtr
from tinyjax.scipy.stats import norm
from tinyjax.scipy.stats.distribution_functions import exp_of, promoted


def _log_difference(x: Any, y: Any) -> Any:
    """log(exp(x) - exp(y)) for x >= y."""
    return x + log1mexp(x - y)


def _log_mass(a: Any, b: Any) -> Any:
    """log of the normal probability of [a, b]. Where both ends are in one tail, it is that tail's."""
    in_right_tail = a > 0
    low, high = jnp.where(in_right_tail, -b, a), jnp.where(in_right_tail, -a, b)
    in_left_tail = high <= 0
    # Elsewhere any numbers do whose derivatives are finite.
    ends = jnp.where(in_left_tail, high, 0), jnp.where(in_left_tail, low, -1)
    tail = _log_difference(*(log_ndtr(end) for end in ends))
    around_zero = jnp.log1p(-ndtr(low) - ndtr(-high))
    return jnp.where(in_left_tail, tail, around_zero)


@promoted
def logpdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """The normal logpdf less log of the probability of [a, b]; NaN where a >= b."""
    y = (x - loc) / scale
    inside = norm.logpdf(y) - (_log_mass(a, b) + jnp.log(scale))
    within = jnp.where((y < a) | (y > b), -np.inf, inside)
    return jnp.where(a >= b, np.nan, within)


@promoted
def logcdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """log of cdf: where that is near 1, by the probability of what is left."""
    y = (x - loc) / scale
    outside = (y <= a) | (y >= b)
    # Outside any three numbers do whose derivatives are finite.
    low, place, high = (jnp.where(outside, n, x) for n, x in ((-1, a), (0, y), (1, b)))
    total = _log_mass(low, high)
    below, above = _log_mass(low, place) - total, _log_mass(place, high) - total
    inside = jnp.where(below > -0.1, log1mexp(-above), below)
    within = jnp.where(y <= a, -np.inf, jnp.where(y >= b, 0, inside))
    return jnp.where(a >= b, np.nan, within)


@promoted
def logsf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Array:
    """log of sf: by symmetry logcdf of the other side."""
    return logcdf(-x, -b, -a, -loc, scale)


pdf = exp_of(logpdf)
cdf = exp_of(logcdf)
sf = exp_of(logsf)

__getattr__ = getattr_of(__name__)
