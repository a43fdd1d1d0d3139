"""`jax_debug_nans` and `jax_debug_infs`: the operation that makes a NaN or an inf raises an error.

The check joins `watchers` of core/bind.py when one of the flags is first set.

Source: https://docs.jax.dev/en/latest/debugging/flags.html
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tinyjax.core import dtypes
from tinyjax.core.array import ArrayImpl
from tinyjax.core.bind import Primitive, watch
from tinyjax.core.config import config, when_set


def check_finite(name: str, results: Sequence[ArrayImpl]) -> None:
    """Raises FloatingPointError for what jax_debug_nans and jax_debug_infs forbid."""
    for result in results:
        if dtypes.is_inexact(result.aval.dtype):
            if config.jax_debug_nans and np.isnan(result._value).any():
                raise FloatingPointError(f"invalid value (nan) encountered in {name}")
            if config.jax_debug_infs and np.isinf(result._value).any():
                raise FloatingPointError(f"invalid value (inf) encountered in {name}")


def _check_results(
    primitive: Primitive | None,
    params: dict[str, Any],
    operands: Sequence[Any],
    results: Sequence[ArrayImpl],
) -> None:
    if primitive is not None:
        check_finite(primitive.name, results)


for _flag in ("jax_debug_nans", "jax_debug_infs"):
    when_set(_flag, lambda value: watch(_check_results))
