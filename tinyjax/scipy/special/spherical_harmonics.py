"""Spherical harmonics: waves on a sphere.

The derivative of the harmonic of order m by the polar angle is made of those of orders m - 1 and m + 1.

Source: https://dlmf.nist.gov/14.30
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.core.array import Array
from tinyjax.lax.host_functions import host_primitive
from tinyjax.numpy.util import concrete
from tinyjax.scipy.special.operands import promote_strong
from tinyjax.transform.jvp import defjvp


def _polar_impl(special: Any, n: np.ndarray, m: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """The associated Legendre function of cos(theta), so scaled that the harmonic's square sums to 1."""
    order = np.abs(m)
    scale = np.exp((special.gammaln(n - order + 1) - special.gammaln(n + order + 1)) / 2)
    value = np.sqrt((2 * n + 1) / (4 * np.pi)) * scale * special.lpmv(order, n, np.cos(theta))
    return np.where(order > n, 0, np.where((m < 0) & (order % 2 == 1), -value, value))


def _polar_jvp(g: Any, n: Any, m: Any, theta: Any) -> Any:
    """Source: https://dlmf.nist.gov/14.10.E5 with 14.10.E1"""
    below = lax.sqrt((n + m) * (n - m + 1)) * polar_part_p.bind(n, m - 1, theta)
    above = lax.sqrt((n - m) * (n + m + 1)) * polar_part_p.bind(n, m + 1, theta)
    return g * ((above - below) / 2)


polar_part_p = host_primitive("spherical_harmonic_polar_part", 3, _polar_impl)
defjvp(polar_part_p, None, None, _polar_jvp)


def sph_harm_y(
    n: Any, m: Any, theta: Any, phi: Any, diff_n: int | None = None, n_max: int | None = None
) -> Array:
    """The spherical harmonic of degree n and order m, -n <= m <= n, at polar angle theta (0 to pi) and
    azimuth phi: complex, of the arguments' common shape, at least one axis.

    `n_max`, a static int, bounds n, where it is given. Raises NotImplementedError for `diff_n`."""
    if diff_n is not None:
        raise NotImplementedError("sph_harm_y: diff_n is not supported; jax.jvp differentiates it")
    if n_max is not None:
        n = jnp.minimum(n, int(concrete(n_max, "The `n_max` argument of sph_harm_y")))
    n, m, theta, phi = promote_strong("sph_harm_y", n, m, jnp.atleast_1d(theta), phi)
    polar, angle = polar_part_p.bind(n, m, theta), m * phi
    return lax.complex(polar * lax.cos(angle), polar * lax.sin(angle))
