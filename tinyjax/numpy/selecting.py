"""jnp.where, in a separate file since nearly all others use it."""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core.bind import as_array
from tinyjax.numpy.promotion import promote_dtypes
from tinyjax.numpy.util import broadcast_arrays, constant_like
from tinyjax.transform.jit.api import jitted


def _where(condition: Any, x: Any, y: Any) -> Any:
    condition = as_array(condition)
    if condition.dtype != np.bool_:
        condition = lax.ne(condition, constant_like(condition, 0))
    x, y = promote_dtypes(x, y)
    if condition.ndim == 0:  # select_n takes a scalar condition as it is
        x, y = broadcast_arrays(x, y)
    else:
        condition, x, y = broadcast_arrays(condition, x, y)
    return lax.select(condition, x, y) if x.size else x


where_ = jitted(_where)
