"""What functions of this package do first: check and promote their operands, which most want real."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tinyjax.core import dtypes
from tinyjax.core.array import Array
from tinyjax.core.declared_functions import public
from tinyjax.numpy.promotion import promote_args_inexact
from tinyjax.numpy.util import convert


def of_one(name: str, operation: Callable, doc: str) -> Callable[[Any], Array]:
    """jax.scipy.special.`name`(x): `operation` of x, promoted to an inexact dtype."""

    @public("tinyjax.scipy.special", name, doc)
    def elementwise(x: Any) -> Array:
        return operation(*promote_args_inexact(name, x))

    return elementwise


def promote_args_real(fun_name: str, *args: Any) -> list[Any]:
    """The arguments promoted to one floating dtype. Raises ValueError for complex numbers."""
    arrays = promote_args_inexact(fun_name, *args)
    if dtypes.kind(arrays[0].dtype) == "c":
        raise ValueError(
            f"{fun_name} does not support complex-valued inputs, got dtype {arrays[0].dtype.name}."
        )
    return arrays


def promote_strong(fun_name: str, *args: Any) -> list[Any]:
    """The arguments promoted to one inexact dtype, and not weakly typed: where SciPy computes a result, JAX
    has formulas whose constants have a dtype, which the result takes."""
    return [convert(x, x.dtype) for x in promote_args_inexact(fun_name, *args)]


def promote_strong_real(fun_name: str, *args: Any) -> list[Any]:
    """As promote_strong. Raises ValueError for complex numbers."""
    return [convert(x, x.dtype) for x in promote_args_real(fun_name, *args)]


def check_float(x: Any) -> None:
    """Raises TypeError unless the array is of float32 or float64."""
    if x.dtype not in (np.float32, np.float64):
        raise TypeError(f"x.dtype={x.dtype} is not supported: use float32 or float64 (x.astype)")
