"""`jax.scipy.stats`: a module for each distribution, and a few statistics.

Each function takes arrays that broadcast, promotes them to floats, and has `loc` and `scale`: x stands
for (x - loc) / scale of the standard distribution. `pdf` (for integers `pmf`) is the density, `cdf` the
probability of at most x, `sf` of more than x, `ppf` the inverse of cdf and `isf` of sf; `logpdf`, `logpmf`,
`logcdf` and `logsf` are their logarithms, which do not underflow. Outside of the support densities are 0, and
parameters that no distribution has mostly give NaN. Raises TypeError for lists.

Source: https://docs.jax.dev/en/latest/jax.scipy.html#module-jax.scipy.stats
"""

from tinyjax.core.missing_names import getattr_of
from tinyjax.scipy.stats import continuous, discrete, multivariate  # noqa: F401  (they declare the modules)

_LAZY_NAMES = {"kde": ("gaussian_kde",), "samples": ("mode", "rankdata", "sem")}

__getattr__ = getattr_of(__name__)
