"""Types for annotations: what functions of arrays take.

def scaled(x: jax.typing.ArrayLike, by: float) -> jax.Array: ...
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax.core.array import Array

# What most functions take: arrays, NumPy's arrays and scalars, Python's numbers. No lists.
ArrayLike = Array | np.ndarray | np.bool_ | np.number | bool | int | float | complex
# What names a dtype: "float32", jnp.float32, np.dtype("float32").
DTypeLike = str | type[Any] | np.dtype
