"""`jax.scipy.cluster.vq`: the step of k-means that gives each observation to the nearest code."""

from __future__ import annotations

from typing import Any

from tinyjax import numpy as jnp
from tinyjax.core.array import Array
from tinyjax.core.missing_names import getattr_of
from tinyjax.numpy.promotion import promote_dtypes_inexact
from tinyjax.numpy.util import check_arraylike


def vq(obs: Any, code_book: Any, check_finite: bool = True) -> tuple[Array, Array]:
    """(the index of the nearest code, its distance) for each of M observations.

    `obs` is (M, N) and `code_book` (K, N), or both are vectors of numbers (N = 1). Nothing is checked
    to be finite: traced values cannot be. Raises ValueError for other ranks, TypeError for lists and
    if the N differ."""
    check_arraylike("scipy.cluster.vq.vq", obs, code_book)
    obs, code_book = promote_dtypes_inexact(jnp.asarray(obs), jnp.asarray(code_book))
    if obs.ndim != code_book.ndim:
        raise ValueError(
            "obs and code_book should have the same rank, got the shapes "
            f"{obs.shape} and {code_book.shape}"
        )
    if obs.ndim not in (1, 2):
        raise ValueError(f"obs must have ndim 1 or 2, got the shape {obs.shape}")
    if obs.ndim == 1:
        obs, code_book = obs[:, None], code_book[:, None]
    distances = jnp.linalg.norm(obs[:, None] - code_book[None], axis=-1)
    code = jnp.argmin(distances, axis=-1)
    return code, jnp.take_along_axis(distances, code[:, None], -1)[:, 0]


__getattr__ = getattr_of(__name__)
