"""Types that are treated as arrays: JAX keeps them in tables by type, tinyjax calls a method of the
value.

TensorFlow Probability, which Distrax imports, registers its variables. A type that is registered in
`pytype_aval_mappings` gets the method `__jax_array__`, which tinyjax calls, if it has none.

Source: jax.core.pytype_aval_mappings and jax.interpreters.xla.canonicalize_dtype_handlers in JAX 0.12
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tinyjax.numpy as jnp
from tinyjax.core import dtypes
from tinyjax.core.array import Array
from tinyjax.core.avals import get_aval


class _AvalMappings(dict[type, Callable[[Any], Any]]):
    """type -> a function from a value of this type to its aval."""

    def __setitem__(self, cls: type, aval_of: Callable[[Any], Any]) -> None:
        super().__setitem__(cls, aval_of)
        if not hasattr(cls, "__jax_array__"):
            array_type: Any = cls
            array_type.__jax_array__ = lambda x: jnp.asarray(np.asarray(x), aval_of(x).dtype)


def _aval_of_elements(x: Any) -> Any:
    return get_aval(np.asarray(x))


def _canonical(x: Any) -> np.ndarray:
    x = np.asarray(x)
    return x.astype(dtypes.canonicalize_dtype(x.dtype), copy=False)


_KNOWN: dict[type, Callable[[Any], Any]] = {np.ndarray: _aval_of_elements, Array: get_aval}
pytype_aval_mappings = _AvalMappings(_KNOWN)
# type -> a function that converts a value to an available dtype. tinyjax does not read it.
canonicalize_dtype_handlers: dict[type, Callable[[Any], Any]] = {np.ndarray: _canonical}
