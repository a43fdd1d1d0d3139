"""Types that are taken for arrays: what JAX keeps in tables by type, tinyjax asks of the value.

TensorFlow Probability, which Distrax imports, enters its variables. A type that is entered in
`pytype_aval_mappings` gets a method `__jax_array__`, if it has none: that is what tinyjax asks for.

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
    """type -> what gives the aval of a value of this type."""

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
# type -> what converts a value to a dtype that there is. Nothing of tinyjax reads it.
canonicalize_dtype_handlers: dict[type, Callable[[Any], Any]] = {np.ndarray: _canonical}
