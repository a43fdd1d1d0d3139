"""Values and their avals: what a Python number, a NumPy value or an array is to a trace.

`x + 2` keeps the dtype of x: the aval of Python's 2 is weakly typed.

Source: https://docs.jax.dev/en/latest/type_promotion.html
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax.core import dtypes
from tinyjax.core.array import Array, ArrayImpl, ShapedArray
from tinyjax.core.config import config


def get_aval(x: Any) -> ShapedArray:
    """The aval of an array, tracer, NumPy value or Python scalar (a number is weakly typed), of an object
    with `__jax_array__`, or one that has a type and no elements, such as a ShapeDtypeStruct.

    Raises TypeError ("... is not a valid JAX type") if `x` is none of them, ValueError for a masked
    array."""
    if isinstance(x, Array):
        return x.aval
    if isinstance(x, (np.ndarray, np.generic)):
        check_unmasked(x)
        return ShapedArray(x.shape, dtypes.canonicalize_dtype(x.dtype))
    scalar_aval = _SCALAR_AVALS[config.jax_enable_x64].get(type(x))
    if scalar_aval is not None:
        return scalar_aval
    if hasattr(x, "__jax_array__"):
        return get_aval(x.__jax_array__())
    if hasattr(x, "_aval_of_struct"):
        return x._aval_of_struct
    if dtypes.is_python_scalar(x):  # of a subclass, such as a member of an IntEnum
        return get_aval(dtypes.plain_number(x))
    raise TypeError(
        f"Argument {x!r} of type {type(x)} is not a valid JAX type: use an array, a NumPy value or a "
        "Python number (jnp.array converts lists)"
    )


def check_unmasked(x: Any) -> None:
    """Raises ValueError for a NumPy masked array, whose mask would be lost."""
    if isinstance(x, np.ma.MaskedArray):
        raise ValueError(
            "numpy masked arrays are not supported: put values in place of the masked elements by "
            "x.filled(value)"
        )


# The avals of Python's bool, int, float and complex, without and with jax_enable_x64.
_SCALAR_AVALS = {
    x64: {
        python_type: ShapedArray((), np.dtype(name), weak_type=python_type is not bool)
        for python_type, name in zip((bool, int, float, complex), names)
    }
    for x64, names in (
        (False, ("bool", "int32", "float32", "complex64")),
        (True, ("bool", "int64", "float64", "complex128")),
    )
}


def typeof(x: Any) -> ShapedArray:
    """The type of a value as a trace sees it: its aval."""
    return get_aval(x)


def to_numpy(x: Any, aval: ShapedArray) -> np.ndarray:
    """The elements of a value (not of a tracer) in the dtype of `aval`.

    NumPy arrays are copied: a later change of one must not change the Array made of it."""
    if isinstance(x, ArrayImpl):
        return x._value
    if type(x) is int and dtypes.kind(aval.dtype) in "iu":
        info = np.iinfo(aval.dtype)
        if not info.min <= x <= info.max:
            raise OverflowError(f"Python integer {x} is too large for {aval.dtype.name}")
    return np.array(x, aval.dtype)
