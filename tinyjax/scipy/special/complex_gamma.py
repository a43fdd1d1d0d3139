"""The gamma function of complex numbers, which SciPy computes.

The derivative is a rule beside the primitive.

Source: https://dlmf.nist.gov/5.2
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core.bind import no_rule_reasons
from tinyjax.lax.host_functions import host_primitive
from tinyjax.transform.jvp import defjvp


def _loggamma_impl(special: Any, z: np.ndarray) -> np.ndarray:
    is_pole = (z.imag == 0) & (z.real <= 0) & (z.real == np.floor(z.real))
    return np.where(is_pole | np.isnan(z), complex(np.nan, np.nan), special.loggamma(z))


complex_loggamma_p = host_primitive("complex_loggamma", 1, _loggamma_impl, kinds="c")
complex_digamma_p = host_primitive("complex_digamma", 1, lambda special, z: special.psi(z), "c")
defjvp(complex_loggamma_p, lambda g, z: lax.mul(g, complex_digamma_p.bind(z)))
no_rule_reasons[complex_digamma_p, "jvp"] = "SciPy has no polygamma of complex numbers"


def complex_loggamma(z: Any) -> Any:
    """log(gamma(z)), real for real z > 0, and cut along the negative axis; NaN at the poles."""
    return complex_loggamma_p.bind(z)


def complex_gamma(z: Any) -> Any:
    return lax.exp(complex_loggamma(z))
